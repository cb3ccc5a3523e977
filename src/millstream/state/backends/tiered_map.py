"""An ordered map that is in memory as far as it fits, and in RocksDB beyond.

While everything fits there is one dict, and no database. When it does not fit any more, the half that was written first
goes to RocksDB. From then on there are two generations of rows in memory: what is read or written goes to the younger
one. When that has grown to half of the memory, what changed in the older one goes to RocksDB in write batches, the
younger becomes the older, and a new one begins. So rows that are used stay, and using one costs nothing.

What is on disk is never complete, and of no use to anybody else: the files are this map's own, and go when it closes.
Only at the beginning there may be a database with all rows, from somebody who has kept it in reserve; it is used as if
this map had written them down itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from rocksdict import Options
from sortedcontainers import SortedList

from millstream.state.backends.completeness import take_mark
from millstream.state.backends.maps import OrderedMap
from millstream.state.backends.overlay import overlay
from millstream.state.backends.pool import MemoryPool
from millstream.state.backends.rocksdb import RocksMap
from millstream.state.backends.scratch import Scratch
from millstream.state.store import LogEntry

#: Bytes that a row takes beside its key and value: two objects' heads, and places in a dict and a set.
ROW_OVERHEAD = 180
_MISSING: Any = object()
_Rows = dict[bytes, bytes | None]


class TieredMap(OrderedMap):
    """A map in memory first, in RocksDB second.

    Args:
        directory: where RocksDB may keep files; or a database that has all rows (see `completeness`).
        pool: the memory that it may take from.
        configure: changes the options that RocksDB is opened with.
    """

    def __init__(self, directory: str, pool: MemoryPool, configure: Callable[[Options], None] | None = None) -> None:
        self._scratch = Scratch(directory)
        self._configure = configure
        self._disk: RocksMap | None = RocksMap(directory, configure) if take_mark(Path(directory)) else None
        self._share = pool.share()
        #: The younger rows, or all. None in place of a value: deleted, and that may not be so on disk.
        self._young: _Rows = {}
        self._old: _Rows = {}
        #: The keys of rows in memory that are not like that on disk, once there is a disk.
        self._dirty: set[bytes] = set()
        #: Bytes of the younger rows, and when these are too many.
        self._bytes = 0
        self._most = 0
        self._old_bytes = 0
        #: All keys in memory in order, from the first range scan on.
        self._keys: SortedList[bytes] | None = None

    def get(self, key: bytes) -> bytes | None:
        value = self._young.get(key)
        if value is not None or self._disk is None:
            return value
        return self._get_further(key, self._disk)

    def _get_further(self, key: bytes, disk: RocksMap) -> bytes | None:
        if key in self._young:
            return None
        value: bytes | None = self._old.get(key, _MISSING)
        if value is _MISSING:
            value = disk.get(key)
        if value is not None:
            self._note_new(key)
            self._young[key] = value
            self._bytes += ROW_OVERHEAD + len(key) + len(value)
            if self._bytes > self._most:
                self._make_room()
        return value

    def put(self, key: bytes, value: bytes) -> None:
        young = self._young
        before = young.get(key)
        if before is None:
            self._note_new(key)
            self._bytes += ROW_OVERHEAD + len(key) + len(value)
        else:
            self._bytes += len(value) - len(before)
        young[key] = value
        if self._disk is not None:
            self._dirty.add(key)
        if self._bytes > self._most:
            self._make_room()

    def delete(self, key: bytes) -> None:
        young = self._young
        if self._disk is None:
            before = young.pop(key, None)
            if before is not None:
                self._bytes -= ROW_OVERHEAD + len(key) + len(before)
                if self._keys is not None:
                    self._keys.remove(key)
            return
        before = young.get(key, _MISSING)
        if before is _MISSING:
            self._note_new(key)
            self._bytes += ROW_OVERHEAD + len(key)
        elif before is not None:
            self._bytes -= len(before)
        young[key] = None
        self._dirty.add(key)
        if self._bytes > self._most:
            self._make_room()

    def put_on_disk(self, entries: Iterable[LogEntry]) -> None:
        """Set rows that are not in memory, and are not to be."""
        _write(self._open_disk(), entries)

    def delete_range(self, low: bytes, high: bytes) -> None:
        """Remove every key with `low <= key < high`."""
        if low >= high:
            return
        for rows in (self._young, self._old):
            gone = [key for key in rows if low <= key < high]
            for key in gone:
                value = rows.pop(key)
                if rows is self._young:
                    self._bytes -= ROW_OVERHEAD + len(key) + len(value or b"")
            self._dirty.difference_update(gone)
            if gone:
                self._keys = None
        if self._disk is not None:
            self._disk.delete_range(low, high)

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        if low is not None and high is not None and low >= high:
            return iter(())
        keys: list[bytes] = []
        if self._young or self._old:
            if self._keys is None:
                self._keys = SortedList(self._young.keys() | self._old.keys())
            # A copy of the keys, as writing while iterating is allowed.
            keys = list(self._keys.irange(low, high, (True, False), reverse))
        if self._disk is None:
            return self._rows_of(keys)
        return self._over(self._disk.range(low, high, reverse), keys, reverse)

    def _rows_of(self, keys: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
        for key in keys:
            value = self._peek(key)
            if value is not None:
                yield key, value

    def _over(
        self, lower: Iterator[tuple[bytes, bytes]], keys: list[bytes], reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        below = ((row[0], row) for row in lower)
        for row, key in overlay(below, zip(keys, keys, strict=True), reverse):
            if row is not None:
                yield row
            elif key is not None and (value := self._peek(key)) is not None:
                yield key, value

    def _peek(self, key: bytes) -> bytes | None:
        """A row's value, wherever it is, without making it a younger one."""
        value: bytes | None = self._young.get(key, _MISSING)
        if value is _MISSING:
            value = self._old.get(key, _MISSING)
        if value is not _MISSING:
            return value
        return None if self._disk is None else self._disk.get(key)

    def __len__(self) -> int:
        return len(self._young) if self._disk is None else len(self._disk) + len(self._dirty)

    def sync(self) -> None:
        """Leave room to others; there is nobody to read what is on disk."""
        self._share.settle(self._bytes + max(self._old_bytes, self._bytes if self._disk is not None else 0))
        self._most = self._share.limit if self._disk is None else self._share.limit // 2
        if self._bytes > self._most:
            self._make_room()

    def close(self) -> None:
        if self._disk is not None:
            self._disk.close()
        self._scratch.remove()
        self._forget()

    def close_complete(self) -> str:
        disk = self._open_disk()
        _write(disk, ((key, self._young[key] if key in self._young else self._old[key]) for key in self._dirty))
        path = disk.close_complete()
        self._forget()
        return path

    def _forget(self) -> None:
        self._share.close()
        self._young, self._old, self._keys = {}, {}, None
        self._dirty.clear()

    def _note_new(self, key: bytes) -> None:
        """Before a key that the younger rows do not have, or have as deleted, is put there."""
        if self._keys is not None and key not in self._young and key not in self._old:
            self._keys.add(key)

    def _open_disk(self) -> RocksMap:
        if self._disk is None:
            self._disk = RocksMap(self._scratch.path(), self._configure)
            self._dirty = set(self._young)
        return self._disk

    def _make_room(self) -> None:
        """The younger rows are too many: have more memory, or write rows down."""
        if self._disk is None:
            if self._share.covers(self._bytes):
                self._most = self._share.limit
                return
            self._write_first_half()
        elif not self._share.covers(2 * self._bytes):
            self._write_old()
        self._most = self._share.limit // 2

    def _write_first_half(self) -> None:
        disk = self._open_disk()
        count = len(self._young) // 2
        first = list(islice(self._young, count))
        _write(disk, ((key, self._young[key]) for key in first))
        self._dirty.difference_update(first)
        self._young = dict(islice(self._young.items(), count, None))
        self._begin_young(self._bytes // 2)

    def _write_old(self) -> None:
        young, dirty = self._young, self._dirty
        changed = [key for key in self._old if key in dirty and key not in young]
        _write(self._open_disk(), ((key, self._old[key]) for key in changed))
        dirty.difference_update(changed)
        self._begin_young(self._bytes)

    def _begin_young(self, size: int) -> None:
        self._old, self._old_bytes = self._young, size
        self._young, self._bytes, self._keys = {}, 0, None


def _write(disk: RocksMap, entries: Iterable[LogEntry]) -> None:
    """Write rows down in batches of a size that takes little memory."""
    rest = iter(entries)
    while batch := list(islice(rest, 4096)):
        disk.write(batch)
    disk.sync()
