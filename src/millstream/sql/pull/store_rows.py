"""Rows of a store in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from millstream.records import Window, Windowed
from millstream.sql.pull.lookups import Times
from millstream.sql.pull.rows import Found, Key
from millstream.state import SessionStore, TimestampedKeyValueStore, TimestampedWindowStore


class KeyValueStoreRows:
    """See `StoredRows`: a key-value store. Its keys may have windows, as those of windowed topics do."""

    def __init__(self, store: TimestampedKeyValueStore[Any, Any]) -> None:
        self._store = store

    def get(self, keys: Iterable[Key]) -> Iterator[Found]:
        for key in keys:
            stored = self._store.get(key)
            if stored is not None:
                yield Found(key, stored.value, stored.timestamp)

    def range(self, low: Key | None, high: Key | None) -> Iterator[Found]:
        for key, stored in self._store.range(low, high):
            yield Found(key, stored.value, stored.timestamp)

    def windows(self, key: Key, starts: Times, ends: Times) -> Iterator[Found]:
        for found in self.scan():
            window = found.window
            if found.key == key and window is not None and window.start in starts and window.end in ends:
                yield found

    def scan(self) -> Iterator[Found]:
        for key, stored in self._store.all():
            if isinstance(key, Windowed):
                yield Found(key.key, stored.value, stored.timestamp, key.window)
            else:
                yield Found(key, stored.value, stored.timestamp)


class WindowStoreRows:
    """See `StoredRows`: a window store."""

    def __init__(self, store: TimestampedWindowStore[Any, Any]) -> None:
        self._store = store

    def get(self, keys: Iterable[Key]) -> Iterator[Found]:
        raise NotImplementedError("keys of windowed tables have windows")

    def range(self, low: Key | None, high: Key | None) -> Iterator[Found]:
        raise NotImplementedError("keys of windowed tables have windows")

    def windows(self, key: Key, starts: Times, ends: Times) -> Iterator[Found]:
        size = self._store.window_size_ms
        within = starts & Times(ends.first - size, ends.last - size) & Times()
        for start, stored in self._store.fetch_range(key, within.first, within.last):
            yield Found(key, stored.value, stored.timestamp, Window(start, start + size))

    def scan(self) -> Iterator[Found]:
        for key, stored in self._store.all():
            yield Found(key.key, stored.value, stored.timestamp, key.window)


class SessionStoreRows:
    """See `StoredRows`: a session store. The time of a session's row is its end."""

    def __init__(self, store: SessionStore[Any, Any]) -> None:
        self._store = store

    def get(self, keys: Iterable[Key]) -> Iterator[Found]:
        raise NotImplementedError("keys of windowed tables have windows")

    def range(self, low: Key | None, high: Key | None) -> Iterator[Found]:
        raise NotImplementedError("keys of windowed tables have windows")

    def windows(self, key: Key, starts: Times, ends: Times) -> Iterator[Found]:
        for session, value in self._store.find_sessions(key, ends.first, starts.last):
            if session.window.start in starts and session.window.end in ends:
                yield Found(key, value, session.window.end, session.window)

    def scan(self) -> Iterator[Found]:
        for session, value in self._store.fetch_keys():
            yield Found(session.key, value, session.window.end, session.window)


StoreRows = KeyValueStoreRows | WindowStoreRows | SessionStoreRows


def store_rows(store: Any) -> StoreRows:
    """The rows of a store, as its kind has them."""
    if isinstance(store, TimestampedWindowStore):
        return WindowStoreRows(store)
    if isinstance(store, SessionStore):
        return SessionStoreRows(store)
    return KeyValueStoreRows(store)
