"""Tables of rows that have a key, a time and a number.

Windows have their start as time and the number of a duplicate as number; sessions have their end as time and their
start as number; versions have their timestamp as time.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any

#: key, time, number, value
Row = tuple[bytes, int, int, bytes]
#: Where a row is in the order of its table.
Order = Callable[[bytes, int, int], Any]
#: Earlier than any time.
BEFORE_ALL = -(1 << 63)
#: Bytes that a row takes beside its value: a tuple, two numbers, the value's head, places in a list and a set.
_ROW_OVERHEAD = 260
#: Bytes that a key takes beside itself: its head, a list, a place in a dict.
_KEY_OVERHEAD = 240


class TimeTable(ABC):
    """Rows by key and time, or by time alone."""

    @abstractmethod
    def get(self, key: bytes, time: int, number: int) -> bytes | None:
        """One row's value."""

    @abstractmethod
    def put(self, key: bytes, time: int, number: int, value: bytes) -> None:
        """Set a row."""

    @abstractmethod
    def delete(self, key: bytes, time: int, number: int) -> None:
        """Remove a row, if it is there."""

    @abstractmethod
    def of_key(self, key: bytes, earliest: int, latest: int, reverse: bool = False) -> Iterator[tuple[int, int, bytes]]:
        """(time, number, value) of a key's rows with `earliest <= time <= latest`, by time, then number."""

    def list_of_key(self, key: bytes, earliest: int, latest: int) -> list[tuple[int, int, bytes]]:
        """What `of_key` gives, as a list."""
        return list(self.of_key(key, earliest, latest))

    @abstractmethod
    def by_time(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        """Rows of all keys by time, then in the order of `time_order`."""

    @abstractmethod
    def by_segment(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        """Rows of all keys by segment, then by the bytes of key, time and number."""

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """All rows, in any order."""

    @abstractmethod
    def drop_before(self, time: int) -> None:
        """Remove all rows with an earlier time."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows; an estimate where counting would mean reading them all."""

    @abstractmethod
    def read_note(self) -> bytes | None:
        """What `write_note` kept, if it was on disk."""

    @abstractmethod
    def write_note(self, note: bytes) -> None:
        """Keep a few bytes beside the rows, which begin with the latest time of one."""

    @abstractmethod
    def sync(self) -> None:
        """Hand buffered writes to the operating system."""

    @abstractmethod
    def close(self) -> None:
        """Free what the table holds."""

    def close_complete(self, note: bytes) -> str | None:
        """Free what the table holds, but leave a database with all rows and a note.

        Answers where; None if there is none.
        """
        self.close()
        return None


def segment_order(segment_ms: int, suffix: Struct) -> Order:
    """The place of a row in `by_segment`."""
    return lambda key, time, number: (time // segment_ms, key + suffix.pack(time, number))


def time_order(suffix: Struct, number_first: bool) -> Order:
    """The place of a row in `by_time`: key before number, or the other way round (sessions in RocksDB)."""
    if number_first:
        return lambda key, time, number: (time, number, key)
    return lambda key, time, number: (time, key + suffix.pack(0, number))


class MemoryTimeTable(TimeTable):
    """Rows in a sorted list for each key, and the keys of each short span of time.

    Rows come nearly sorted by time, so that inserting into a sorted list is nearly always appending to it.

    A subclass may keep rows before a time (`_cut`) elsewhere, and make room when `_bytes` is greater than `_most`. That
    is asked here and not in methods around these, as every record of a join gets here.

    Args:
        suffix: the binary layout of time and number.
        segment_ms: the length of a segment.
        number_first: see `time_order`.
        span_ms: the length of the spans. Rows go, and are found by time, a span at a time.
    """

    def __init__(self, suffix: Struct, segment_ms: int, number_first: bool, span_ms: int) -> None:
        self._rows: dict[bytes, list[tuple[int, int, bytes]]] = {}
        self._count = 0
        self._cut = BEFORE_ALL
        #: An estimate of what the rows take, and the most they may take.
        self._bytes = 0
        self._most = sys.maxsize
        self._span_ms = span_ms
        #: The keys that have rows in a span; the spans in order; and the one written to last.
        self._keys_in: dict[int, set[bytes]] = {}
        self._spans: list[int] = []
        self._last_span = -1
        self._last_keys: set[bytes] = set()
        self._segment_order = segment_order(segment_ms, suffix)
        self._time_order = time_order(suffix, number_first)

    def get(self, key: bytes, time: int, number: int) -> bytes | None:
        rows = self._rows.get(key)
        if rows is None:
            return None
        at = bisect_left(rows, (time, number))
        if at < len(rows):
            row = rows[at]
            if row[0] == time and row[1] == number:
                return row[2]
        return None

    def put(self, key: bytes, time: int, number: int, value: bytes) -> None:
        if time < self._cut:
            self._put_before_cut(key, time, number, value)
            return
        row = time, number, value
        rows = self._rows.get(key)
        if rows is None:
            self._rows[key] = [row]
            self._bytes += _KEY_OVERHEAD + len(key)
        elif rows[-1] < row and (rows[-1][0] < time or rows[-1][1] < number):
            rows.append(row)
        else:
            at = bisect_left(rows, (time, number))
            if at < len(rows) and rows[at][0] == time and rows[at][1] == number:
                self._bytes += len(value) - len(rows[at][2])
                rows[at] = row
                return
            rows.insert(at, row)
        self._count += 1
        self._bytes += _ROW_OVERHEAD + len(value)
        span = time // self._span_ms
        if span != self._last_span:
            self._enter(span)
        self._last_keys.add(key)
        if self._bytes > self._most:
            self._make_room()

    def _put_before_cut(self, key: bytes, time: int, number: int, value: bytes) -> None:
        raise AssertionError("there is no cut")

    def _make_room(self) -> None:
        raise AssertionError("there is no bound")

    def _enter(self, span: int) -> None:
        keys = self._keys_in.get(span)
        if keys is None:
            keys = self._keys_in[span] = set()
            insort(self._spans, span)
        self._last_span, self._last_keys = span, keys

    def delete(self, key: bytes, time: int, number: int) -> None:
        rows = self._rows.get(key)
        if rows is None:
            return
        at = bisect_left(rows, (time, number))
        if at < len(rows) and rows[at][0] == time and rows[at][1] == number:
            self._forget(key, rows, at, at + 1)
            span = time // self._span_ms
            beside = rows[max(0, at - 1) : at + 1]
            if all(row[0] // self._span_ms != span for row in beside):
                self._leave(span, key)

    def _leave(self, span: int, key: bytes) -> None:
        """A key has no rows in a span any more."""
        keys = self._keys_in[span]
        keys.discard(key)
        if not keys:
            del self._keys_in[span]
            del self._spans[bisect_left(self._spans, span)]
            if span == self._last_span:
                self._last_span = -1

    def _forget(self, key: bytes, rows: list[tuple[int, int, bytes]], start: int, end: int) -> None:
        """Remove some of a key's rows."""
        self._count -= end - start
        self._bytes -= sum([_ROW_OVERHEAD + len(row[2]) for row in rows[start:end]])
        del rows[start:end]
        if not rows:
            del self._rows[key]
            self._bytes -= _KEY_OVERHEAD + len(key)

    def of_key(self, key: bytes, earliest: int, latest: int, reverse: bool = False) -> Iterator[tuple[int, int, bytes]]:
        found = self._in_memory(key, earliest, latest)
        return reversed(found) if reverse else iter(found)

    def list_of_key(self, key: bytes, earliest: int, latest: int) -> list[tuple[int, int, bytes]]:
        if earliest < self._cut:
            return list(self.of_key(key, earliest, latest))
        rows = self._rows.get(key)
        if rows is None:
            return []
        start = 0 if rows[0][0] >= earliest else bisect_left(rows, (earliest,))
        if rows[-1][0] <= latest:
            return rows[start:]
        return rows[start : bisect_left(rows, (latest + 1,))]

    def _in_memory(self, key: bytes, earliest: int, latest: int) -> list[tuple[int, int, bytes]]:
        return self.list_of_key(key, max(earliest, self._cut), latest)

    def _between(self, earliest: int, latest: int) -> Iterator[Row]:
        spans, keys_in = self._spans, self._keys_in
        first = bisect_left(spans, earliest // self._span_ms)
        end = bisect_left(spans, latest // self._span_ms + 1)
        keys = set[bytes]().union(*[keys_in[span] for span in spans[first:end]])
        for key in keys:
            for time, number, value in self._in_memory(key, earliest, latest):
                yield key, time, number, value

    def by_time(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        order = self._time_order
        return iter(sorted(self._between(earliest, latest), key=lambda row: order(*row[:3]), reverse=reverse))

    def by_segment(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        order = self._segment_order
        return iter(sorted(self._between(earliest, latest), key=lambda row: order(*row[:3]), reverse=reverse))

    def rows(self) -> Iterator[Row]:
        for key in list(self._rows):
            for time, number, value in self._rows.get(key, ())[:]:
                yield key, time, number, value

    def drop_before(self, time: int) -> None:
        for _ in self._take_before(time):
            pass

    def _take_before(self, time: int) -> Iterator[tuple[bytes, list[tuple[int, int, bytes]]]]:
        """Remove a key's rows of earlier times, key by key, and hand them out."""
        spans, keys_in = self._spans, self._keys_in
        span = time // self._span_ms
        gone = bisect_left(spans, span)
        keys = set[bytes]().union(*[keys_in.pop(span) for span in spans[:gone]])
        if time % self._span_ms and gone < len(spans) and spans[gone] == span:
            keys |= keys_in[span]
        del spans[:gone]
        if self._last_span < span:
            self._last_span = -1
        for key in keys:
            rows = self._rows.get(key)
            if rows is not None:
                end = bisect_left(rows, (time,))
                if end:
                    taken = rows[:end]
                    self._forget(key, rows, 0, end)
                    yield key, taken

    def __len__(self) -> int:
        return self._count

    def read_note(self) -> bytes | None:
        return None

    def write_note(self, note: bytes) -> None:
        """Nothing outlives the process."""

    def sync(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self._rows.clear()
        self._keys_in.clear()
        self._spans.clear()
        self._last_span = -1
