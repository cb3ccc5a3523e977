"""Stores that keep the headers of records beside values and timestamps.

In a changelog topic a row has its headers as headers of its record, so that a store without headers reads it just so.
Elsewhere they are in front of the value (`millstream.state.layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from millstream.records import AggregationWithHeaders, Headers, ValueTimestampHeaders, Windowed
from millstream.serdes import Serde
from millstream.state import codec
from millstream.state.keyvalue import KeyValueBase
from millstream.state.layout import join_headers, join_timestamped, split_headers, split_timestamped
from millstream.state.session import SessionStore
from millstream.state.store import (
    LATEST,
    Fold,
    HeaderLogRecord,
    KeyValueListener,
    LogRecord,
    SessionListener,
    StoreContext,
    WindowFold,
    WindowListener,
)
from millstream.state.suppliers import StoreSupplier
from millstream.state.window import WindowBase

K = TypeVar("K")
V = TypeVar("V")

#: What is kept: value, timestamp, headers (None: there are none).
Kept = tuple[V, int, Headers | None]


class TimestampedKeyValueStoreWithHeaders(KeyValueBase[K, ValueTimestampHeaders[V], Kept[V]]):
    """Keys and values, each with its time and the headers of the record that wrote it.

    Operators use `read` and `write`, as of a `TimestampedKeyValueStore`.
    """

    keeps_headers = True

    #: `read(key)`: `(value, timestamp)`, or None.
    read: Callable[[K], tuple[V, int] | None]
    #: `write(key, value, timestamp, headers=None)`: set a key, or delete it (None). Returns `LATEST`.
    write: Callable[..., int]

    def __init__(
        self, supplier: StoreSupplier, key: Serde[K], value: Serde[V], *, caching: bool = False, logged: bool = True
    ) -> None:
        super().__init__(supplier, key, codec.with_headers(value), caching=caching, logged=logged)

    def init(self, context: StoreContext) -> None:
        super().init(context)
        get, put = self._get, self._put

        def read(key: K) -> tuple[V, int] | None:
            item = get(key)
            return None if item is None else (item[0], item[1])

        def write(key: K, value: Any, timestamp: int, headers: Headers | None = None) -> int:
            put(key, None if value is None else (value, timestamp, _own(headers)), timestamp, headers)
            return LATEST

        self.read, self.write = read, write

    def folding(self, initializer: Callable[[], Any], aggregator: Callable[[Any, Any, Any], Any]) -> Fold:
        """What `TimestampedKeyValueStore.folding` gives."""
        read, write = self.read, self.write

        def fold(key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
            new, time = _folded(read(key), initializer, aggregator, key, value, timestamp)
            write(key, new, time, headers)

        return fold

    def set_flush_listener(self, listener: KeyValueListener, send_old: bool) -> None:
        def told(key: Any, new: Any, old: Any, timestamp: int, headers: Headers | None) -> None:
            listener(key, _value(new), _value(old), timestamp, headers)

        super().set_flush_listener(told, send_old)

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        return (record[:3] for record in self.header_log_records(changes, time))

    def header_log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterator[HeaderLogRecord]:
        for key, data in changes.items():
            plain, headers = split_headers(data)
            yield *split_timestamped(key, plain, time), headers

    def apply_records(self, records: Iterable[LogRecord]) -> None:
        self.apply_header_records((*record, None) for record in records)

    def apply_header_records(self, records: Iterable[HeaderLogRecord]) -> None:
        self.apply_changes(_rows(records))

    def put(self, key: K, value: ValueTimestampHeaders[V] | None) -> None:
        """Set a key; None deletes it."""
        self._check(key)
        context = self._context
        if value is None or value.value is None:
            self.write(key, None, context.timestamp, context.headers)
        else:
            self.write(key, value.value, value.timestamp, value.headers)

    def _shown(self, item: Kept[V]) -> ValueTimestampHeaders[V]:
        return _shown(item)

    def _kept(self, value: ValueTimestampHeaders[V]) -> Kept[V]:
        return value.value, value.timestamp, _own(value.headers)


class TimestampedWindowStoreWithHeaders(WindowBase[K, ValueTimestampHeaders[V], Kept[V]]):
    """Values with timestamps and headers, by key and window start.

    Operators use `read`, `write` and `read_range`, as of a `TimestampedWindowStore`.
    """

    keeps_headers = True

    #: `read(key, start)`: `(value, timestamp)`, or None.
    read: Callable[[K, int], tuple[V, int] | None]
    #: `write(key, start, value, timestamp, headers=None)`: set the value of a window, or delete it (None).
    write: Callable[..., None]

    def __init__(
        self, supplier: StoreSupplier, key: Serde[K], value: Serde[V], *, caching: bool = False, logged: bool = True
    ) -> None:
        super().__init__(supplier, key, codec.with_headers(value), caching=caching, logged=logged)

    def init(self, context: StoreContext) -> None:
        super().init(context)
        get, put = self._get, self._put

        def read(key: K, start: int) -> tuple[V, int] | None:
            item = get(key, start)
            return None if item is None else (item[0], item[1])

        def write(key: K, start: int, value: Any, timestamp: int, headers: Headers | None = None) -> None:
            put(key, start, None if value is None else (value, timestamp, _own(headers)), timestamp, headers)

        self.read, self.write = read, write

    def folding(self, initializer: Callable[[], Any], aggregator: Callable[[Any, Any, Any], Any]) -> WindowFold:
        """What `TimestampedWindowStore.folding` gives."""
        read, write = self.read, self.write

        def fold(key: Any, start: int, value: Any, timestamp: int, headers: Headers | None) -> None:
            new, time = _folded(read(key, start), initializer, aggregator, key, value, timestamp)
            write(key, start, new, time, headers)

        return fold

    def read_range(
        self, key: K, earliest: int, latest: int, reverse: bool = False
    ) -> Iterator[tuple[int, tuple[V, int]]]:
        """(start, (value, timestamp)) of a key's windows that start between the two times, by start."""
        return ((start, (item[0], item[1])) for start, item in self._range(key, earliest, latest, reverse))

    def set_flush_listener(self, listener: WindowListener, send_old: bool) -> None:
        def told(key: Any, start: int, new: Any, old: Any, timestamp: int, headers: Headers | None) -> None:
            listener(key, start, _value(new), _value(old), timestamp, headers)

        super().set_flush_listener(told, send_old)

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        return (record[:3] for record in self.header_log_records(changes, time))

    def header_log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterator[HeaderLogRecord]:
        for key, data, start in self._rows.log_records(changes):
            plain, headers = split_headers(data)
            yield *split_timestamped(key, plain, start), headers

    def apply_records(self, records: Iterable[LogRecord]) -> None:
        self.apply_header_records((*record, None) for record in records)

    def apply_header_records(self, records: Iterable[HeaderLogRecord]) -> None:
        self.apply_changes(_rows(records))

    def _shown(self, item: Kept[V]) -> ValueTimestampHeaders[V]:
        return _shown(item)

    def _kept(self, value: ValueTimestampHeaders[V]) -> Kept[V]:
        return value.value, value.timestamp, _own(value.headers)


class SessionStoreWithHeaders(SessionStore[K, AggregationWithHeaders[V]]):
    """Values with headers, by key and session."""

    keeps_headers = True

    def __init__(
        self, supplier: StoreSupplier, key: Serde[K], value: Serde[V], *, caching: bool = False, logged: bool = True
    ) -> None:
        super().__init__(supplier, key, value, caching=caching, logged=logged)  # type: ignore[arg-type]  # see below
        self._codec = codec.aggregation_with_headers(value)

    def for_operators(self) -> SessionStore[K, V]:
        return SessionsWithoutHeaders(self)

    def set_flush_listener(self, listener: SessionListener, send_old: bool) -> None:
        def told(key: Any, start: int, end: int, new: Any, old: Any, timestamp: int, headers: Headers | None) -> None:
            listener(key, start, end, _value(new), _value(old), timestamp, headers)

        super().set_flush_listener(told, send_old)

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        return (record[:3] for record in self.header_log_records(changes, time))

    def header_log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterator[HeaderLogRecord]:
        for key, data, end in self._rows.log_records(changes):
            plain, headers = split_headers(data)
            yield key, plain, end, headers

    def apply_records(self, records: Iterable[LogRecord]) -> None:
        self.apply_header_records((*record, None) for record in records)

    def apply_header_records(self, records: Iterable[HeaderLogRecord]) -> None:
        self.apply_changes((key, join_headers(value, headers)) for key, value, _, headers in records)


class SessionsWithoutHeaders(SessionStore[K, V]):
    """A session store with headers, seen without them. What is written has those of its record.

    It is the same store: opening, flushing and closing is the other one's business.
    """

    def __init__(self, store: SessionStoreWithHeaders[K, V]) -> None:
        serde: Serde[Any] = store._codec.serde
        super().__init__(store._supplier, store._key, serde, logged=store.logged)
        self._store = store
        self._context = store._context
        self.cached = store.cached

    def init(self, context: StoreContext) -> None:
        raise AssertionError("the store is open already")

    def write(self, key: K, start: int, end: int, value: V | None, headers: Headers | None = None) -> None:
        kept = None if value is None else AggregationWithHeaders(value, _own(headers) or Headers())
        self._store.write(key, start, end, kept, headers)

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        found = self._store.fetch_session(key, start, end)
        return None if found is None else found.aggregation

    def find_sessions(
        self, key: K, earliest_end: int, latest_start: int, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        return _plain(self._store.find_sessions(key, earliest_end, latest_start, reverse))

    def fetch_keys(
        self, low: K | None = None, high: K | None = None, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        return _plain(self._store.fetch_keys(low, high, reverse))

    def find_sessions_ending(
        self, earliest_end: int, latest_end: int, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        return _plain(self._store.find_sessions_ending(earliest_end, latest_end, reverse))


def _plain(found: Iterator[tuple[Windowed[K], AggregationWithHeaders[V]]]) -> Iterator[tuple[Windowed[K], V]]:
    return ((session, kept.aggregation) for session, kept in found)


def _rows(records: Iterable[HeaderLogRecord]) -> Iterator[tuple[bytes, bytes | None]]:
    for key, value, timestamp, headers in records:
        binary, data = join_timestamped(key, value, timestamp)
        yield binary, join_headers(data, headers)


def _own(headers: Headers | None) -> Headers | None:
    """Headers as they are now; those of a record may be changed further down."""
    return headers.copy() if headers else None


def _value(item: Any) -> Any:
    return None if item is None else item[0]


def _shown(item: Kept[V]) -> ValueTimestampHeaders[V]:
    value, timestamp, headers = item
    return ValueTimestampHeaders(value, timestamp, headers or Headers())


def _folded(
    before: tuple[Any, int] | None,
    initializer: Callable[[], Any],
    aggregator: Callable[[Any, Any, Any], Any],
    key: Any,
    value: Any,
    timestamp: int,
) -> tuple[Any, int]:
    """The new aggregate, and its time."""
    if before is None:
        return aggregator(key, value, initializer()), timestamp
    new = aggregator(key, value, before[0])
    # A deletion is as old as the record that made it, a value as its newest record.
    return new, timestamp if new is None else max(timestamp, before[1])
