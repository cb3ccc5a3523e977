"""What a pull query asks of the store behind a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from millstream.records import Window
from millstream.sql.pull.lookups import Times

Key = tuple[Any, ...]


class Found(NamedTuple):
    """What a store holds for a key, or for a key and a window.

    Attributes:
        key: the columns of the key.
        value: as the store keeps it.
        timestamp: the time of the value.
    """

    key: Key
    value: tuple[Any, ...]
    timestamp: int
    window: Window | None = None


class StoredRows(Protocol):
    """The rows of a store, wherever it is. Nothing is written."""

    def get(self, keys: Iterable[Key]) -> Iterable[Found]:
        """The rows of keys, in their order; those that are not there are left out. Tables without windows."""

    def range(self, low: Key | None, high: Key | None) -> Iterable[Found]:
        """The rows between two keys, both included, by serialised key; None: open. Tables without windows."""

    def windows(self, key: Key, starts: Times, ends: Times) -> Iterable[Found]:
        """The rows of a key's windows that start and end within the given times, by start. Windowed tables."""

    def scan(self) -> Iterable[Found]:
        """All rows."""
