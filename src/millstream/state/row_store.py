"""What stores of rows share, whatever their keys: rows, and a cache in front if the task has room for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from millstream.errors import ArgumentError
from millstream.state.store import LogEntry, StateStore, StoreContext


class Rows(Protocol):
    """Rows as bytes, with their changes."""

    def sync(self) -> None:
        """Have everything on disk, if that is where rows are."""

    def close(self) -> None:
        """Close the files, if there are any."""

    def close_complete(self) -> str | None:
        """See `StateStore`."""

    def take_changes(self) -> dict[bytes, bytes | None]:
        """See `StateStore`."""

    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        """See `StateStore`."""

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        """See `StateStore`."""


class Cache(Protocol):
    """Objects that were read or written lately."""

    def flush(self) -> None:
        """Write everything down, and forward it."""

    def is_flushed(self) -> bool:
        """Whether nothing is left to be written down."""

    def forget(self) -> None:
        """Hold nothing any more."""

    def forget_expired(self) -> None:
        """Hold nothing that the rows have forgotten."""


class RowStore(StateStore):
    """A store of rows. Reading and writing is the business of its subclasses, which open `_rows` and `_cache`."""

    _cache: Cache | None
    _rows: Rows
    _context: StoreContext

    def _check(self, key: object) -> None:
        if key is None:
            raise ArgumentError(f"store '{self.name}' takes no None as a key")

    def flush(self) -> None:
        if self._cache is not None:
            self._cache.flush()
        self._rows.sync()

    def is_flushed(self) -> bool:
        return self._cache is None or self._cache.is_flushed()

    def forget_expired(self) -> None:
        if self._cache is not None:
            self._cache.forget_expired()

    def close(self) -> None:
        self._rows.close()

    def close_complete(self) -> str | None:
        return self._rows.close_complete()

    def take_changes(self) -> dict[bytes, bytes | None]:
        return self._rows.take_changes()

    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        if self._cache is not None:
            self._cache.forget()
        self._rows.apply_changes(changes)

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        return self._rows.snapshot()
