"""Ordered maps of bytes: what key-value stores are kept in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from sortedcontainers import SortedList

from millstream.state.store import LogEntry


class OrderedMap(ABC):
    """A map of bytes to bytes, ordered by unsigned bytes."""

    @abstractmethod
    def get(self, key: bytes) -> bytes | None:
        """The value of a key."""

    @abstractmethod
    def put(self, key: bytes, value: bytes) -> None:
        """Set a key."""

    @abstractmethod
    def delete(self, key: bytes) -> None:
        """Remove a key, if it is there."""

    @abstractmethod
    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Entries with `low <= key < high`; None leaves an end open. Sees the keys there are at the call."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of entries; an estimate where counting would mean reading them all."""

    def write(self, entries: Iterable[LogEntry]) -> None:
        """Set or remove (value None) many keys."""
        put, delete = self.put, self.delete
        for key, value in entries:
            if value is None:
                delete(key)
            else:
                put(key, value)

    @abstractmethod
    def sync(self) -> None:
        """Hand buffered writes to the operating system."""

    @abstractmethod
    def close(self) -> None:
        """Free what the map holds."""

    def close_complete(self) -> str | None:
        """Free what the map holds, but leave a database with all entries; answers where, None if it has none."""
        self.close()
        return None


class MemoryMap(OrderedMap):
    """A dict. The order of its keys is kept from the first range scan on: stores that are never scanned do not pay."""

    def __init__(self) -> None:
        self._data: dict[bytes, bytes] = {}
        self._keys: SortedList[bytes] | None = None

    def get(self, key: bytes) -> bytes | None:
        return self._data.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        if self._keys is not None and key not in self._data:
            self._keys.add(key)
        self._data[key] = value

    def delete(self, key: bytes) -> None:
        if self._data.pop(key, None) is not None and self._keys is not None:
            self._keys.remove(key)

    def write(self, entries: Iterable[LogEntry]) -> None:
        if self._keys is not None:
            super().write(entries)
            return
        data = self._data
        for key, value in entries:
            if value is None:
                data.pop(key, None)
            else:
                data[key] = value

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        if self._keys is None:
            self._keys = SortedList(self._data)
        # A copy of the keys: writing while iterating is allowed.
        keys = list(self._keys.irange(low, high, (True, False), reverse))
        return self._entries(keys)

    def _entries(self, keys: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
        get = self._data.get
        for key in keys:
            value = get(key)
            if value is not None:
                yield key, value

    def __len__(self) -> int:
        return len(self._data)

    def sync(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self._data.clear()
        self._keys = None


class LruMap(MemoryMap):
    """At most `max_entries` entries; the least recently read or written one makes room.

    Args:
        max_entries: how many entries it holds.
        on_evict: told the key of an entry that made room.
    """

    def __init__(self, max_entries: int, on_evict: Callable[[bytes], None]) -> None:
        super().__init__()
        self._max_entries = max_entries
        self._on_evict = on_evict

    def get(self, key: bytes) -> bytes | None:
        value = self._data.pop(key, None)
        if value is not None:
            self._data[key] = value  # dicts keep the order of insertion: the last is the most recent
        return value

    def put(self, key: bytes, value: bytes) -> None:
        if self.get(key) is None and len(self._data) >= self._max_entries:
            eldest = next(iter(self._data))
            self.delete(eldest)
            self._on_evict(eldest)
        super().put(key, value)

    def write(self, entries: Iterable[LogEntry]) -> None:
        """Set and remove keys as logged: what made room then is among them, in no particular order."""
        for key, value in entries:
            self.delete(key)
            if value is not None:
                super().put(key, value)
        while len(self._data) > self._max_entries:
            self.delete(next(iter(self._data)))

    def recency(self) -> Iterator[tuple[bytes, bytes]]:
        """All entries, the least recently used first."""
        return iter(list(self._data.items()))
