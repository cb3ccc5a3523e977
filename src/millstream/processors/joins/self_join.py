"""The join of a stream with itself, on one store: what the optimiser makes of `s.join(s, ...)`."""

from __future__ import annotations

from typing import Any

from millstream.processors.context import TaskContext
from millstream.processors.joins.stream_stream import Joiner, finder
from millstream.processors.operator import Operator
from millstream.records import NO_TIMESTAMP, Headers


class SelfJoin(Operator):
    """Gives, record by record, what the two sides of the plain inner join would give.

    Args:
        store: the window store of the stream's earlier records.
        before_ms: how much earlier than a left record its right partner may be.
        after_ms: how much later.
        grace_ms: how long after its end a window stays open; `retention_ms` covers it.
        retention_ms: how long the store keeps a record; a record that old does not meet itself.
        joiner: makes a result of key, left and right value.
    """

    def __init__(
        self, *, store: str, before_ms: int, after_ms: int, grace_ms: int, retention_ms: int, joiner: Joiner
    ) -> None:
        self._store_name = store
        self._before = before_ms
        self._after = after_ms
        self._retention = retention_ms
        self._joiner = joiner
        self._stream_time = NO_TIMESTAMP

    def init(self, context: TaskContext) -> None:
        """Find the window store."""
        super().init(context)
        self._find = finder(context.store(self._store_name))

    def clock(self) -> list[int] | None:
        """Stream time."""
        return [self._stream_time]

    def set_clock(self, values: list[int]) -> None:
        """Go on at that time."""
        (self._stream_time,) = values

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        """Join as the left record with earlier ones, then as the right one, with itself in its place among them."""
        if key is None or value is None:
            self.drop("null key or value")
            return
        joiner, forward, before, after = self._joiner, self.forward, self._before, self._after
        self._stream_time = max(self._stream_time, timestamp)
        with_itself = joiner(key, value, value)
        meets_itself = timestamp > self._stream_time - self._retention + 1

        for other_time, other in self._find(key, max(0, timestamp - before), max(0, timestamp + after)):
            forward(key, joiner(key, value, other), max(timestamp, other_time), headers)
        for other_time, other in self._find(key, max(0, timestamp - after), max(0, timestamp + before)):
            if meets_itself and other_time > timestamp:
                meets_itself = False
                forward(key, with_itself, timestamp, headers)
            forward(key, joiner(key, other, value), max(timestamp, other_time), headers)
        if meets_itself:
            forward(key, with_itself, timestamp, headers)
