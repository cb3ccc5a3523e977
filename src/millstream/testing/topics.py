"""The ends of a topology under test: topics to write to and topics to read from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Generic, TypeVar, cast

from millstream.durations import milliseconds
from millstream.errors import ArgumentError, MillstreamError
from millstream.records import Headers
from millstream.serdes import Serde
from millstream.task.records import OutputRecord, RawHeaders
from millstream.testing.clock import to_milliseconds

K = TypeVar("K")
V = TypeVar("V")

_NO_TIME = timedelta(0)


class EmptyTopicError(MillstreamError, LookupError):
    """A test reads from a topic that has no record (left)."""


@dataclass
class TestRecord(Generic[K, V]):
    """A record that a test writes or reads. Without a timestamp it gets that of the input topic's clock."""

    __test__: ClassVar[bool] = False  # not a test, whatever pytest thinks of the name

    key: K
    value: V
    timestamp: int | None = None
    headers: Headers = field(default_factory=Headers)


class TestInputTopic(Generic[K, V]):
    """Writes records to a topic of the topology; made by `TopologyTestDriver.input_topic`.

    It has a clock for records without a timestamp: each gets its time, then the clock moves on by `auto_advance`.
    """

    __test__ = False

    def __init__(
        self,
        name: str,
        pipe: Callable[[str, bytes | None, bytes | None, int, RawHeaders], None],
        key_serde: Serde[K],
        value_serde: Serde[V],
        start: int,
        auto_advance: timedelta,
    ) -> None:
        self.name = name
        self._pipe = pipe
        self._key = key_serde.for_topic(name, True)
        self._value = value_serde.for_topic(name, False)
        self._now = start
        self._advance = milliseconds(auto_advance, "auto_advance")

    def pipe(
        self, key: K | None, value: V | None, timestamp: int | datetime | None = None, headers: Headers | None = None
    ) -> None:
        """Write a record, and have the topology process it."""
        if timestamp is None:
            at, self._now = self._now, self._now + self._advance
        else:
            at = to_milliseconds(timestamp)
        pairs = list(headers) if headers else None
        self._pipe(self.name, _serialized(self._key, key), _serialized(self._value, value), at, pairs)

    def pipe_value(
        self, value: V | None, timestamp: int | datetime | None = None, headers: Headers | None = None
    ) -> None:
        """Write a record without a key."""
        self.pipe(None, value, timestamp, headers)

    def pipe_record(self, record: TestRecord[K, V]) -> None:
        """Write a record."""
        self.pipe(record.key, record.value, record.timestamp, record.headers)

    def pipe_records(self, records: Iterable[TestRecord[K, V]]) -> None:
        """Write records, one after the other."""
        for record in records:
            self.pipe_record(record)

    def pipe_key_values(
        self,
        pairs: Iterable[tuple[K | None, V | None]],
        start: int | datetime | None = None,
        advance: timedelta = _NO_TIME,
    ) -> None:
        """Write records, one after the other; with a start, the first is at that time and each next one later."""
        at = None if start is None else to_milliseconds(start)
        step = milliseconds(advance, "advance")
        for key, value in pairs:
            self.pipe(key, value, at)
            if at is not None:
                at += step

    def pipe_values(
        self, values: Iterable[V | None], start: int | datetime | None = None, advance: timedelta = _NO_TIME
    ) -> None:
        """Write records without keys; see `pipe_key_values`."""
        self.pipe_key_values(((None, value) for value in values), start, advance)

    def advance_time(self, duration: timedelta) -> None:
        """Move the topic's clock on."""
        self._now += milliseconds(duration, "duration")


class TestOutputTopic(Generic[K, V]):
    """Reads what the topology wrote to a topic; made by `TopologyTestDriver.output_topic`. Reading removes records."""

    __test__ = False

    def __init__(
        self,
        name: str,
        take: Callable[[str], OutputRecord | None],
        sizes: Callable[[], dict[str, int]],
        key_serde: Serde[K],
        value_serde: Serde[V],
    ) -> None:
        self.name = name
        self._take = take
        self._sizes = sizes
        self._key = key_serde.for_topic(name, True)
        self._value = value_serde.for_topic(name, False)

    def read_record(self) -> TestRecord[K, V]:
        """The next record.

        Raises:
            EmptyTopicError: there is none.
        """
        sent = self._take(self.name)
        if sent is None:
            raise self._empty()
        _, _, key, value, timestamp, headers = sent
        # A null is whatever type the reader expects: tests of null keys and values compare with None.
        return TestRecord(
            cast("K", _deserialized(self._key, key)),
            cast("V", _deserialized(self._value, value)),
            timestamp,
            Headers(headers or ()),
        )

    def read_value(self) -> V:
        """The next record's value."""
        return self.read_record().value

    def read_key_value(self) -> tuple[K, V]:
        """The next record's key and value."""
        record = self.read_record()
        return record.key, record.value

    def read_records(self) -> list[TestRecord[K, V]]:
        """All remaining records."""
        return [self.read_record() for _ in range(self.size)]

    def read_values(self) -> list[V]:
        """The values of all remaining records."""
        return [record.value for record in self.read_records()]

    def read_key_values(self) -> list[tuple[K, V]]:
        """The keys and values of all remaining records."""
        return [(record.key, record.value) for record in self.read_records()]

    def read_key_values_to_map(self) -> dict[K, V]:
        """The last value of each key among the remaining records."""
        pairs = self.read_key_values()
        if any(key is None for key, _ in pairs):
            raise ArgumentError(
                f"topic '{self.name}' has a record without a key, which cannot go into a map",
                hint="use read_key_values()",
            )
        return dict(pairs)

    @property
    def size(self) -> int:
        """How many records remain."""
        return self._sizes().get(self.name, 0)

    @property
    def is_empty(self) -> bool:
        """Whether no record remains."""
        return self.size == 0

    def _empty(self) -> EmptyTopicError:
        others = ", ".join(f"{topic} ({size})" for topic, size in self._sizes().items() if size)
        return EmptyTopicError(
            f"topic '{self.name}' has no record to read",
            detail=f"unread records are in: {others or 'no topic at all'}",
            hint="check the topic's name, and that the topology forwards something for this input",
        )


def _serialized(serde: Serde[V], data: V | None) -> bytes | None:
    if data is None:
        return None
    try:
        return serde.serialize(data)
    except Exception as error:
        raise serde.serialization_error(data, error) from error


def _deserialized(serde: Serde[V], data: bytes | None) -> V | None:
    if data is None:
        return None
    try:
        return serde.deserialize(data)
    except Exception as error:
        raise serde.deserialization_error(data, error) from error
