"""What `KTable.suppress` takes: how long updates are held back, and how much of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from millstream.durations import milliseconds
from millstream.errors import ArgumentError


@dataclass(frozen=True)
class BufferConfig:
    """How much `suppress` may hold, and what happens when that is not enough.

    Use `unbounded` for results that must be final. Use a limit where an early, less final update is better than a full
    memory.

    >>> BufferConfig.max_records(1000).with_max_bytes(1_000_000)
    BufferConfig(record_limit=1000, byte_limit=1000000, stops_when_full=False, logging=True)
    """

    #: None: as many as come.
    record_limit: int | None = None
    byte_limit: int | None = None
    #: What to do when a limit is passed: stop with an error, or emit the oldest updates early.
    stops_when_full: bool = True
    #: Keep the buffer's changes in Kafka; a mapping has settings of its changelog topic.
    logging: bool | Mapping[str, str] = field(default=True, hash=False)

    def __post_init__(self) -> None:
        for limit in (self.record_limit, self.byte_limit):
            if limit is not None and limit < 0:
                raise ArgumentError("a buffer limit cannot be negative", detail=f"limit is {limit}")

    @classmethod
    def unbounded(cls) -> BufferConfig:
        """No limit but the memory.

        >>> BufferConfig.unbounded().record_limit is None
        True
        """
        return cls()

    @classmethod
    def max_records(cls, limit: int) -> BufferConfig:
        """At most that many keys; emits early when full.

        >>> BufferConfig.max_records(1000).stops_when_full
        False
        """
        return cls(record_limit=limit, stops_when_full=False)

    @classmethod
    def max_bytes(cls, limit: int) -> BufferConfig:
        """At most that many bytes; emits early when full.

        >>> BufferConfig.max_bytes(1_000_000).byte_limit
        1000000
        """
        return cls(byte_limit=limit, stops_when_full=False)

    def with_max_records(self, limit: int) -> BufferConfig:
        """Also limit the number of keys.

        >>> BufferConfig.max_bytes(1_000_000).with_max_records(1000).record_limit
        1000
        """
        return replace(self, record_limit=limit)

    def with_max_bytes(self, limit: int) -> BufferConfig:
        """Also limit the bytes.

        >>> BufferConfig.max_records(1000).with_max_bytes(1_000_000).byte_limit
        1000000
        """
        return replace(self, byte_limit=limit)

    def emit_early_when_full(self) -> BufferConfig:
        """Emit the oldest updates before their time when a limit is passed.

        >>> BufferConfig.unbounded().with_max_records(1000).emit_early_when_full().stops_when_full
        False
        """
        return replace(self, stops_when_full=False)

    def shut_down_when_full(self) -> BufferConfig:
        """Stop with an error when a limit is passed.

        Use it where `until_window_closes` needs a limit: a final result cannot be emitted early.

        >>> BufferConfig.max_records(1000).shut_down_when_full().stops_when_full
        True
        """
        return replace(self, stops_when_full=True)

    def with_no_bound(self) -> BufferConfig:
        """Take the limits away, so that the result is final.

        >>> BufferConfig.max_records(1000).with_no_bound() == BufferConfig.unbounded()
        True
        """
        return replace(self, record_limit=None, byte_limit=None, stops_when_full=True)

    def with_logging_enabled(self, log_config: Mapping[str, str] | None = None) -> BufferConfig:
        """Keep the buffer's changes in Kafka, with settings of its changelog topic.

        >>> BufferConfig.unbounded().with_logging_enabled({"segment.ms": "60000"}).logging
        {'segment.ms': '60000'}
        """
        return replace(self, logging=dict(log_config) if log_config else True)

    def with_logging_disabled(self) -> BufferConfig:
        """Keep no changes in Kafka: what is held back is lost with the checkpoint.

        >>> BufferConfig.unbounded().with_logging_disabled().logging
        False
        """
        return replace(self, logging=False)


@dataclass(frozen=True)
class Suppressed:
    """How long a table's updates are held back. Build one with `until_time_limit` or `until_window_closes`.

    Use it with `KTable.suppress`. Give a name: the buffer has a changelog topic.

    >>> Suppressed.until_window_closes(BufferConfig.unbounded(), name="final-counts").name
    'final-counts'
    """

    #: None: until the window closes, which the graph finds out from the windows further up.
    wait_ms: int | None
    buffer: BufferConfig
    name: str | None = None

    @classmethod
    def until_time_limit(cls, limit: timedelta, buffer: BufferConfig, name: str | None = None) -> Suppressed:
        """One update per key and `limit` of event time: the last.

        Use it to thin out a table that changes often.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, prices = StreamsBuilder(), (Serdes.string, Serdes.long)
        >>> every_minute = Suppressed.until_time_limit(timedelta(minutes=1), BufferConfig.unbounded())
        >>> builder.table("prices", Consumed(*prices)).suppress(every_minute).to_stream().to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     topic = driver.input_topic("prices", *prices)
        ...     topic.pipe_key_values([("tea", 3), ("tea", 4), ("milk", 1)], start=0, advance=timedelta(seconds=40))
        ...     driver.output_topic("out", *prices).read_key_values()
        [('tea', 4)]
        """
        return cls(milliseconds(limit, "a time limit"), buffer, name)

    @classmethod
    def until_window_closes(cls, buffer: BufferConfig, name: str | None = None) -> Suppressed:
        """Only the final result of every window.

        Use it behind a windowed aggregation, where each result must be the last word. `KTable.suppress` has an example.

        >>> Suppressed.until_window_closes(BufferConfig.unbounded()).wait_ms is None
        True
        """
        if not buffer.stops_when_full:
            raise ArgumentError(
                "until_window_closes cannot emit early",
                detail="a result that is emitted early is not final",
                hint="use BufferConfig.unbounded(), or add .shut_down_when_full()",
            )
        return cls(None, buffer, name)
