"""How a join looks up a suppressed table: held-back updates have not happened yet."""

from __future__ import annotations

from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.suppress.buffer import SuppressBuffer
from millstream.processors.tables.view import Entry, TableView, ViewFactory
from millstream.records import NO_TIMESTAMP


class SuppressView(TableView):
    """What a key had before its updates were held back, or else what the parent table has."""

    def __init__(self, parent: TableView, store_name: str) -> None:
        self._parent = parent
        self._store_name = store_name

    def init(self, context: TaskContext) -> None:
        self._parent.init(context)
        self._buffer: SuppressBuffer = context.store(self._store_name)

    def get(self, key: Any) -> Entry | None:
        prior = self._buffer.prior(key)
        if prior is None:
            return self._parent.get(key)
        # The time of the prior value is not known: updates carry only their own.
        return None if prior[0] is None else (prior[0], NO_TIMESTAMP)


def suppress_view(parent: ViewFactory, store_name: str) -> ViewFactory:
    """The view of a suppressed table with that buffer."""
    return ViewFactory(lambda: SuppressView(parent.create(), store_name), (store_name, *parent.store_names))
