"""A table whose values are computed from another table's, row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.tables.materialized import MaterializingOperator
from millstream.processors.tables.view import Entry, TableView, ViewFactory
from millstream.records import Change, Headers


class TableMapValues(MaterializingOperator):
    """`mapper(key, value)` is not asked about deleted rows."""

    def __init__(self, mapper: Callable[[Any, Any], Any], *, store: str | None, send_old: bool) -> None:
        super().__init__(store, send_old=send_old)
        self._mapper = mapper

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        new, old, latest = value
        new = None if new is None else self._mapper(key, new)
        if self._store_name is not None:
            old = self._stored(key) if self._send_old else None
            self._write_and_forward(key, new, old, timestamp, headers)
            return
        old = self._mapper(key, old) if self._send_old and old is not None else None
        self.forward(key, (new, old, latest), timestamp, headers)


class MapValuesView(TableView):
    """A mapped table that has no store: the parent's row, mapped again."""

    def __init__(self, parent: TableView, mapper: Callable[[Any, Any], Any]) -> None:
        self._parent = parent
        self._mapper = mapper

    def init(self, context: TaskContext) -> None:
        self._parent.init(context)
        self.versioned = self._parent.versioned

    def get(self, key: Any) -> Entry | None:
        return self._map(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> Entry | None:
        return self._map(key, self._parent.get_as_of(key, timestamp))

    def _map(self, key: Any, entry: Entry | None) -> Entry | None:
        if entry is None:
            return None
        value = self._mapper(key, entry[0])
        return None if value is None else (value, entry[1])


def map_values_view(parent: ViewFactory, mapper: Callable[[Any, Any], Any]) -> ViewFactory:
    """The view of a mapped table."""
    return ViewFactory(lambda: MapValuesView(parent.create(), mapper), parent.store_names)
