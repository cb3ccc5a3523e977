"""Rows of a store that views answer for: of an application that runs, wherever its partitions are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from millstream.records import MAX_TIMESTAMP
from millstream.sql.pull.lookups import Times
from millstream.sql.pull.rows import Found, Key
from millstream.state.suppliers import StoreKind
from millstream.views.answers import Answer, Row, StoreDescription
from millstream.views.queries import (
    NO_REQUIREMENTS,
    KeysQuery,
    Query,
    RangeQuery,
    Requirements,
    SessionKeyQuery,
    SessionRangeQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)


class AskedViews(Protocol):
    """What of `millstream.views.api.Views` is used."""

    def stores(self) -> dict[str, StoreDescription]: ...

    def ask(self, store: str, query: Query, requirements: Requirements = ..., /) -> Answer: ...

    def pages(self, store: str, query: Query, requirements: Requirements = ..., /) -> Iterator[Answer]: ...


class ViewRows:
    """See `StoredRows`.

    Args:
        views: what is asked.
        store: its name.
        requirements: what answers must fulfil.
    """

    def __init__(self, views: AskedViews, store: str, requirements: Requirements = NO_REQUIREMENTS) -> None:
        self._views = views
        self._store = store
        self._requirements = requirements
        description = views.stores()[store]
        self._kind = description.kind
        self._size = description.window_size_ms or 0

    def get(self, keys: Iterable[Key]) -> Iterator[Found]:
        return self._asked(KeysQuery(tuple(keys)))

    def range(self, low: Key | None, high: Key | None) -> Iterator[Found]:
        return self._paged(RangeQuery(low, high))

    def windows(self, key: Key, starts: Times, ends: Times) -> Iterator[Found]:
        if self._kind is StoreKind.SESSION:
            sessions = self._asked(SessionKeyQuery(key, max(ends.first, 0), starts.last))
            return (found for found in sessions if _is_within(found, starts, ends))
        within = starts & Times(ends.first - self._size, ends.last - self._size) & Times()
        return self._asked(WindowKeyQuery(key, within.first, within.last))

    def scan(self) -> Iterator[Found]:
        if self._kind is StoreKind.SESSION:
            return self._paged(SessionRangeQuery())
        if self._kind in (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW):
            return self._paged(WindowRangeQuery(latest=MAX_TIMESTAMP))
        return self._paged(RangeQuery())

    def _asked(self, query: Query) -> Iterator[Found]:
        return map(_found, self._views.ask(self._store, query, self._requirements).rows)

    def _paged(self, query: Query) -> Iterator[Found]:
        for page in self._views.pages(self._store, query, self._requirements):
            yield from map(_found, page.rows)


def _found(row: Row) -> Found:
    timestamp = row.timestamp
    if timestamp is None:  # session stores keep none: the time of a session's row is its end
        timestamp = -1 if row.window is None else row.window.end
    return Found(row.key, row.value, timestamp, row.window)


def _is_within(found: Found, starts: Times, ends: Times) -> bool:
    return found.window is not None and found.window.start in starts and found.window.end in ends
