"""The join of a stream with a table of the same key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.errors import ArgumentError
from millstream.processors.context import TaskContext
from millstream.processors.joins.grace_buffer import BufferedRecord, GraceBuffer
from millstream.processors.operator import Operator
from millstream.processors.tables.view import Entry, ViewFactory
from millstream.records import Headers


class StreamTableJoin(Operator):
    """Looks each record up in a table; only the stream's records give results.

    The common cases have a method each, chosen once: next to the look-up and the user's joiner, what is left counts.

    Args:
        view: the table, as it is now, or (if it is versioned) as it was at the record's time.
        joiner: called with the record's value and the table's, and the key before them if `joiner_takes_key`.
        joiner_takes_key: see `joiner`.
        left: records without a match are results too.
        grace_ms: how long records wait for the table, which must be versioned.
        buffer: the store where they wait.
    """

    def __init__(
        self,
        *,
        view: ViewFactory,
        joiner: Callable[..., Any],
        joiner_takes_key: bool,
        left: bool,
        grace_ms: int | None = None,
        buffer: str | None = None,
    ) -> None:
        self._view = view.create()
        self._joiner = joiner
        self._left = left
        self._grace = grace_ms
        self._buffer_name = buffer
        methods = {
            (False, False): self._join_inner,
            (False, True): self._join_inner_with_key,
            (True, False): self._join_left,
            (True, True): self._join_left_with_key,
        }
        self._join = methods[left, joiner_takes_key]
        if buffer is None:
            self.process = self._join  # type: ignore[method-assign]  # no call in between

    def init(self, context: TaskContext) -> None:
        """Open the view and find the buffer."""
        super().init(context)
        self._view.init(context)
        self._get = self._view.get
        self._get_as_of: Callable[[Any, int], Entry | None] | None = None
        if self._view.versioned:
            self._get_as_of = self._view.get_as_of
        if self._buffer_name is not None:
            if not self._view.versioned:
                raise ArgumentError(
                    "the table must be versioned to use a grace period in a stream-table join",
                    detail=f"join {self.name}, grace {self._grace} ms",
                    hint="materialise the table in Stores.persistent_versioned_key_value(...), or leave the grace out",
                )
            self._buffer: GraceBuffer = context.store(self._buffer_name)

    def clock(self) -> list[int] | None:
        """The buffer's stream time: the records it holds may all be older."""
        return None if self._buffer_name is None else [self._buffer.stream_time]

    def set_clock(self, values: list[int]) -> None:
        """Go on at that time."""
        (self._buffer.stream_time,) = values

    def _join_inner(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None or value is None:
            self.drop("null join key or value")
            return
        entry = self._get(key) if self._get_as_of is None else self._get_as_of(key, timestamp)
        if entry is not None:
            self.forward(key, self._joiner(value, entry[0]), timestamp, headers)

    def _join_inner_with_key(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if key is None or value is None:
            self.drop("null join key or value")
            return
        entry = self._get(key) if self._get_as_of is None else self._get_as_of(key, timestamp)
        if entry is not None:
            self.forward(key, self._joiner(key, value, entry[0]), timestamp, headers)

    def _join_left(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if value is None:
            self.drop("null join key or value")
            return
        other = self._find(key, timestamp)
        self.forward(key, self._joiner(value, other), timestamp, headers)

    def _join_left_with_key(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if value is None:
            self.drop("null join key or value")
            return
        other = self._find(key, timestamp)
        self.forward(key, self._joiner(key, value, other), timestamp, headers)

    def _find(self, key: Any, timestamp: int) -> Any:
        if key is None:
            return None
        entry = self._get(key) if self._get_as_of is None else self._get_as_of(key, timestamp)
        return None if entry is None else entry[0]

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        """Buffer the record, and join those whose grace is over; join a late one at once."""
        if value is None or (key is None and not self._left):
            self.drop("null join key or value")
            return
        if key is None:
            raise TypeError("a stream-table join with a grace period cannot buffer a record without a key")
        context = self.context
        record = BufferedRecord(key, value, timestamp, headers, context.topic, context.partition, context.offset)
        if self._buffer.put(record):
            self._buffer.evict(self._join_buffered)
        else:
            self._join(key, value, timestamp, headers)

    def _join_buffered(self, record: BufferedRecord) -> None:
        """Join a record in the surroundings it came in."""
        context = self.context
        before = (context.topic, context.partition, context.offset, context.timestamp, context.headers)
        key, value, timestamp, headers, context.topic, context.partition, context.offset = record
        context.timestamp, context.headers = timestamp, headers
        try:
            self._join(key, value, timestamp, headers)
        finally:
            context.topic, context.partition, context.offset, context.timestamp, context.headers = before
