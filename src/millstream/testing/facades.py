"""Timestamped stores seen as plain ones: values only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from millstream.records import NO_TIMESTAMP, Headers, ValueAndTimestamp, ValueTimestampHeaders, Windowed
from millstream.state import (
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
)

K = TypeVar("K")
V = TypeVar("V")


def _added(value: V | None) -> ValueAndTimestamp[V] | None:
    return None if value is None else ValueAndTimestamp(value, NO_TIMESTAMP)


def _added_with_headers(value: V | None) -> ValueTimestampHeaders[V] | None:
    return None if value is None else ValueTimestampHeaders(value, NO_TIMESTAMP, Headers())


def _stripped(stored: Any) -> Any:
    return None if stored is None else stored.value


class KeyValueFacade(Generic[K, V]):
    """A timestamped key-value store without its timestamps and headers. What is written gets the timestamp -1."""

    def __init__(self, store: TimestampedKeyValueStore[K, V] | TimestampedKeyValueStoreWithHeaders[K, V]) -> None:
        self.name = store.name
        self._store: Any = store
        self._added = _added_with_headers if store.keeps_headers else _added

    def get(self, key: K) -> V | None:
        """The value of a key, or None."""
        found: V | None = _stripped(self._store.get(key))
        return found

    def put(self, key: K, value: V | None) -> None:
        """Set a key; None deletes it."""
        self._store.put(key, self._added(value))

    def put_if_absent(self, key: K, value: V | None) -> V | None:
        """Set a key that is not there. Returns the value that was there, or None."""
        found: V | None = _stripped(self._store.put_if_absent(key, self._added(value)))
        return found

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """Set many keys."""
        self._store.put_all((key, self._added(value)) for key, value in entries)

    def delete(self, key: K) -> V | None:
        """Remove a key. Returns the value that was there, or None."""
        found: V | None = _stripped(self._store.delete(key))
        return found

    def range(self, low: K | None = None, high: K | None = None) -> Iterator[tuple[K, V]]:
        """Entries with `low <= key <= high` by serialised bytes; None leaves an end open."""
        return _values(self._store.range(low, high))

    def reverse_range(self, low: K | None = None, high: K | None = None) -> Iterator[tuple[K, V]]:
        """The entries of `range`, the greatest key first."""
        return _values(self._store.reverse_range(low, high))

    def all(self) -> Iterator[tuple[K, V]]:
        """All entries, by serialised key."""
        return _values(self._store.all())

    def reverse_all(self) -> Iterator[tuple[K, V]]:
        """All entries, the greatest key first."""
        return _values(self._store.reverse_all())

    def prefix_scan(self, prefix: Any, serializer: Callable[[Any], bytes]) -> Iterator[tuple[K, V]]:
        """Entries whose serialised key starts with the serialised prefix."""
        return _values(self._store.prefix_scan(prefix, serializer))

    def approximate_num_entries(self) -> int:
        """How many entries there are, about."""
        count: int = self._store.approximate_num_entries()
        return count


class WindowFacade(Generic[K, V]):
    """A timestamped window store without its timestamps and headers. What is written gets the timestamp -1."""

    def __init__(self, store: TimestampedWindowStore[K, V] | TimestampedWindowStoreWithHeaders[K, V]) -> None:
        self.name = store.name
        self._store: Any = store
        self._added = _added_with_headers if store.keeps_headers else _added

    def put(self, key: K, value: V | None, start: int) -> None:
        """Set the value of a key in the window that starts then; None deletes it."""
        self._store.put(key, self._added(value), start)

    def fetch(self, key: K, time: int) -> V | None:
        """The value of a key in the window that starts then, or None."""
        found: V | None = _stripped(self._store.fetch(key, time))
        return found

    def fetch_range(self, key: K, time_from: int, time_to: int, reverse: bool = False) -> Iterator[tuple[int, V]]:
        """The windows of a key that start in that span, both ends included, as `(start, value)`."""
        return _values(self._store.fetch_range(key, time_from, time_to, reverse))

    def fetch_keys(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """The windows of a range of keys that start in that span."""
        return _values(self._store.fetch_keys(key_from, key_to, time_from, time_to, reverse))

    def fetch_all(self, time_from: int, time_to: int, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """The windows of all keys that start in that span."""
        return _values(self._store.fetch_all(time_from, time_to, reverse))

    def all(self, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """All windows of all keys."""
        return _values(self._store.all(reverse))


def _values(entries: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    return ((key, stored.value) for key, stored in entries)
