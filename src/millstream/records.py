"""The values that travel: records, their headers and metadata, windows and windowed keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from millstream.errors import ArgumentError, StreamsError

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")

NO_TIMESTAMP = -1
MAX_TIMESTAMP = 2**63 - 1


class Headers:
    """An ordered list of `(name, bytes or None)` pairs that a record carries.

    Headers are shared along the topology: what one processor adds, later ones see.

    >>> h = Headers([("trace", b"1")])
    >>> h.add("trace", b"2")
    >>> h.last("trace")
    b'2'
    >>> h.all("trace")
    [b'1', b'2']
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[tuple[str, bytes | None]] = ()) -> None:
        self._items: list[tuple[str, bytes | None]] = list(items)

    def add(self, name: str, value: bytes | None) -> None:
        """Append a header."""
        self._items.append((name, value))

    def remove(self, name: str) -> None:
        """Remove every header of that name."""
        self._items = [item for item in self._items if item[0] != name]

    def last(self, name: str) -> bytes | None:
        """The value of the last header of that name, or None."""
        for key, value in reversed(self._items):
            if key == name:
                return value
        return None

    def all(self, name: str) -> list[bytes | None]:
        """The values of all headers of that name, in order."""
        return [value for key, value in self._items if key == name]

    def copy(self) -> Headers:
        """An independent copy."""
        return Headers(self._items)

    def __iter__(self) -> Iterator[tuple[str, bytes | None]]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return any(key == name for key, _ in self._items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Headers):
            return self._items == other._items
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"Headers({self._items!r})"


class Record(Generic[K, V]):
    """A key, a value, an event time in milliseconds and headers, as processors see them."""

    __slots__ = ("headers", "key", "timestamp", "value")

    def __init__(self, key: K, value: V, timestamp: int, headers: Headers | None = None) -> None:
        if timestamp < 0:
            raise StreamsError(
                "a record cannot have a negative timestamp",
                detail=f"timestamp is {timestamp}",
                hint="give the event time in milliseconds since 1970",
            )
        self.key = key
        self.value = value
        self.timestamp = timestamp
        self.headers = Headers() if headers is None else headers

    def with_key(self, key: K2) -> Record[K2, V]:
        """The same record under another key."""
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: V2) -> Record[K, V2]:
        """The same record with another value."""
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record[K, V]:
        """The same record at another time."""
        return Record(self.key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> Record[K, V]:
        """The same record with a copy of these headers."""
        return Record(self.key, self.value, self.timestamp, headers.copy())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return (self.key, self.value, self.timestamp, self.headers) == (
                other.key,
                other.value,
                other.timestamp,
                other.headers,
            )
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(key={self.key!r}, value={self.value!r}, "
            f"timestamp={self.timestamp}, headers={list(self.headers)!r})"
        )


class FixedKeyRecord(Generic[K, V]):
    """A record whose key cannot be changed, as `process_values` sees it."""

    __slots__ = ("_key", "headers", "timestamp", "value")

    def __init__(self, key: K, value: V, timestamp: int, headers: Headers) -> None:
        self._key = key
        self.value = value
        self.timestamp = timestamp
        self.headers = headers

    @property
    def key(self) -> K:
        """The key; it cannot be set."""
        return self._key

    def with_value(self, value: V2) -> FixedKeyRecord[K, V2]:
        """The same record with another value."""
        return FixedKeyRecord(self._key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> FixedKeyRecord[K, V]:
        """The same record at another time."""
        if timestamp < 0:
            raise StreamsError("a record cannot have a negative timestamp", detail=f"timestamp is {timestamp}")
        return FixedKeyRecord(self._key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> FixedKeyRecord[K, V]:
        """The same record with a copy of these headers."""
        return FixedKeyRecord(self._key, self.value, self.timestamp, headers.copy())

    def __repr__(self) -> str:
        return f"FixedKeyRecord(key={self._key!r}, value={self.value!r}, timestamp={self.timestamp})"


class RecordMetadata(NamedTuple):
    """Where the input record came from. In a punctuation: `(None, -1, -1)`."""

    topic: str | None
    partition: int
    offset: int


class RecordContext(NamedTuple):
    """What topic-name extractors are told about a record.

    `source_raw_key` and `source_raw_value` are of the input record, as it was read. They are None in a punctuation, and
    where a cache is flushed that was written by an earlier record.
    """

    topic: str | None
    partition: int
    offset: int
    timestamp: int
    headers: Headers
    source_raw_key: bytes | None = None
    source_raw_value: bytes | None = None


class ValueAndTimestamp(NamedTuple, Generic[V]):
    """A value in a timestamped store, with the time it is valid from."""

    value: V
    timestamp: int


class ValueTimestampHeaders(NamedTuple, Generic[V]):
    """A value in a store with headers: the time it is valid from, and the headers of the record that wrote it."""

    value: V
    timestamp: int
    headers: Headers


class AggregationWithHeaders(NamedTuple, Generic[V]):
    """A value in a session store with headers."""

    aggregation: V
    headers: Headers


class Window(NamedTuple):
    """A span of event time in milliseconds. Time windows exclude `end`; session and sliding windows include it."""

    start: int
    end: int


class Windowed(NamedTuple, Generic[K]):
    """A key together with the window it belongs to; prints as Kafka Streams prints it.

    >>> print(Windowed("eu", Window(0, 300000)))
    [eu@0/300000]
    """

    key: K
    window: Window

    def __str__(self) -> str:
        return f"[{self.key}@{self.window.start}/{self.window.end}]"


def time_window(start: int, end: int) -> Window:
    """A window that must not be empty."""
    if end <= start:
        raise ArgumentError("a window's end must be greater than its start", detail=f"start {start}, end {end}")
    return Window(start, end)


# A table's update as it travels between operators: (new value, old value or None, is it the latest version).
# A plain tuple: one is made for every update.
Change = tuple[Any, Any, bool]
