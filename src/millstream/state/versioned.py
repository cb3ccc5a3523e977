"""The versioned key-value store: what a key's value was at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from millstream.errors import ArgumentError
from millstream.records import MAX_TIMESTAMP, NO_TIMESTAMP, Headers
from millstream.serdes import Serde
from millstream.state.backends.choice import open_table
from millstream.state.backends.timetable import TimeTable
from millstream.state.layout import CLOCK_KEY, LONG, WINDOW_SUFFIX
from millstream.state.store import LATEST, NOT_STORED, KeyValueListener, LogEntry, LogRecord, StateStore, StoreContext
from millstream.state.suppliers import StoreSupplier

K = TypeVar("K")
V = TypeVar("V")

#: A version is a byte and a value. A deletion is a version too, one that was the latest when it came, or was not.
_DELETED_LAST, _VALUE, _DELETED_BEFORE = b"\x00", b"\x01", b"\x02"
_DELETED = (_DELETED_LAST, _DELETED_BEFORE)
#: Rows are not cut into segments by their own time: a version goes when the next one is old.
_ONE_SEGMENT = MAX_TIMESTAMP
#: Old versions are looked for after so many writes at the earliest.
_SWEEP_AFTER = 1024


class VersionedRecord(NamedTuple, Generic[V]):
    """A version of a value: valid from `timestamp` until before `valid_to`; None: to this day."""

    value: V
    timestamp: int
    valid_to: int | None = None


class VersionedKeyValueStore(StateStore, Generic[K, V]):
    """Values by key and time, as far back as the history retention on the store's own clock. Never cached.

    The clock is the latest timestamp written. The latest version of a key never expires.

    Args:
        supplier: the history retention, and where rows are kept.
        key: the serde of the keys.
        value: the serde of the values.
        logged: keep changes.
    """

    cached = False

    def __init__(self, supplier: StoreSupplier, key: Serde[K], value: Serde[V], *, logged: bool = True) -> None:
        super().__init__(supplier.name)
        self.logged = logged
        self.history_retention_ms = supplier.required("history_retention_ms")
        self._supplier = supplier
        self._segment_ms = supplier.version_segment_ms()
        self._key = key
        self._value = value
        self._changes: dict[bytes, bytes | None] = {}
        self._clock = NO_TIMESTAMP
        self._clock_due = False
        self._writes = 0
        self._context: StoreContext
        self._table: TimeTable

    def init(self, context: StoreContext) -> None:
        self._context = context
        self._table = open_table(
            context,
            self.name,
            self._supplier.persistent,
            WINDOW_SUFFIX,
            segment_ms=_ONE_SEGMENT,
            span_ms=self._segment_ms,
        )
        note = self._table.read_note()
        if note is not None:
            self._clock = LONG.unpack(note)[0]

    def set_flush_listener(self, listener: KeyValueListener, send_old: bool) -> None:
        """There is no cache, and so never anything to tell."""

    def read(self, key: K) -> tuple[V, int] | None:
        """The latest value and its timestamp, or None if there is none or it is deleted."""
        return self._at(self._key.serialize(key), MAX_TIMESTAMP)

    def read_as_of(self, key: K, timestamp: int) -> tuple[V, int] | None:
        """The value valid at a time, and its timestamp. Beyond the history only the latest version is found."""
        binary = self._key.serialize(key)
        if timestamp < self._clock - self.history_retention_ms:
            latest = self._at(binary, MAX_TIMESTAMP)
            return latest if latest is not None and latest[1] <= timestamp else None
        return self._at(binary, timestamp)

    def _at(self, binary: bytes, timestamp: int) -> tuple[V, int] | None:
        for found, _, data in self._table.of_key(binary, 0, timestamp, True):
            return None if data in _DELETED else (self._value.deserialize(data[1:]), found)
        return None

    def _next(self, binary: bytes, timestamp: int) -> int | None:
        """The timestamp of the version after that time."""
        found = next(self._table.of_key(binary, timestamp + 1, MAX_TIMESTAMP), None)
        return None if found is None else found[0]

    def write(self, key: K, value: V | None, timestamp: int, headers: Headers | None = None) -> int:
        """Add a version, or a deletion (None).

        Returns:
            `NOT_STORED` if it is older than the history; `LATEST`; or the time from which another version is valid.
        """
        if timestamp < self._clock - self.history_retention_ms:
            self._context.drop(self.name, f"{timestamp} is older than the history of {self.history_retention_ms} ms")
            return NOT_STORED
        self._clock = max(self._clock, timestamp)
        try:
            binary = self._key.serialize(key)
        except Exception as error:
            raise self._key.serialization_error(key, error) from error
        data: bytes | None = None
        if value is not None:
            try:
                data = self._value.serialize(value)
            except Exception as error:
                raise self._value.serialization_error(value, error) from error
        return self._add(binary, data, timestamp)

    def _add(self, binary: bytes, data: bytes | None, timestamp: int) -> int:
        """Add a version as bytes, or a deletion (None); answers as `write` does."""
        following = self._next(binary, timestamp)
        if data is not None:
            self._set(binary, timestamp, _VALUE + data)
        elif following is not None:
            self._set(binary, timestamp, _DELETED_BEFORE)
        else:
            self._set(binary, timestamp, None if self._leaves_no_trace(binary, timestamp) else _DELETED_LAST)
        self._writes += 1
        if self._writes >= _SWEEP_AFTER and self._writes * 2 >= len(self._table):
            self._sweep()
        return LATEST if following is None else following

    def _leaves_no_trace(self, binary: bytes, timestamp: int) -> bool:
        """Whether the latest version is deleted at its own timestamp, with no value before it.

        Kafka Streams then keeps nothing at that time, and a version that comes later with an earlier timestamp is the
        latest one.
        """
        existing = self._table.get(binary, timestamp, 0)
        if existing is None or existing in _DELETED:
            return False
        previous = next(self._table.of_key(binary, 0, timestamp - 1, True), None)
        return previous is None or previous[2] == _DELETED_LAST

    def _set(self, binary: bytes, timestamp: int, data: bytes | None) -> None:
        if self.logged:
            self._changes[binary + LONG.pack(timestamp)] = data
        if data is None:
            self._clock_due |= timestamp == self._clock
            self._table.delete(binary, timestamp, 0)
        else:
            self._table.put(binary, timestamp, 0, data)

    def _floor(self) -> int:
        """Versions that are not valid until then are gone."""
        return (self._clock - self.history_retention_ms) // self._segment_ms * self._segment_ms

    def _sweep(self) -> None:
        """Free old versions. Each sweep is paid for by as many writes, so that a write costs little."""
        self._writes = 0
        floor = self._floor()
        old: dict[bytes, list[tuple[int, bool]]] = {}
        for key, time, _, data in self._table.rows():
            if time < floor:
                old.setdefault(key, []).append((time, data in _DELETED))
        for key, versions in old.items():
            *superseded, (last, deleted) = sorted(versions)
            for time, _ in superseded:  # valid until another old version
                self._table.delete(key, time, 0)
            if deleted and self._next(key, last) is None:
                self._table.delete(key, last, 0)

    def get(self, key: K, as_of: int | None = None) -> VersionedRecord[V] | None:
        """The latest version, or the one valid at a time; None if there is none or it is a deletion."""
        self._check(key)
        found = self.read(key) if as_of is None else self.read_as_of(key, as_of)
        if found is None:
            return None
        valid_to = None if as_of is None else self._next(self._key.serialize(key), found[1])
        return VersionedRecord(found[0], found[1], valid_to)

    def put(self, key: K, value: V | None, timestamp: int) -> int:
        """Add a version; see `write`."""
        self._check(key)
        return self.write(key, value, timestamp)

    def delete(self, key: K, timestamp: int) -> VersionedRecord[V] | None:
        """Delete a key as of a time. Returns the version that was valid then; None also if the time is too old."""
        self._check(key)
        found = self.get(key, timestamp) if timestamp >= self._clock - self.history_retention_ms else None
        self.write(key, None, timestamp)
        return found

    def versions(
        self, key: K, earliest: int | None = None, latest: int | None = None, reverse: bool = False
    ) -> Iterator[VersionedRecord[V]]:
        """A key's versions that are valid at some time from `earliest` to `latest`, both included, without deletions.

        By timestamp; `reverse` gives the latest first.
        """
        self._check(key)
        low = 0 if earliest is None else earliest
        high = MAX_TIMESTAMP if latest is None else latest
        floor = self._floor()
        rows: list[tuple[int, int, bytes]] = list(self._table.of_key(self._key.serialize(key), 0, MAX_TIMESTAMP))
        found = []
        for index, (time, _, data) in enumerate(rows):
            valid_to = rows[index + 1][0] if index + 1 < len(rows) else None
            if time > high or data in _DELETED or (valid_to is not None and (valid_to <= low or valid_to < floor)):
                continue
            if valid_to is not None and high < self._clock - self.history_retention_ms:
                continue  # beyond the history only the latest version is shown
            found.append(VersionedRecord(self._value.deserialize(data[1:]), time, valid_to))
        return iter(found[::-1] if reverse else found)

    def _check(self, key: Any) -> None:
        if key is None:
            raise ArgumentError(f"store '{self.name}' takes no None as a key")

    def flush(self) -> None:
        self._table.write_note(LONG.pack(self._clock))
        self._table.sync()

    def close(self) -> None:
        self.flush()
        self._table.close()

    def close_complete(self) -> str | None:
        return self._table.close_complete(LONG.pack(self._clock))

    def take_changes(self) -> dict[bytes, bytes | None]:
        changes, self._changes = self._changes, {}
        if self._clock_due:
            changes[CLOCK_KEY] = LONG.pack(self._clock)
            self._clock_due = False
        return changes if self.logged else {}

    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        for binary, data in changes:
            if binary == CLOCK_KEY:
                if data is not None:
                    self._clock = max(self._clock, LONG.unpack(data)[0])
                continue
            key, timestamp = binary[:-8], LONG.unpack_from(binary, len(binary) - 8)[0]
            self._clock = max(self._clock, timestamp)
            if data is None:
                self._table.delete(key, timestamp, 0)
            else:
                self._table.put(key, timestamp, 0, data)

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        if self._clock >= 0:
            yield CLOCK_KEY, LONG.pack(self._clock)
        for key, timestamp, _, data in self._table.rows():
            yield key + LONG.pack(timestamp), data

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        for binary, data in changes.items():
            if binary != CLOCK_KEY:
                value = None if data is None or data in _DELETED else data[1:]
                yield binary[:-8], value, LONG.unpack_from(binary, len(binary) - 8)[0]

    def apply_records(self, records: Iterable[LogRecord]) -> None:
        logged, self.logged = self.logged, False
        try:
            for key, value, timestamp in records:
                self._clock = max(self._clock, timestamp)
                self._add(key, value, timestamp)
        finally:
            self.logged = logged

    def clock(self) -> LogEntry | None:
        return None if self._clock < 0 else (CLOCK_KEY, LONG.pack(self._clock))
