"""Aggregations of a grouped stream without windows: aggregate, count and reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from millstream.processors.context import TaskContext
from millstream.processors.tables.materialized import MaterializingOperator
from millstream.records import Headers
from millstream.state.store import LATEST, NOT_STORED

#: Why a record is dropped.
NULL: Final = "null key or value"


class StreamAggregate(MaterializingOperator):
    """Folds each key's values with `aggregator(key, value, aggregate)`; null keys and values are dropped."""

    def __init__(
        self,
        store: str,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        *,
        send_old: bool,
    ) -> None:
        super().__init__(store, send_old=send_old)
        self._initializer = initializer
        self._aggregator = aggregator

    def init(self, context: TaskContext) -> None:
        super().init(context)
        if self._cached:
            self.fold = self._store.folding(self._initializer, self._aggregator)  # type: ignore[method-assign]

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None or value is None:
            self.drop(NULL)
        else:
            self.fold(key, value, timestamp, headers)

    def fold(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        """Bring a value into the aggregate of its key; a cache has its own way to do it."""
        newest = timestamp
        entry = self._read(key)
        if entry is None:
            old = self._initializer()
        else:
            old, stored = entry
            if stored > timestamp:
                newest = stored
        if self._send_old:
            # The function may change the aggregate in place, and the old value is still to be told.
            copied = self._read(key)
            before = self._initializer() if copied is None else copied[0]
        else:
            before = None
        new = self._aggregator(key, value, old)
        # A deletion is as old as the record that made it, a value as its newest record.
        code = self._write(key, new, timestamp if new is None else newest, headers)
        if code != NOT_STORED:
            self.forward(key, (new, before, code == LATEST), newest, headers)


class StreamReduce(MaterializingOperator):
    """Combines each key's values with `reducer(aggregate, value)`; the first value is the first aggregate."""

    def __init__(self, store: str, reducer: Callable[[Any, Any], Any], *, send_old: bool) -> None:
        super().__init__(store, send_old=send_old)
        self._reducer = reducer

    def init(self, context: TaskContext) -> None:
        super().init(context)
        # The function may change the aggregate in place, and the old value is still to be told. A cache looks it up.
        self._needs_copy = self._send_old and not self._cached

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None or value is None:
            self.drop("null key or value")
            return
        newest = timestamp
        entry = self._read(key)
        if entry is None:
            before = None
            new = value
        else:
            old, stored = entry
            if self._needs_copy:
                before = self._read(key)[0]
            else:
                before = old
            new = self._reducer(old, value)
            if stored > timestamp:
                newest = stored
        code = self._write(key, new, timestamp if new is None else newest, headers)
        if not self._cached and code != NOT_STORED:
            self.forward(key, (new, before if self._send_old else None, code == LATEST), newest, headers)
