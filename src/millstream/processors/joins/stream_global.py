"""The join of a stream with a global table, by a key taken from the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator
from millstream.records import Headers


class StreamGlobalJoin(Operator):
    """Looks each record up in a global table; only the stream's records give results.

    Args:
        store: the global table's store.
        key_selector: the table's key of a record's key and value.
        joiner: called with the record's value and the table's, and the record's key before them if `joiner_takes_key`.
        joiner_takes_key: see `joiner`.
        left: records without a match are results too.
    """

    def __init__(
        self,
        *,
        store: str,
        key_selector: Callable[[Any, Any], Any],
        joiner: Callable[..., Any],
        joiner_takes_key: bool,
        left: bool,
    ) -> None:
        self._store_name = store
        self._key_selector = key_selector
        self._joiner = joiner
        self._joiner_takes_key = joiner_takes_key
        self._left = left

    def init(self, context: TaskContext) -> None:
        """Find the global store."""
        super().init(context)
        self._read = context.store(self._store_name).read

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        """Look up and join. The selector sees records without a value, as it does in Kafka Streams."""
        table_key = self._key_selector(key, value)
        if value is None or (table_key is None and not self._left):
            self.drop("null join key or value")
            return
        entry = None if table_key is None else self._read(table_key)
        if entry is not None:
            other = entry[0]
        elif self._left:
            other = None
        else:
            return
        joined = self._joiner(key, value, other) if self._joiner_takes_key else self._joiner(value, other)
        self.forward(key, joined, timestamp, headers)
