"""Threads for what takes time, so that event loops do not wait; bounded, as is the queue before them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from millstream.server.problems import RETRY_AFTER, Problem
from millstream.server.settings import ServerSettings

T = TypeVar("T")


class Threads:
    """Does work for the handlers of requests.

    Args:
        name: of the threads.
        settings: how many, and how many requests may wait for one.
    """

    def __init__(self, name: str, settings: ServerSettings) -> None:
        self._most = settings.max_waiting
        self._waiting = 0
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix=name)

    def close(self) -> None:
        """Take no more work."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, work: Callable[[], T], unwanted: Callable[[T], None] | None = None) -> T:
        """Do something that takes time.

        Args:
            work: what.
            unwanted: is given the result if nobody waits for it any more.

        Raises:
            Problem: too many others are waiting, or no more work is taken.
        """
        if self._waiting >= self._most:
            raise Problem(
                503,
                "Busy",
                "the server has too much to do",
                detail=f"{self._waiting} requests are waiting",
                hint="try again in a moment",
                headers={"retry-after": str(RETRY_AFTER)},
            )
        self._waiting += 1
        try:
            try:
                doing = self._threads.submit(work)
            except RuntimeError:
                raise Problem(503, "Closing", "the server is being closed") from None
            try:
                return await asyncio.wrap_future(doing)
            except asyncio.CancelledError:
                if unwanted is not None and not doing.cancelled():
                    doing.add_done_callback(lambda done: None if done.exception() else unwanted(done.result()))
                raise
        finally:
            self._waiting -= 1
