"""Taking the rows of an answer in an event loop: no thread waits for them, and nothing happens while none come."""

from __future__ import annotations

import asyncio
import contextlib

from millstream.ksqldb.api import Answer, End, Row
from millstream.server.guard import Receive


class Taking:
    """An answer and the client it is for. Made in the event loop that takes its rows.

    Args:
        answer: whose rows.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._told = False
        self._left = False
        answer.listen(self._wake)

    async def take(self, seconds: float | None = None) -> list[Row]:
        """The next rows; none if it is over, or if there are none for so many seconds."""
        while True:
            self._event.clear()
            self._told = False
            rows = self.answer.take()
            if rows or self.is_over:
                return rows
            try:
                async with asyncio.timeout(seconds):
                    await self._event.wait()
            except TimeoutError:
                return []

    def take_now(self) -> list[Row]:
        """The rows that are there already."""
        return self.answer.take()

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be taken: all was, or nobody wants it."""
        return self._left or self.answer.end is not None

    @property
    def end(self) -> End:
        """How it ended."""
        return self.answer.end or End()

    @property
    def has_left(self) -> bool:
        """Whether nobody wants more."""
        return self._left

    def leave(self) -> None:
        """Nobody wants more. From the event loop."""
        self._left = True
        self._event.set()

    def leave_from_anywhere(self) -> None:
        """Nobody wants more. From any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended, and so has everything in it
            self._loop.call_soon_threadsafe(self.leave)

    def close(self) -> None:
        """End the query."""
        self._left = True
        self.answer.close()

    async def watch(self, receive: Receive) -> None:
        """Leave when the client does."""
        while not (await receive())["type"].endswith(".disconnect"):
            pass
        self.leave()

    def _wake(self) -> None:
        if self._told:  # the loop has not come round to the last call
            return
        self._told = True
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._event.set)
