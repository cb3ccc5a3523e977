"""The write-back cache of window stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millstream.state.retention import ExpiringRows
from millstream.state.store import StoreContext
from millstream.state.timed_cache import Entry, TimedCache

K = TypeVar("K")
T = TypeVar("T")


class WindowCache(TimedCache[K, T]):
    """Keeps the objects of a window store; a place is a window's start.

    Args:
        rows: the store below.
        context: the task.
        timestamped: items are pairs of value and timestamp.
    """

    def __init__(self, rows: ExpiringRows[K, T], context: StoreContext, *, timestamped: bool) -> None:
        super().__init__(rows, context)
        self._timestamped = timestamped

    def _row(self, place: Any) -> tuple[int, int]:
        return place, 0

    def _place(self, time: int, number: int) -> Any:
        return time

    def _bound(self, time: int) -> Any:
        return time

    def _tell(self, listener: Callable[..., None], entry: Entry, new: Any, old: Any) -> None:
        _, _, key, start, timestamp, headers, *_ = entry
        if self._timestamped:
            if new is not None:
                new, timestamp = new
            if old is not None:
                old = old[0]
        listener(key, start, new, old, timestamp, headers)
