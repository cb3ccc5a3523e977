"""The table of rows with key, time and number, on disk.

    s  segment(8)  key  time(8)  number        value       rows, in the order of `by_segment`
    t  time(8)     key  number                 nothing     index for `by_time`, if wanted
       time(8)     number  key                             the same, where the number goes first
    n                                          note

Columns: prefix, the rest of the key, value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct

from sortedcontainers import SortedList

from millstream.records import MAX_TIMESTAMP
from millstream.state.backends.rocksdb import RocksMap
from millstream.state.backends.tiered_map import TieredMap
from millstream.state.backends.timetable import Row, TimeTable, time_order
from millstream.state.layout import LONG, after_prefix

_ROW, _INDEX, _NOTE = b"s", b"t", b"n"
_HEAD = 1 + LONG.size


class RocksTimeTable(TimeTable):
    """Rows in RocksDB, in segments: old ones are dropped by the range.

    Args:
        rows: the map that the rows are in.
        suffix: the binary layout of time and number.
        segment_ms: the length of a segment.
        number_first: see `time_order`.
        time_index: keep an index by time. Without it `by_time` has to sort.
    """

    def __init__(
        self, rows: RocksMap | TieredMap, suffix: Struct, segment_ms: int, number_first: bool, time_index: bool
    ) -> None:
        self._map = rows
        self._suffix = suffix
        self._segment_ms = segment_ms
        self._number_first = number_first
        self._time_index = time_index
        self._time_order = time_order(suffix, number_first)
        self._segments: SortedList[int] = SortedList(self._existing())

    def _existing(self) -> Iterator[int]:
        low: bytes | None = _ROW
        while low is not None:
            found = next(self._map.range(low, after_prefix(_ROW)), None)
            if found is None:
                return
            yield LONG.unpack_from(found[0], 1)[0]
            low = after_prefix(found[0][:_HEAD])

    def _row_key(self, key: bytes, time: int, number: int) -> bytes:
        return _ROW + LONG.pack(time // self._segment_ms) + key + self._suffix.pack(time, number)

    def _index_key(self, key: bytes, time: int, number: int) -> bytes:
        suffix = self._suffix.pack(time, number)
        if self._number_first:
            return _INDEX + suffix + key
        return _INDEX + suffix[:8] + key + suffix[8:]

    def get(self, key: bytes, time: int, number: int) -> bytes | None:
        return self._map.get(self._row_key(key, time, number))

    def put(self, key: bytes, time: int, number: int, value: bytes) -> None:
        segment = time // self._segment_ms
        if segment not in self._segments:
            self._segments.add(segment)
        self._map.put(self._row_key(key, time, number), value)
        if self._time_index:
            self._map.put(self._index_key(key, time, number), b"")

    def entries(self, rows: Iterable[Row]) -> Iterator[tuple[bytes, bytes]]:
        """What `put` would write for these rows, for somebody who writes it himself."""
        for key, time, number, value in rows:
            segment = time // self._segment_ms
            if segment not in self._segments:
                self._segments.add(segment)
            yield self._row_key(key, time, number), value
            if self._time_index:
                yield self._index_key(key, time, number), b""

    def delete(self, key: bytes, time: int, number: int) -> None:
        self._map.delete(self._row_key(key, time, number))
        if self._time_index:
            self._map.delete(self._index_key(key, time, number))

    def _segments_between(self, earliest: int, latest: int, reverse: bool) -> list[int]:
        length = self._segment_ms
        return list(self._segments.irange(earliest // length, latest // length, reverse=reverse))

    def of_key(self, key: bytes, earliest: int, latest: int, reverse: bool = False) -> Iterator[tuple[int, int, bytes]]:
        return self._of_key(key, earliest, latest, self._segments_between(earliest, latest, reverse), reverse)

    def _of_key(
        self, key: bytes, earliest: int, latest: int, segments: list[int], reverse: bool
    ) -> Iterator[tuple[int, int, bytes]]:
        length = _HEAD + len(key) + self._suffix.size
        from_time, to_time = LONG.pack(max(earliest, 0)), LONG.pack(latest)
        for segment in segments:
            head = _ROW + LONG.pack(segment) + key
            for row, value in self._map.range(head + from_time, after_prefix(head + to_time), reverse):
                if len(row) == length:  # others belong to longer keys that begin with this one
                    time, number = self._suffix.unpack_from(row, length - self._suffix.size)
                    yield time, number, value

    def by_time(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        if self._time_index:
            return self._by_index(earliest, latest, reverse)
        order = self._time_order
        rows = sorted(self.by_segment(earliest, latest), key=lambda row: order(*row[:3]), reverse=reverse)
        return iter(rows)

    def _by_index(self, earliest: int, latest: int, reverse: bool) -> Iterator[Row]:
        number_size = self._suffix.size - LONG.size
        low, high = _INDEX + LONG.pack(max(earliest, 0)), after_prefix(_INDEX + LONG.pack(latest))
        for index, _ in self._map.range(low, high, reverse):
            time = index[1:_HEAD]
            if self._number_first:
                number, key = index[_HEAD : _HEAD + number_size], index[_HEAD + number_size :]
            else:
                number, key = index[-number_size:], index[_HEAD:-number_size]
            at, of = self._suffix.unpack(time + number)
            value = self.get(key, at, of)
            if value is not None:
                yield key, at, of, value

    def by_segment(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        return self._by_segment(earliest, latest, self._segments_between(earliest, latest, reverse), reverse)

    def _by_segment(self, earliest: int, latest: int, segments: list[int], reverse: bool) -> Iterator[Row]:
        size = self._suffix.size
        for segment in segments:
            head = _ROW + LONG.pack(segment)
            for row, value in self._map.range(head, after_prefix(head), reverse):
                time, number = self._suffix.unpack_from(row, len(row) - size)
                if earliest <= time <= latest:
                    yield row[_HEAD:-size], time, number, value

    def rows(self) -> Iterator[Row]:
        return self._by_segment(0, MAX_TIMESTAMP, list(self._segments), False)

    def drop_before(self, time: int) -> None:
        segment = time // self._segment_ms
        if not self._segments or self._segments[0] >= segment:
            return
        self._map.delete_range(_ROW, _ROW + LONG.pack(segment))
        if self._time_index:
            self._map.delete_range(_INDEX, _INDEX + LONG.pack(time))
        while self._segments and self._segments[0] < segment:
            del self._segments[0]

    def __len__(self) -> int:
        return len(self._map)

    def read_note(self) -> bytes | None:
        return self._map.get(_NOTE)

    def write_note(self, note: bytes) -> None:
        self._map.put(_NOTE, note)

    def sync(self) -> None:
        self._map.sync()

    def close(self) -> None:
        self._map.close()

    def close_complete(self, note: bytes) -> str:
        self.write_note(note)
        return self._map.close_complete()
