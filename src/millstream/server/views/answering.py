"""Asking views from an event loop: at once where the answer is here, in a thread where it takes time."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

from millstream.server.settings import ServerSettings
from millstream.server.threads import Threads
from millstream.views.answers import Answer
from millstream.views.api import Views
from millstream.views.queries import KeyQuery, Query, Requirements, VersionedKeyQuery
from millstream.views.questions.wire import Request

T = TypeVar("T")

_local = threading.local()


class AskedElsewhere(BaseException):  # not an Exception: nobody on the way may take it for a copy that failed
    """Another instance would have to be asked, in a thread that must not wait."""


def must_not_wait() -> bool:
    """Whether this thread is an event loop's that asks for what is here alone."""
    return getattr(_local, "must_not_wait", False)


class Answering:
    """Asks views, for the handlers of requests.

    Args:
        views: who knows.
        settings: how many may ask at a time.
    """

    def __init__(self, views: Views, settings: ServerSettings) -> None:
        self._views = views
        self._threads = Threads("millstream-views", settings)

    def close(self) -> None:
        """Take no more questions."""
        self._threads.close()

    async def ask(self, store: str, query: Query, needs: Requirements) -> Answer:
        """The answer to a question.

        A single key that is here takes some microseconds, a way to a thread and back a hundred. So that is tried first,
        unless the broker must be asked how fresh the answer is.
        """
        if is_quick(query, needs):
            _local.must_not_wait = True
            try:
                return self._views.ask(store, query, needs)
            except AskedElsewhere:
                pass
            finally:
                _local.must_not_wait = False
        return await self.in_thread(lambda: self._views.ask(store, query, needs))

    async def ask_here(self, asked: Request) -> Answer:
        """The answer of this instance alone."""
        store, query, needs, partitions = asked
        if is_quick(query, needs):
            return self._views.ask_here(store, query, needs, partitions)
        return await self.in_thread(lambda: self._views.ask_here(store, query, needs, partitions))

    async def pages(self, store: str, query: Query, needs: Requirements) -> AsyncIterator[Answer]:
        """A scan, a page at a time; nothing is held between two pages."""
        pages: Iterator[Answer] = self._views.pages(store, query, needs)
        while (page := await self.in_thread(lambda: next(pages, None))) is not None:
            yield page

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do something that takes time.

        Raises:
            Problem: too many others are waiting.
        """
        return await self._threads.run(work)


def is_quick(query: Query, needs: Requirements) -> bool:
    """Whether what is here answers a question without waiting for anything."""
    return isinstance(query, KeyQuery | VersionedKeyQuery) and needs.max_staleness is None
