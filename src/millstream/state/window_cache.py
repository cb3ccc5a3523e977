"""The write-back cache of window stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millstream.records import Headers
from millstream.state.retention import ExpiringRows
from millstream.state.store import StoreContext, WindowFold
from millstream.state.timed_cache import (
    DIRTY,
    HEADERS,
    ITEM,
    NUMBER,
    OFFSET,
    PARTITION,
    TIMESTAMP,
    TOPIC,
    Entry,
    TimedCache,
)

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

    def folding(self, initializer: Callable[[], Any], aggregator: Callable[[Any, Any, Any], Any]) -> WindowFold:
        """`fold(key, start, value, timestamp, headers)`: a `read`, the aggregator and a `put` in one."""
        entries, dirty, context, budget = self._entries, self._dirty, self._context, self._budget
        get, following, load, insert = entries.get, self._following, self.load, self._insert
        overflow = self._write_down
        serialize = None if self._rows.key.hashable else self._rows.key.serialize

        def fold(key: Any, start: int, value: Any, timestamp: int, headers: Headers | None) -> None:
            ident = key if serialize is None else serialize(key)
            of_key = get(ident)
            entry = None if of_key is None else of_key[0].get(start)
            item: Any = load(key, start) if entry is None else entry[0]
            if item is None:
                newest = timestamp
                new = aggregator(key, value, initializer())
            else:
                old, newest = item
                if timestamp > newest:
                    newest = timestamp
                new = aggregator(key, value, old)
            if entry is None:
                if of_key is None:
                    of_key = entries[ident] = ({}, [])
                entry = insert(of_key, key, start)
            entry[NUMBER] = following()
            entry[HEADERS] = headers
            entry[TOPIC] = context.topic
            entry[PARTITION] = context.partition
            entry[OFFSET] = context.offset
            if new is None:  # a deletion is as old as the record that made it, a value as its newest record
                entry[ITEM] = None
                entry[TIMESTAMP] = timestamp
            else:
                entry[ITEM] = (new, newest)
                entry[TIMESTAMP] = newest
            if not entry[DIRTY]:
                entry[DIRTY] = True
                dirty[id(entry)] = entry
                if len(dirty) > budget.dirty:
                    overflow()

        return fold

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
