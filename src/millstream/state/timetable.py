"""Tables of rows that have a key, a time and a number.

Windows have their start as time and the number of a duplicate as number; sessions have their end as time and their
start as number; versions have their timestamp as time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any

#: key, time, number, value
Row = tuple[bytes, int, int, bytes]
Order = Callable[[bytes, int, int], Any]


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
        """Keep a few bytes beside the rows."""

    @abstractmethod
    def sync(self) -> None:
        """Hand buffered writes to the operating system."""

    @abstractmethod
    def close(self) -> None:
        """Free what the table holds."""


def segment_order(segment_ms: int, suffix: Struct) -> Order:
    """The place of a row in `by_segment`."""
    return lambda key, time, number: (time // segment_ms, key + suffix.pack(time, number))


def time_order(suffix: Struct, number_first: bool) -> Order:
    """The place of a row in `by_time`: key before number, or the other way round (sessions in RocksDB)."""
    if number_first:
        return lambda key, time, number: (time, number, key)
    return lambda key, time, number: (time, key + suffix.pack(0, number))


class MemoryTimeTable(TimeTable):
    """Rows in dicts, with sorted lists of the times of each key and of all.

    Rows come nearly sorted by time, so that inserting into a sorted list is nearly always appending to it.

    Args:
        suffix: the binary layout of time and number.
        segment_ms: the length of a segment.
        number_first: see `time_order`.
    """

    def __init__(self, suffix: Struct, segment_ms: int, number_first: bool) -> None:
        self._at: dict[int, dict[tuple[bytes, int], bytes]] = {}
        self._times: list[int] = []
        self._of_key: dict[bytes, list[tuple[int, int]]] = {}
        self._segment_order = segment_order(segment_ms, suffix)
        self._time_order = time_order(suffix, number_first)

    def get(self, key: bytes, time: int, number: int) -> bytes | None:
        rows = self._at.get(time)
        return None if rows is None else rows.get((key, number))

    def put(self, key: bytes, time: int, number: int, value: bytes) -> None:
        rows = self._at.get(time)
        if rows is None:
            rows = self._at[time] = {}
            insort(self._times, time)
        place = key, number
        if place not in rows:
            places = self._of_key.get(key)
            if places is None:
                self._of_key[key] = [(time, number)]
            else:
                insort(places, (time, number))
        rows[place] = value

    def delete(self, key: bytes, time: int, number: int) -> None:
        rows = self._at.get(time)
        if rows is None or rows.pop((key, number), None) is None:
            return
        self._forget(key, time, number)
        if not rows:
            del self._at[time]
            del self._times[bisect_left(self._times, time)]

    def _forget(self, key: bytes, time: int, number: int) -> None:
        places = self._of_key[key]
        if len(places) == 1:
            del self._of_key[key]
        else:
            del places[bisect_left(places, (time, number))]

    def of_key(self, key: bytes, earliest: int, latest: int, reverse: bool = False) -> Iterator[tuple[int, int, bytes]]:
        places = self._of_key.get(key)
        if places is None:
            return iter(())
        found: Any = places[bisect_left(places, (earliest,)) : bisect_left(places, (latest + 1,))]
        return self._values(key, reversed(found) if reverse else found)

    def _values(self, key: bytes, places: Any) -> Iterator[tuple[int, int, bytes]]:
        for time, number in places:
            value = self.get(key, time, number)
            if value is not None:  # it may have gone since
                yield time, number, value

    def _between(self, earliest: int, latest: int) -> list[Row]:
        times = self._times[bisect_left(self._times, earliest) : bisect_left(self._times, latest + 1)]
        return [(key, time, number, value) for time in times for (key, number), value in self._at[time].items()]

    def by_time(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        order = self._time_order
        return iter(sorted(self._between(earliest, latest), key=lambda row: order(*row[:3]), reverse=reverse))

    def by_segment(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        order = self._segment_order
        return iter(sorted(self._between(earliest, latest), key=lambda row: order(*row[:3]), reverse=reverse))

    def rows(self) -> Iterator[Row]:
        for time, rows in list(self._at.items()):
            for (key, number), value in list(rows.items()):
                yield key, time, number, value

    def drop_before(self, time: int) -> None:
        times = self._times
        if not times or times[0] >= time:
            return
        gone = bisect_left(times, time)
        for expired in times[:gone]:
            for key, number in self._at.pop(expired):
                self._forget(key, expired, number)
        del times[:gone]

    def __len__(self) -> int:
        return sum(map(len, self._of_key.values()))

    def read_note(self) -> bytes | None:
        return None

    def write_note(self, note: bytes) -> None:
        """Nothing outlives the process."""

    def sync(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self._at.clear()
        self._times.clear()
        self._of_key.clear()
