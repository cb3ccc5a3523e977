"""Which backend a store gets: memory, RocksDB, or RocksDB behind memory."""

from __future__ import annotations

from functools import partial
from struct import Struct
from typing import Any, Protocol

from millstream.state.backends.maps import MemoryMap, OrderedMap
from millstream.state.backends.pool import process_pool
from millstream.state.backends.rocksdb import RocksMap
from millstream.state.backends.tiered_map import TieredMap
from millstream.state.backends.tiered_timetable import TieredTimeTable
from millstream.state.backends.timetable import MemoryTimeTable, TimeTable
from millstream.state.backends.timetable_rocksdb import RocksTimeTable


class Place(Protocol):
    """What is asked of a store's context here."""

    @property
    def store_memory_max_bytes(self) -> int:
        """What rows of persistent stores may take of memory; 0 has them all on disk, complete after each flush."""

    def store_directory(self, name: str) -> str | None:
        """The directory for a persistent store's files; None keeps it in memory."""

    def configure_rocksdb(self, store: str, options: Any) -> None:
        """Change the options that a store's database is opened with."""


def open_map(place: Place, name: str, persistent: bool) -> OrderedMap:
    """The map of a key-value store."""
    directory = place.store_directory(name) if persistent else None
    if directory is None:
        return MemoryMap()
    configure = partial(place.configure_rocksdb, name)
    if place.store_memory_max_bytes:
        return TieredMap(directory, process_pool(place.store_memory_max_bytes), configure)
    return RocksMap(directory, configure)


def open_table(
    place: Place,
    name: str,
    persistent: bool,
    suffix: Struct,
    *,
    segment_ms: int,
    span_ms: int,
    number_first: bool = False,
    time_index: bool = False,
) -> TimeTable:
    """The table of a store whose rows have a time."""
    directory = place.store_directory(name) if persistent else None
    if directory is None:
        return MemoryTimeTable(suffix, segment_ms, number_first, span_ms)
    configure = partial(place.configure_rocksdb, name)
    if place.store_memory_max_bytes:
        pool = process_pool(place.store_memory_max_bytes)
        return TieredTimeTable(directory, pool, suffix, segment_ms, number_first, span_ms, time_index, configure)
    return RocksTimeTable(RocksMap(directory, configure), suffix, segment_ms, number_first, time_index)
