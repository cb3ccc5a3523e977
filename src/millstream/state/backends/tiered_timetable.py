"""A table of rows with key, time and number that is in memory as far as it fits, and in RocksDB beyond.

Rows of late times are in memory, those before a certain time (the *cut*) below: in RocksDB, and what `TieredMap` keeps
of it. So a row is in one place, and a question about the latest times never gets to RocksDB. When memory is short, the
cut moves on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import chain
from struct import Struct

from rocksdict import Options

from millstream.records import MAX_TIMESTAMP
from millstream.state.backends.pool import MemoryPool
from millstream.state.backends.tiered_map import TieredMap
from millstream.state.backends.timetable import BEFORE_ALL, MemoryTimeTable, Row
from millstream.state.backends.timetable_rocksdb import RocksTimeTable
from millstream.state.layout import LONG


class TieredTimeTable(MemoryTimeTable):
    """Late rows in memory, early ones below.

    Args:
        directory: where RocksDB may keep files.
        pool: the memory that it may take from.
        suffix: the binary layout of time and number.
        segment_ms: the length of a segment.
        number_first: see `time_order`.
        span_ms: see `MemoryTimeTable`; the cut moves by whole spans.
        time_index: keep an index by time on disk.
        configure: changes the options that RocksDB is opened with.
    """

    def __init__(
        self,
        directory: str,
        pool: MemoryPool,
        suffix: Struct,
        segment_ms: int,
        number_first: bool,
        span_ms: int,
        time_index: bool,
        configure: Callable[[Options], None] | None = None,
    ) -> None:
        super().__init__(suffix, segment_ms, number_first, span_ms)
        self._share = pool.share()
        self._most = 0
        self._map = TieredMap(directory, pool, configure)
        self._below = RocksTimeTable(self._map, suffix, segment_ms, number_first, time_index)
        note = self._below.read_note()
        if note is not None:  # the map began with a database that has all rows
            latest: int = LONG.unpack_from(note)[0]
            self._cut = (latest // span_ms + 1) * span_ms

    def get(self, key: bytes, time: int, number: int) -> bytes | None:
        if time < self._cut:
            return self._below.get(key, time, number)
        return super().get(key, time, number)

    def _put_before_cut(self, key: bytes, time: int, number: int, value: bytes) -> None:
        self._below.put(key, time, number, value)

    def delete(self, key: bytes, time: int, number: int) -> None:
        if time < self._cut:
            self._below.delete(key, time, number)
        else:
            super().delete(key, time, number)

    def of_key(self, key: bytes, earliest: int, latest: int, reverse: bool = False) -> Iterator[tuple[int, int, bytes]]:
        late = super().of_key(key, earliest, latest, reverse)
        if earliest >= self._cut:
            return late
        early = self._below.of_key(key, earliest, min(latest, self._cut - 1), reverse)
        return chain(late, early) if reverse else chain(early, late)

    def by_time(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        late = super().by_time(earliest, latest, reverse)
        if earliest >= self._cut:
            return late
        early = self._below.by_time(earliest, min(latest, self._cut - 1), reverse)
        return chain(late, early) if reverse else chain(early, late)

    def by_segment(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[Row]:
        late = super().by_segment(earliest, latest, reverse)
        if earliest >= self._cut:
            return late
        early = self._below.by_segment(earliest, min(latest, self._cut - 1), reverse)
        order = self._segment_order  # the cut may lie within a segment
        return merge(early, late, key=lambda row: order(*row[:3]), reverse=reverse)

    def rows(self) -> Iterator[Row]:
        return chain(self._below.rows(), super().rows())

    def drop_before(self, time: int) -> None:
        super().drop_before(time)
        if self._cut > BEFORE_ALL:
            self._below.drop_before(time)

    def __len__(self) -> int:
        return super().__len__() + len(self._below)

    def read_note(self) -> bytes | None:
        return self._below.read_note()

    def sync(self) -> None:
        """Leave room to others; there is nobody to read what is on disk."""
        self._below.sync()
        self._share.settle(self._bytes)
        self._most = self._share.limit
        if self._bytes > self._most:
            self._make_room()

    def close(self) -> None:
        super().close()
        self._share.close()
        self._below.close()

    def close_complete(self, note: bytes) -> str:
        self._write_down(MAX_TIMESTAMP)
        super().close()
        self._share.close()
        return self._below.close_complete(note)

    def _write_down(self, before: int) -> None:
        """Move the cut to a time."""
        self._cut = before
        rows = ((key, *row) for key, found in self._take_before(before) for row in found)
        self._map.put_on_disk(self._below.entries(rows))

    def _make_room(self) -> None:
        """Memory is short: have more, or move the cut so far that a quarter of the memory is free again."""
        if not self._share.covers(self._bytes):
            enough = self._share.limit // 4 * 3
            while self._spans and self._bytes > enough:
                self._write_down((self._spans[0] + 1) * self._span_ms)
        self._most = self._share.limit
