"""What `KTable.suppress` takes: how long updates are held back, and how much of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from millstream.durations import milliseconds
from millstream.errors import ArgumentError


@dataclass(frozen=True)
class BufferConfig:
    """How much `suppress` may hold, and what happens when that is not enough."""

    #: None: as many as come.
    record_limit: int | None = None
    byte_limit: int | None = None
    #: What to do when a limit is passed: stop with an error, or emit the oldest updates early.
    stops_when_full: bool = True

    def __post_init__(self) -> None:
        for limit in (self.record_limit, self.byte_limit):
            if limit is not None and limit < 0:
                raise ArgumentError("a buffer limit cannot be negative", detail=f"limit is {limit}")

    @classmethod
    def unbounded(cls) -> BufferConfig:
        """No limit but the memory."""
        return cls()

    @classmethod
    def max_records(cls, limit: int) -> BufferConfig:
        """At most that many keys; emits early when full."""
        return cls(record_limit=limit, stops_when_full=False)

    @classmethod
    def max_bytes(cls, limit: int) -> BufferConfig:
        """At most that many bytes; emits early when full."""
        return cls(byte_limit=limit, stops_when_full=False)

    def with_max_records(self, limit: int) -> BufferConfig:
        """Also limit the number of keys."""
        return replace(self, record_limit=limit)

    def with_max_bytes(self, limit: int) -> BufferConfig:
        """Also limit the bytes."""
        return replace(self, byte_limit=limit)

    def emit_early_when_full(self) -> BufferConfig:
        """Emit the oldest updates before their time when a limit is passed."""
        return replace(self, stops_when_full=False)

    def shut_down_when_full(self) -> BufferConfig:
        """Stop with an error when a limit is passed."""
        return replace(self, stops_when_full=True)


@dataclass(frozen=True)
class Suppressed:
    """How long a table's updates are held back. Build one with `until_time_limit` or `until_window_closes`."""

    #: None: until the window closes, which the graph finds out from the windows further up.
    wait_ms: int | None
    buffer: BufferConfig
    name: str | None = None

    @classmethod
    def until_time_limit(cls, limit: timedelta, buffer: BufferConfig, name: str | None = None) -> Suppressed:
        """One update per key and `limit` of event time: the last."""
        return cls(milliseconds(limit, "a time limit"), buffer, name)

    @classmethod
    def until_window_closes(cls, buffer: BufferConfig, name: str | None = None) -> Suppressed:
        """Only the final result of every window."""
        if not buffer.stops_when_full:
            raise ArgumentError(
                "until_window_closes cannot emit early",
                detail="a result that is emitted early is not final",
                hint="use BufferConfig.unbounded(), or add .shut_down_when_full()",
            )
        return cls(None, buffer, name)
