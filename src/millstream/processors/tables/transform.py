"""A table whose values a transformer of the user's own computes, with stores at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.tables.materialized import MaterializingOperator
from millstream.processors.tables.view import Entry, TableView, ViewFactory
from millstream.processors.user_context import transformer_context
from millstream.records import NO_TIMESTAMP, Change, Headers


class TableTransformValues(MaterializingOperator):
    """Unlike a mapper, a transformer is also asked about deleted rows."""

    def __init__(
        self,
        supplier: Callable[[], Any],
        *,
        store: str | None,
        send_old: bool,
    ) -> None:
        super().__init__(store, send_old=send_old)
        self._transformer = supplier()

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._transformer.init(transformer_context(context, self.name, self._transformer))

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        new, old, latest = value
        context = self.context
        context.timestamp = timestamp
        context.headers = headers
        transform = self._transformer.transform
        new = transform(key, new)
        if self._store_name is not None:
            old = self._stored(key) if self._send_old else None
            self._write_and_forward(key, new, old, timestamp, headers)
            return
        old = transform(key, old) if self._send_old else None
        self.forward(key, (new, old, latest), timestamp, headers)

    def close(self) -> None:
        self._transformer.close()


class TransformView(TableView):
    """A transformed table that has no store: the parent's row, transformed again."""

    def __init__(self, parent: TableView, supplier: Callable[[], Any], node: str) -> None:
        self._parent = parent
        self._transformer = supplier()
        self._node = node

    def init(self, context: TaskContext) -> None:
        self._context = context
        self._parent.init(context)
        self.versioned = self._parent.versioned
        self._transformer.init(transformer_context(context, self._node, self._transformer))

    def get(self, key: Any) -> Entry | None:
        return self._transform(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> Entry | None:
        return self._transform(key, self._parent.get_as_of(key, timestamp))

    def _transform(self, key: Any, entry: Entry | None) -> Entry | None:
        """The transformer sees the row's time, and no place in a topic: the record in process is another one."""
        value, timestamp = (None, NO_TIMESTAMP) if entry is None else entry
        context = self._context
        saved = (context.timestamp, context.headers, context.offset)
        context.timestamp, context.headers, context.offset = timestamp, None, -1
        try:
            value = self._transformer.transform(key, value)
        finally:
            context.timestamp, context.headers, context.offset = saved
        return None if value is None else (value, timestamp)


def transform_view(
    parent: ViewFactory, supplier: Callable[[], Any], node: str, store_names: tuple[str, ...]
) -> ViewFactory:
    """The view of a transformed table."""
    return ViewFactory(lambda: TransformView(parent.create(), supplier, node), (*parent.store_names, *store_names))
