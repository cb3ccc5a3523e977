"""Where a stream of records becomes a table: `table`, `to_table` and the end of a foreign-key join."""

from __future__ import annotations

from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator
from millstream.processors.tables.materialized import MaterializingOperator
from millstream.records import Headers


class TableSource(MaterializingOperator):
    """Each record is the new value of its key; a null value deletes. Offset order wins over timestamps."""

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None:
            self.drop("null key")
        elif self._store_name is None:
            self.forward(key, (value, None, True), timestamp, headers)
        else:
            old = self._stored(key) if self._send_old and not self._cached else None
            self._write_and_forward(key, value, old, timestamp, headers)


class GlobalTableSource(Operator):
    """Keeps a global table's store; nothing is downstream of it."""

    def __init__(self, store: str) -> None:
        self._store_name = store

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._write = context.store(self._store_name).write

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None:
            self.drop("null key")
        else:
            self._write(key, value, timestamp, headers)
