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
#: Where a row is in the order of its table.
Order = Callable[[bytes, int, int], Any]
_Place = tuple[int, int, bytes]


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
    """Rows in a dict, with sorted lists of the times of each key and of all.

    Rows come nearly sorted by time, so that inserting into a sorted list is nearly always appending to it.

    Args:
        suffix: the binary layout of time and number.
        segment_ms: the length of a segment.
        number_first: see `time_order`.
    """

    def __init__(self, suffix: Struct, segment_ms: int, number_first: bool) -> None:
        # One tuple (time, number, key) stands for a row everywhere.
        self._values: dict[_Place, bytes] = {}
        self._of_key: dict[bytes, list[_Place]] = {}
        self._times: list[int] = []
        # Of each time its row, or its rows if there are several: records of a join seldom share a millisecond.
        self._at: dict[int, _Place | dict[_Place, None]] = {}
        self._segment_order = segment_order(segment_ms, suffix)
        self._time_order = time_order(suffix, number_first)

    def get(self, key: bytes, time: int, number: int) -> bytes | None:
        return self._values.get((time, number, key))

    def put(self, key: bytes, time: int, number: int, value: bytes) -> None:
        place = time, number, key
        if place not in self._values:
            self._insert(place)
        self._values[place] = value

    def _insert(self, place: _Place) -> None:
        time, _, key = place
        places = self._of_key.get(key)
        if places is None:
            self._of_key[key] = [place]
        elif places[-1] < place:
            places.append(place)
        else:
            insort(places, place)
        there = self._at.get(time)
        if there is None:
            self._at[time] = place
            times = self._times
            if not times or times[-1] < time:
                times.append(time)
            else:
                insort(times, time)
        elif isinstance(there, tuple):
            self._at[time] = {there: None, place: None}
        else:
            there[place] = None

    def delete(self, key: bytes, time: int, number: int) -> None:
        place = time, number, key
        if self._values.pop(place, None) is None:
            return
        places = self._of_key[key]
        if len(places) == 1:
            del self._of_key[key]
        else:
            del places[bisect_left(places, place)]
        there = self._at[time]
        if isinstance(there, dict):
            del there[place]
            if there:
                return
        del self._at[time]
        del self._times[bisect_left(self._times, time)]

    def of_key(self, key: bytes, earliest: int, latest: int, reverse: bool = False) -> Iterator[tuple[int, int, bytes]]:
        places = self._of_key.get(key)
        if places is None:
            return iter(())
        found = places[bisect_left(places, (earliest,)) : bisect_left(places, (latest + 1,))]
        if reverse:
            found.reverse()
        return self._rows_of(found)

    def _rows_of(self, places: list[_Place]) -> Iterator[tuple[int, int, bytes]]:
        get = self._values.get
        for place in places:
            value = get(place)
            if value is not None:  # it may have gone since
                yield place[0], place[1], value

    def _between(self, earliest: int, latest: int) -> Iterator[Row]:
        times, values = self._times, self._values
        for time in times[bisect_left(times, earliest) : bisect_left(times, latest + 1)]:
            there = self._at[time]
            for place in (there,) if isinstance(there, tuple) else there:
                yield place[2], time, place[1], values[place]

    def by_time(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        order = self._time_order
        return iter(sorted(self._between(earliest, latest), key=lambda row: order(*row[:3]), reverse=reverse))

    def by_segment(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        order = self._segment_order
        return iter(sorted(self._between(earliest, latest), key=lambda row: order(*row[:3]), reverse=reverse))

    def rows(self) -> Iterator[Row]:
        for (time, number, key), value in list(self._values.items()):
            yield key, time, number, value

    def drop_before(self, time: int) -> None:
        times = self._times
        gone = bisect_left(times, time)
        keys: set[bytes] = set()
        for expired in times[:gone]:
            there = self._at.pop(expired)
            for place in (there,) if isinstance(there, tuple) else there:
                del self._values[place]
                keys.add(place[2])
        del times[:gone]
        for key in keys:
            places = self._of_key[key]
            del places[: bisect_left(places, (time,))]
            if not places:
                del self._of_key[key]

    def __len__(self) -> int:
        return len(self._values)

    def read_note(self) -> bytes | None:
        return None

    def write_note(self, note: bytes) -> None:
        """Nothing outlives the process."""

    def sync(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self._values.clear()
        self._of_key.clear()
        self._times.clear()
        self._at.clear()
