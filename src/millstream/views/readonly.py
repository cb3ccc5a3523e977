"""Stores of a running application as objects to read from: `KafkaStreams.store`.

Times are milliseconds since 1970, or `datetime`s with a time zone. What is read is what the copies have applied of the
store's changelog, which is what the application has committed; use `Views.ask` for positions and lags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar, overload

from millstream.errors import WrongQuery
from millstream.kafka.partitioner import partition_for
from millstream.records import MAX_TIMESTAMP, ValueAndTimestamp, Windowed
from millstream.state.suppliers import StoreKind
from millstream.state.versioned import VersionedRecord
from millstream.views.answers import Row
from millstream.views.api import Views, serialized
from millstream.views.catalogue import ViewStore
from millstream.views.queries import (
    NO_REQUIREMENTS,
    CountQuery,
    KeyQuery,
    KeysQuery,
    PrefixQuery,
    Query,
    RangeQuery,
    Requirements,
    SessionKeyQuery,
    SessionRangeQuery,
    VersionedKeyQuery,
    VersionsQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)

K = TypeVar("K")
V = TypeVar("V")

Time: TypeAlias = int | datetime


def time_ms(time: Time, what: str) -> int:
    """A time in milliseconds since 1970.

    >>> from datetime import UTC
    >>> time_ms(datetime(2026, 1, 1, tzinfo=UTC), "start")
    1767225600000
    """
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise WrongQuery(f"{what} has no time zone", detail=repr(time), hint="give a datetime with tzinfo")
        return round(time.timestamp() * 1000)
    return time


class _View(Generic[K, V]):
    """What all views share.

    Args:
        views: the views of this instance.
        view: the store.
        requirements: what answers must fulfil.
    """

    def __init__(self, views: Views, view: ViewStore, requirements: Requirements) -> None:
        self.name = view.name
        self._views = views
        self._view = view
        self._requirements = requirements

    def _rows(self, query: Query) -> Iterable[Row]:
        return self._views.ask(self.name, query, self._requirements).rows

    def _scan(self, query: Query) -> Iterator[Row]:
        for page in self._views.pages(self.name, query, self._requirements):
            yield from page.rows

    def _one(self, query: Query) -> Row | None:
        return next(iter(self._rows(query)), None)


class ReadOnlyKeyValueView(_View[K, V]):
    """A key-value store, without the timestamps that its values may have.

    Scans are in the order of serialised keys; bounds are included, None leaves an end open. They are taken page by
    page, so that they may be of any size.
    """

    def __init__(self, views: Views, view: ViewStore, requirements: Requirements) -> None:
        super().__init__(views, view, requirements)
        #: The value of a key, or None.
        self.get: Callable[[K], V | None] = self._ask_for
        if requirements == NO_REQUIREMENTS and not view.is_global:
            self.get = self._short_way()

    def _ask_for(self, key: K) -> V | None:
        row = self._one(KeyQuery(key))
        return None if row is None else row.value

    def _short_way(self) -> Callable[[K], V | None]:
        """Look a key up in a copy that this instance answers from; ask in any other case."""
        view, name, ask_for = self._view, self.name, self._ask_for
        serialize, deserialize = view.key.serialize, view.value.deserialize
        count, copies = self._views.partitions_of(view), self._views.local_copies()
        timestamped, scattered = view.kind is StoreKind.TIMESTAMPED_KEY_VALUE, view.scattered and count > 1

        def get(key: K) -> V | None:
            try:
                data = serialize(key)
            except Exception:
                serialized(view, key)  # tells what is wrong
                raise
            copy = copies.get((name, partition_for(data, count)))
            if copy is None or not copy.owned:
                return ask_for(key)
            with copy.lock:
                if not copy.has_read_up:
                    found, here = None, False
                else:
                    found, here = copy.store.get(data), True
            if found is None:
                return None if here and not scattered else ask_for(key)
            value: V = deserialize(found[0] if timestamped else found)
            return value

        return get

    def get_many(self, keys: Iterable[K]) -> dict[K, V]:
        """The values of several keys; those that are not there are left out."""
        return {row.key: row.value for row in self._rows(KeysQuery(tuple(keys)))}

    def range(self, low: K | None = None, high: K | None = None) -> Iterator[tuple[K, V]]:
        """The entries between two keys."""
        return _entries(self._scan(RangeQuery(low, high)))

    def reverse_range(self, low: K | None = None, high: K | None = None) -> Iterator[tuple[K, V]]:
        """The entries between two keys, the greatest first."""
        return _entries(self._scan(RangeQuery(low, high, True)))

    def prefix_scan(self, prefix: Any, serializer: Callable[[Any], bytes] | None = None) -> Iterator[tuple[K, V]]:
        """The entries whose serialised key starts with a serialised prefix.

        Args:
            prefix: the prefix.
            serializer: makes bytes of it; the serde of the keys unless given.
        """
        data = serialized(self._view, prefix) if serializer is None else serializer(prefix)
        return _entries(self._scan(PrefixQuery(data)))

    def all(self) -> Iterator[tuple[K, V]]:
        """All entries."""
        return self.range()

    def count(self) -> int:
        """How many entries there are; an estimate for stores on disk."""
        return self._views.ask(self.name, CountQuery(), self._requirements).count or 0

    def get_with_timestamp(self, key: K) -> ValueAndTimestamp[V] | None:
        """The value of a key with the time it is valid from, in a timestamped store."""
        row = self._one(KeyQuery(key))
        return None if row is None else ValueAndTimestamp(row.value, -1 if row.timestamp is None else row.timestamp)


class ReadOnlyWindowView(_View[K, V]):
    """A window store, without the timestamps that its values may have."""

    def fetch(self, key: K, start: Time) -> V | None:
        """The value of a key in the window that starts then, or None."""
        at = time_ms(start, "start")
        row = self._one(WindowKeyQuery(key, at, at))
        return None if row is None else row.value

    def fetch_range(
        self, key: K, earliest: Time = 0, latest: Time = MAX_TIMESTAMP, *, reverse: bool = False
    ) -> list[tuple[int, V]]:
        """`(start, value)` of a key's windows that start between two times, both included."""
        query = WindowKeyQuery(key, time_ms(earliest, "earliest"), time_ms(latest, "latest"), reverse)
        return [(row.window.start, row.value) for row in self._rows(query) if row.window is not None]

    def fetch_all(
        self,
        earliest: Time = 0,
        latest: Time = MAX_TIMESTAMP,
        *,
        low: K | None = None,
        high: K | None = None,
        reverse: bool = False,
    ) -> list[tuple[Windowed[K], V]]:
        """The windows of all keys, or of those between two keys, that start between two times, both included."""
        query = WindowRangeQuery(low, high, time_ms(earliest, "earliest"), time_ms(latest, "latest"), reverse)
        return _windowed(self._rows(query))


class ReadOnlySessionView(_View[K, V]):
    """A session store."""

    def fetch(self, key: K, *, reverse: bool = False) -> list[tuple[Windowed[K], V]]:
        """All sessions of a key, by end, then start."""
        return _windowed(self._rows(SessionKeyQuery(key, reverse=reverse)))

    def find_sessions(
        self, key: K, earliest_end: Time, latest_start: Time, *, reverse: bool = False
    ) -> list[tuple[Windowed[K], V]]:
        """A key's sessions that end not before and start not after the two times."""
        query = SessionKeyQuery(
            key, time_ms(earliest_end, "earliest_end"), time_ms(latest_start, "latest_start"), reverse
        )
        return _windowed(self._rows(query))

    def fetch_all(
        self, *, low: K | None = None, high: K | None = None, reverse: bool = False
    ) -> list[tuple[Windowed[K], V]]:
        """The sessions of all keys, or of those between two keys."""
        return _windowed(self._rows(SessionRangeQuery(low, high, reverse)))


class ReadOnlyVersionedView(_View[K, V]):
    """A versioned store."""

    def get(self, key: K, *, as_of: Time | None = None) -> VersionedRecord[V] | None:
        """The latest version of a key, or the one that was valid at a time."""
        at = None if as_of is None else time_ms(as_of, "as_of")
        return next(iter(_versions(self._rows(VersionedKeyQuery(key, at)))), None)

    def history(
        self, key: K, *, earliest: Time | None = None, latest: Time | None = None, reverse: bool = False
    ) -> list[VersionedRecord[V]]:
        """The versions of a key that were valid at some time between the two, by timestamp."""
        query = VersionsQuery(
            key,
            None if earliest is None else time_ms(earliest, "earliest"),
            None if latest is None else time_ms(latest, "latest"),
            reverse,
        )
        return _versions(self._rows(query))


ReadOnlyView: TypeAlias = (
    ReadOnlyKeyValueView[Any, Any]
    | ReadOnlyWindowView[Any, Any]
    | ReadOnlySessionView[Any, Any]
    | ReadOnlyVersionedView[Any, Any]
)

_VIEWS: dict[StoreKind, type[ReadOnlyView]] = {
    StoreKind.KEY_VALUE: ReadOnlyKeyValueView,
    StoreKind.TIMESTAMPED_KEY_VALUE: ReadOnlyKeyValueView,
    StoreKind.VERSIONED_KEY_VALUE: ReadOnlyVersionedView,
    StoreKind.WINDOW: ReadOnlyWindowView,
    StoreKind.TIMESTAMPED_WINDOW: ReadOnlyWindowView,
    StoreKind.SESSION: ReadOnlySessionView,
}


View = TypeVar("View", bound=ReadOnlyView)


@overload
def read_only(views: Views, store: str, requirements: Requirements = ..., *, kind: None = ...) -> Any: ...


@overload
def read_only(views: Views, store: str, requirements: Requirements = ..., *, kind: type[View]) -> View: ...


def read_only(
    views: Views, store: str, requirements: Requirements = NO_REQUIREMENTS, *, kind: type[Any] | None = None
) -> Any:
    """The view of a store, as its kind has it.

    Args:
        views: where the store is.
        store: its name.
        requirements: what answers must fulfil.
        kind: which kind of view it must be, for who wants to have types checked.

    Raises:
        UnknownStore: there is no such store.
        WrongQuery: it is of another kind.
        NotReady: its topics are not there yet.
    """
    view = views.find(store)
    made = _VIEWS[view.kind](views, view, requirements)
    if kind is not None and not isinstance(made, kind):
        raise WrongQuery(
            f"store '{store}' is a {view.kind.value} store",
            detail=f"its view is a {type(made).__name__}, not a {kind.__name__}",
        )
    return made


def _entries(rows: Iterator[Row]) -> Iterator[tuple[Any, Any]]:
    return ((row.key, row.value) for row in rows)


def _windowed(rows: Iterable[Row]) -> list[tuple[Windowed[Any], Any]]:
    return [(Windowed(row.key, row.window), row.value) for row in rows if row.window is not None]


def _versions(rows: Iterable[Row]) -> list[VersionedRecord[Any]]:
    return [VersionedRecord(row.value, row.timestamp or 0, row.valid_to) for row in rows]
