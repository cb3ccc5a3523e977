"""What all operators share that write a table's store and forward its updates."""

from __future__ import annotations

from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator
from millstream.records import Headers
from millstream.state.store import LATEST, NOT_STORED


class MaterializingOperator(Operator):
    """An operator that gives a table, and may keep it in a store.

    Without a store an update is only forwarded. With one it is written first; a cached store forwards by itself when it
    is flushed.
    """

    def __init__(self, store: str | None, *, send_old: bool) -> None:
        self._store_name = store
        self._send_old = send_old
        self._cached = False
        self._store: Any = None

    def init(self, context: TaskContext) -> None:
        super().init(context)
        if self._store_name is not None:
            self._store = store = context.store(self._store_name)
            self._read = store.read
            self._write = store.write
            self._cached = store.cached
            if self._cached:
                store.set_flush_listener(self._forward_flushed, self._send_old)

    def _forward_flushed(self, key: Any, new: Any, old: Any, timestamp: int, headers: Headers | None) -> None:
        self.forward(key, (new, old, True), timestamp, headers)

    def _stored(self, key: Any) -> Any:
        entry = self._read(key)
        return None if entry is None else entry[0]

    def _write_and_forward(
        self, key: Any, new: Any, old: Any, timestamp: int, headers: Headers | None, record_timestamp: int | None = None
    ) -> None:
        """Write and forward an update.

        `record_timestamp` is the time of the record behind it, where the update's own may be later: a cache forwards a
        deletion with it.
        """
        written_at = timestamp if new is not None or record_timestamp is None else record_timestamp
        code = self._write(key, new, written_at, headers)
        if not self._cached and code != NOT_STORED:
            self.forward(key, (new, old if self._send_old else None, code == LATEST), timestamp, headers)
