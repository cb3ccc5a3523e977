"""A table of the rows that a predicate accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.tables.materialized import MaterializingOperator
from millstream.processors.tables.view import Entry, TableView, ViewFactory
from millstream.records import Change, Headers


class TableFilter(MaterializingOperator):
    """A row that stops matching becomes a tombstone.

    Only where old values are known can a row that never matched be told from one that just left; otherwise every
    non-matching update forwards a tombstone. `versioned` upstream tables always forward, since an old version says
    nothing about the latest.
    """

    def __init__(
        self,
        predicate: Callable[[Any, Any], bool],
        *,
        negate: bool,
        store: str | None,
        send_old: bool,
        versioned: bool,
    ) -> None:
        super().__init__(store, send_old=send_old)
        self._predicate = predicate
        self._negate = negate
        self._versioned = versioned

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        new, old, latest = value
        new = self._keep(key, new)
        if not self._send_old:
            old = None
        elif self._store_name is not None:
            old = self._stored(key)
        else:
            old = self._keep(key, old)
        if self._send_old and old is None and new is None and not self._versioned:
            return
        if self._store_name is not None:
            self._write_and_forward(key, new, old, timestamp, headers)
        else:
            self.forward(key, (new, old, latest), timestamp, headers)

    def _keep(self, key: Any, value: Any) -> Any:
        if value is not None and bool(self._predicate(key, value)) is not self._negate:
            return value
        return None


class FilterView(TableView):
    """A filtered table that has no store: the parent's row, if it matches."""

    def __init__(self, parent: TableView, predicate: Callable[[Any, Any], bool], negate: bool) -> None:
        self._parent = parent
        self._predicate = predicate
        self._negate = negate

    def init(self, context: TaskContext) -> None:
        self._parent.init(context)
        self.versioned = self._parent.versioned

    def get(self, key: Any) -> Entry | None:
        return self._keep(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> Entry | None:
        return self._keep(key, self._parent.get_as_of(key, timestamp))

    def _keep(self, key: Any, entry: Entry | None) -> Entry | None:
        if entry is not None and bool(self._predicate(key, entry[0])) is not self._negate:
            return entry
        return None


def filter_view(parent: ViewFactory, predicate: Callable[[Any, Any], bool], negate: bool) -> ViewFactory:
    """The view of a filtered table."""
    return ViewFactory(lambda: FilterView(parent.create(), predicate, negate), parent.store_names)
