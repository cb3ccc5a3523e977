"""The operator behind `KTable.suppress`."""

from __future__ import annotations

from typing import Any

from millstream.errors import StreamsError
from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator
from millstream.processors.suppress.buffer import Held, SuppressBuffer
from millstream.records import MAX_TIMESTAMP, NO_TIMESTAMP, Change, Headers


class Suppress(Operator):
    """Holds a table's updates back, and lets through only the last one of each key and span of time.

    An update is emitted once `wait_ms` of event time have passed since the first held-back update of its key, or since
    the end of its key's window. It then has the timestamp, headers, topic, partition and offset of the latest update.

    Args:
        store: the name of a `SuppressBuffer`.
        wait_ms: how long updates wait.
        until_window_closes: count from the end of the key's window, and emit no tombstones.
        max_records: how many keys the buffer may hold; None: any number.
        max_bytes: how many bytes it may hold; None: any number.
        shut_down_when_full: raise when a limit is passed, instead of emitting the oldest updates early.
    """

    def __init__(
        self,
        store: str,
        wait_ms: int,
        until_window_closes: bool,
        max_records: int | None,
        max_bytes: int | None,
        shut_down_when_full: bool,
    ) -> None:
        self._store_name = store
        self._wait = wait_ms
        self._until_window_closes = until_window_closes
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._shut_down_when_full = shut_down_when_full
        self._bounded = max_records is not None or max_bytes is not None
        self._stream_time = NO_TIMESTAMP

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._buffer: SuppressBuffer = context.store(self._store_name)

    def clock(self) -> list[int] | None:
        """Stream time: the buffer holds what waits, not what went."""
        return [self._stream_time]

    def set_clock(self, values: list[int]) -> None:
        """Go on at that time."""
        (self._stream_time,) = values

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        if timestamp > self._stream_time:
            self._stream_time = timestamp
        buffer = self._buffer
        buffer.put(key.window.end if self._until_window_closes else timestamp, key, value, timestamp, headers)
        buffer.evict_until(self._stream_time - self._wait, self._emit)
        if self._bounded and self._over_capacity():
            self._relieve()

    def _over_capacity(self) -> bool:
        buffer = self._buffer
        return (self._max_records is not None and len(buffer) > self._max_records) or (
            self._max_bytes is not None and buffer.size_in_bytes > self._max_bytes
        )

    def _relieve(self) -> None:
        buffer = self._buffer
        if self._shut_down_when_full:
            records = f"{len(buffer)}/{_limit(self._max_records)}"
            size = f"{buffer.size_in_bytes}/{_limit(self._max_bytes)}"
            raise StreamsError(
                f"{self.name} buffer exceeded its max capacity. Currently [{records}] records and [{size}] bytes."
            )
        while len(buffer) and self._over_capacity():
            buffer.evict(self._emit)

    def _emit(self, held: Held, change: Change) -> None:
        if change[0] is None and self._until_window_closes:
            # Nothing was emitted for this window before, so there is nothing to delete.
            return
        context = self.context
        before = (context.topic, context.partition, context.offset, context.timestamp, context.headers)
        context.topic, context.partition, context.offset = held.topic, held.partition, held.offset
        context.timestamp, context.headers = held.timestamp, held.headers
        try:
            self.forward(held.key, change, held.timestamp, held.headers)
        finally:
            context.topic, context.partition, context.offset, context.timestamp, context.headers = before


def _limit(limit: int | None) -> int:
    """A limit as Kafka Streams prints it."""
    return MAX_TIMESTAMP if limit is None else limit
