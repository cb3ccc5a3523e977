"""Key-value rows without a cache: objects above, bytes below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from millstream.serdes import Serde
from millstream.state.backends.maps import LruMap, OrderedMap
from millstream.state.codec import Codec
from millstream.state.store import LogEntry

K = TypeVar("K")
T = TypeVar("T")


class KeyValueRows(Generic[K, T]):
    """The rows of a key-value store, and the log of their changes.

    Args:
        key: the serde of the keys.
        codec: the layout of the values.
        logged: keep changes.
        max_entries: hold so many rows at most, in memory.
        open_map: opens the map they are kept in otherwise.
    """

    def __init__(
        self,
        key: Serde[K],
        codec: Codec[T],
        *,
        logged: bool,
        max_entries: int | None,
        open_map: Callable[[], OrderedMap],
    ) -> None:
        self.key = key
        self.codec = codec
        self.changes: dict[bytes, bytes | None] | None = {} if logged else None
        self._max_entries = max_entries
        self.map = open_map() if max_entries is None else LruMap(max_entries, self._evicted)
        self.get_bytes = self.map.get
        self._serialize = key.serialize

    def get(self, key: K) -> T | None:
        """The object under a key."""
        data = self.get_bytes(self._serialize(key))
        return None if data is None else self.codec.decode(data)

    def put(self, key: K, item: T | None) -> None:
        """Set a key, or remove it (None)."""
        try:
            binary = self._serialize(key)
        except Exception as error:
            raise self.key.serialization_error(key, error) from error
        if item is None:
            if self.changes is not None:
                self.changes[binary] = None
            self.map.delete(binary)
            return
        try:
            data = self.codec.encode(item)
        except Exception as error:
            raise self.codec.serde.serialization_error(item, error) from error
        if self.changes is not None:
            self.changes[binary] = data
        self.map.put(binary, data)

    def write_bytes(self, entries: dict[bytes, bytes | None]) -> None:
        """Set and remove many keys at once."""
        if self._max_entries is not None:
            self._write_one_by_one(entries)
            return
        if self.changes is not None:
            self.changes.update(entries)
        self.map.write(entries.items())

    def _write_one_by_one(self, entries: dict[bytes, bytes | None]) -> None:
        """A key that makes room for one may be written after it, and the last of both is to be logged."""
        for key, value in entries.items():
            if self.changes is not None:
                self.changes[key] = value
            if value is None:
                self.map.delete(key)
            else:
                self.map.put(key, value)

    def scan(self, low: bytes | None, high: bytes | None, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        """Rows with `low <= key < high`, in the order of their bytes."""
        return self.map.range(low, high, reverse)

    def sync(self) -> None:
        """Have everything on disk, if that is where rows are."""
        self.map.sync()

    def close(self) -> None:
        """Close the files, if there are any."""
        self.map.close()

    def close_complete(self) -> str | None:
        """See `StateStore`."""
        return self.map.close_complete()

    def take_changes(self) -> dict[bytes, bytes | None]:
        """The changes since the last call."""
        changes = self.changes
        if changes is None:
            return {}
        self.changes = {}
        return changes

    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        """Redo changes without logging them."""
        self.map.write(changes)

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        """All rows."""
        return self.map.recency() if isinstance(self.map, LruMap) else self.map.range(None, None)

    def _evicted(self, key: bytes) -> None:
        if self.changes is not None:
            self.changes[key] = None
