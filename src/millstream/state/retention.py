"""Rows that expire on the store's own clock: what window and session stores are kept in.

The clock of a store is the latest time written to it, and it never goes back. A row expires when its time is not later
than the clock minus the retention. There are two families, and results depend on the difference, as in Kafka Streams:

- *in memory*: an expired row is gone; writing one is refused, and counted as dropped.
- *persistent*: rows are kept in segments, and go when their whole segment is expired. Until then an expired row can be
  written, but is not read. Time-ordered window stores still show the time that expires right now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from struct import Struct
from typing import Generic, TypeVar

from millstream.records import NO_TIMESTAMP
from millstream.serdes import Serde
from millstream.state.backends.choice import open_table
from millstream.state.backends.timetable import Order, Row, TimeTable, segment_order, time_order
from millstream.state.codec import Codec
from millstream.state.layout import CLOCK_KEY, MAX_SEQUENCE, SESSION_SUFFIX, WINDOW_SUFFIX
from millstream.state.store import LogEntry, LogRecord, StoreContext
from millstream.state.suppliers import StoreSupplier

#: Rows go, in memory, in spans of this part of their retention or segment.
_SPANS = 16

K = TypeVar("K")
T = TypeVar("T")


class ExpiringRows(Generic[K, T]):
    """The rows of a window or session store, their clock, and the log of their changes.

    Args:
        supplier: retention and family.
        key: the serde of the keys.
        codec: the layout of the values.
        suffix: the layout of a row's time and number: `WINDOW_SUFFIX` or `SESSION_SUFFIX`.
        context: the task.
        logged: keep changes.
    """

    def __init__(
        self,
        supplier: StoreSupplier,
        key: Serde[K],
        codec: Codec[T],
        suffix: Struct,
        context: StoreContext,
        *,
        logged: bool,
    ) -> None:
        self.key = key
        self.codec = codec
        self.persistent = supplier.persistent
        self.changes: dict[bytes, bytes | None] | None = {} if logged else None
        self.clock = NO_TIMESTAMP
        self._name = supplier.name
        self._context = context
        self._retention = supplier.required("retention_ms")
        self._segment_ms = supplier.segment_ms()
        self._suffix = suffix
        self._duplicates = supplier.retain_duplicates
        self._sequence = 0
        self._clock_due = False
        self._shows_expiring = supplier.time_ordered and supplier.persistent and suffix is WINDOW_SUFFIX
        #: The earliest time that can be written, and the earliest that can be read.
        self._floor = self._horizon = 0
        # In memory rows expire one by one, and are taken out several at a time.
        self._dropped = 0
        self._drop_step = max(1, self._retention // _SPANS) if self._segment_ms is None else 1
        number_first = supplier.persistent and suffix is SESSION_SUFFIX
        segment_ms = self._segment_ms or 1
        self.segment_order: Order = segment_order(segment_ms, suffix)
        self.time_order: Order = time_order(suffix, number_first)
        self.table: TimeTable = open_table(
            context,
            supplier.name,
            supplier.persistent,
            suffix,
            segment_ms=segment_ms,
            span_ms=max(1, (self._segment_ms or self._retention) // _SPANS),
            number_first=number_first,
            time_index=supplier.time_ordered,
        )
        note = self.table.read_note()
        if note is not None:
            self._restore_clock(note)

    def _advance(self, time: int) -> None:
        self.clock = time
        expired = time - self._retention
        self._horizon = expired if self._shows_expiring else expired + 1
        floor = expired + 1 if self._segment_ms is None else expired // self._segment_ms * self._segment_ms
        if floor > self._floor:
            self._floor = floor
            if floor - self._dropped >= self._drop_step:
                self._dropped = floor
                self.table.drop_before(floor)

    @property
    def horizon(self) -> int:
        """The earliest time that can be read."""
        return self._horizon

    def next_number(self) -> int:
        """The number of the next duplicate."""
        self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        return self._sequence

    def get(self, key: K, time: int, number: int) -> bytes | None:
        """A row's bytes, unless it has expired."""
        if time < self._horizon:
            return None
        return self.table.get(self.key.serialize(key), time, number)

    def put(self, key: K, time: int, number: int, item: T | None) -> bytes | None:
        """Set a row, or remove it (None). Returns the bytes of the item."""
        try:
            binary = self.key.serialize(key)
        except Exception as error:
            raise self.key.serialization_error(key, error) from error
        data: bytes | None = None
        if item is not None:
            try:
                data = self.codec.encode(item)
            except Exception as error:
                raise self.codec.serde.serialization_error(item, error) from error
        if self.changes is not None:
            self.changes[binary + self._suffix.pack(time, number)] = data
        if time > self.clock:
            self._advance(time)
        if time < self._floor:
            self._clock_due |= time == self.clock
            if data is not None or self._suffix is WINDOW_SUFFIX:  # removing an expired session is no loss
                self._drop(time)
        elif data is None:
            self._clock_due |= time == self.clock
            self.table.delete(binary, time, number)
        else:
            self.table.put(binary, time, number, data)
        return data

    def adding(self) -> Callable[[K, T, int], None]:
        """`add(key, item, time)`: a `put` under the next number, for stores that keep duplicates."""
        serialize, encode, pack, put = self.key.serialize, self.codec.encode, self._suffix.pack, self.table.put

        def add(key: K, item: T, time: int) -> None:
            try:
                binary = serialize(key)
            except Exception as error:
                raise self.key.serialization_error(key, error) from error
            try:
                data = encode(item)
            except Exception as error:
                raise self.codec.serde.serialization_error(item, error) from error
            number = self._sequence = (self._sequence + 1) & MAX_SEQUENCE
            if self.changes is not None:
                self.changes[binary + pack(time, number)] = data
            if time > self.clock:
                self._advance(time)
            if time < self._floor:
                self._clock_due |= time == self.clock
                self._drop(time)
            else:
                put(binary, time, number, data)

        return add

    def finding(self) -> Callable[[K, int, int], list[tuple[int, T]]]:
        """`find(key, earliest, latest)`: (time, item) of a key's rows that have not expired, by time, then number."""
        serialize, decode, list_of_key = self.key.serialize, self.codec.decode, self.table.list_of_key

        def find(key: K, earliest: int, latest: int) -> list[tuple[int, T]]:
            horizon = self._horizon
            rows = list_of_key(serialize(key), earliest if earliest > horizon else horizon, latest)
            return [(row[0], decode(row[2])) for row in rows] if rows else []

        return find

    def pass_over(self, key: K, time: int) -> None:
        """Take note of a None among duplicates: there is no row it could delete, but Kafka Streams logs it.

        In memory the clock moves, and an expired time counts as dropped.
        """
        if self.changes is not None:
            self.changes[self.key.serialize(key) + self._suffix.pack(time, self.next_number())] = None
        if self.persistent:
            return
        if time > self.clock:
            self._advance(time)
        self._clock_due |= time == self.clock
        if time < self._floor:
            self._drop(time)

    def _drop(self, time: int) -> None:
        self._context.drop(self._name, f"the store keeps {self._retention} ms, and {time} has expired")

    def of_key(self, key: K, earliest: int, latest: int, reverse: bool) -> Iterator[tuple[int, int, bytes]]:
        """(time, number, bytes) of a key's rows that have not expired, by time, then number."""
        return self.table.of_key(self.key.serialize(key), max(earliest, self._horizon), latest, reverse)

    def scan(
        self, earliest: int, latest: int, low: bytes | None, high: bytes | None, reverse: bool, *, by_time: bool
    ) -> Iterator[Row]:
        """Rows of the keys `low <= key <= high` that have not expired, by time or by segment."""
        earliest = max(earliest, self._horizon)
        rows = self.table.by_time if by_time else self.table.by_segment
        return within(rows(earliest, latest, reverse), low, high)

    def sync(self) -> None:
        """Hand everything to the operating system, the clock too."""
        self.table.write_note(self._note())
        self.table.sync()

    def _note(self) -> bytes:
        return WINDOW_SUFFIX.pack(self.clock, self._sequence)

    def close(self) -> None:
        """Free what the rows hold."""
        self.sync()
        self.table.close()

    def close_complete(self) -> str | None:
        """See `StateStore`."""
        return self.table.close_complete(self._note())

    def take_changes(self) -> dict[bytes, bytes | None]:
        """The changes since the last call, and the clock where the changed rows that are left do not tell it."""
        changes = self.changes
        if changes is None:
            return {}
        if self._clock_due:
            changes[CLOCK_KEY] = WINDOW_SUFFIX.pack(self.clock, self._sequence)
            self._clock_due = False
        self.changes = {}
        return changes

    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        """Redo changes without logging them. What has expired by the end is skipped."""
        size, unpack = self._suffix.size, self._suffix.unpack_from
        windows = self._suffix is WINDOW_SUFFIX
        # Among duplicates nothing is deleted, and on disk a None does not move the clock.
        passed_over = self._duplicates and self.persistent
        rows: list[tuple[bytes, int, int, bytes | None]] = []
        clock = self.clock
        for binary, data in changes:
            if binary == CLOCK_KEY:
                if data is not None:
                    self._restore_clock(data)
                continue
            if data is None and passed_over:
                continue
            end = len(binary) - size
            time, number = unpack(binary, end)
            if time > clock:
                clock = time
            if windows and number > self._sequence:
                self._sequence = number
            rows.append((binary[:end], time, number, data))
        if clock > self.clock:
            self._advance(clock)
        table, floor = self.table, self._floor
        for key, time, number, data in rows:
            if time >= floor:
                if data is None:
                    table.delete(key, time, number)
                else:
                    table.put(key, time, number, data)

    def log_records(self, changes: Mapping[bytes, bytes | None]) -> Iterator[LogRecord]:
        """Changes as records of a changelog, which are as old as their rows and go when these are long gone.

        Their values are as they are in the rows.
        """
        size, unpack = self._suffix.size, self._suffix.unpack_from
        for binary, data in changes.items():
            if binary != CLOCK_KEY:
                yield binary, data, max(0, unpack(binary, len(binary) - size)[0])

    def clock_change(self) -> LogEntry | None:
        """The clock, as a change; None before the first row."""
        return None if self.clock < 0 else (CLOCK_KEY, WINDOW_SUFFIX.pack(self.clock, self._sequence))

    def _restore_clock(self, note: bytes) -> None:
        clock, sequence = WINDOW_SUFFIX.unpack(note)
        if clock > self.clock:
            self._advance(clock)
        self._sequence = max(self._sequence, sequence)

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        """The clock and all rows."""
        if self.clock >= 0:
            yield CLOCK_KEY, WINDOW_SUFFIX.pack(self.clock, self._sequence)
        pack = self._suffix.pack
        floor = self._floor
        for key, time, number, value in self.table.rows():
            if time >= floor:
                yield key + pack(time, number), value


def within(rows: Iterator[Row], low: bytes | None, high: bytes | None) -> Iterator[Row]:
    """The rows whose key is between two keys, both included; None leaves an end open."""
    if low is None and high is None:
        return rows
    return (row for row in rows if (low is None or low <= row[0]) and (high is None or row[0] <= high))
