"""Session stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from millstream.records import MAX_TIMESTAMP, Headers, Window, Windowed
from millstream.serdes import Serde
from millstream.state import codec
from millstream.state.backends.timetable import Row
from millstream.state.caches.session import SessionCache
from millstream.state.layout import SESSION_SUFFIX
from millstream.state.retention import ExpiringRows
from millstream.state.row_store import RowStore
from millstream.state.store import LogEntry, LogRecord, SessionListener, StoreContext
from millstream.state.suppliers import StoreSupplier

K = TypeVar("K")
V = TypeVar("V")


class SessionStore(RowStore, Generic[K, V]):
    """Values by key and session. Both ends of a session belong to it.

    Args:
        supplier: retention, and where and how rows are kept.
        key: the serde of the keys.
        value: the serde of the values.
        caching: keep a cache, if the task has room for one.
        logged: keep changes.
    """

    def __init__(
        self, supplier: StoreSupplier, key: Serde[K], value: Serde[V], *, caching: bool = False, logged: bool = True
    ) -> None:
        super().__init__(supplier.name)
        self.logged = logged
        #: Whether writes are held back until a flush; known after `init`.
        self.cached = False
        self.retention_ms = supplier.required("retention_ms")
        self._supplier = supplier
        self._key = key
        self._codec = codec.plain(value)
        self._caching = caching
        self._cache: SessionCache[K, V] | None = None
        self._rows: ExpiringRows[K, V]

    def init(self, context: StoreContext) -> None:
        self._context = context
        self._rows = ExpiringRows(self._supplier, self._key, self._codec, SESSION_SUFFIX, context, logged=self.logged)
        if self._caching and context.cache_max_bytes > 0:
            self.cached = True
            self._cache = SessionCache(self._rows, context)

    def for_operators(self) -> SessionStore[K, Any]:
        """The store with plain values, as operators use it."""
        return self

    def set_flush_listener(self, listener: SessionListener, send_old: bool) -> None:
        """Tell the listener what a flush wrote: key, start, end, new, old (if `send_old`), timestamp, headers."""
        if self._cache is not None:
            self._cache.listen(listener, send_old)

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        return self._rows.log_records(changes)

    def clock(self) -> LogEntry | None:
        return self._rows.clock_change()

    def write(self, key: K, start: int, end: int, value: V | None, headers: Headers | None = None) -> None:
        """Set the value of a session, or remove the session (None)."""
        if self._cache is None:
            self._rows.put(key, end, start, value)
        elif value is None:
            self._cache.remove(key, end, start, headers)
        else:
            self._cache.put(key, (end, start), value, end, headers)

    def put(self, session: Windowed[K], value: V | None) -> None:
        """Set the value of a session; None removes it."""
        self._check(session.key)
        self.write(session.key, session.window.start, session.window.end, value, self._context.headers)

    def remove(self, session: Windowed[K]) -> None:
        """Remove a session."""
        self.put(session, None)

    def fetch_session(self, key: K, start: int, end: int) -> V | None:
        """The value of one session, or None."""
        self._check(key)
        if self._cache is not None:
            return self._cache.read(key, (end, start))
        data = self._rows.get(key, end, start)
        return None if data is None else self._codec.decode(data)

    def find_sessions(
        self, key: K, earliest_end: int, latest_start: int, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """A key's sessions that end not before and start not after the two times, by end, then start."""
        if self._cache is not None:
            found = self._cache.of_key(key, earliest_end, MAX_TIMESTAMP, reverse)
            return (
                (Windowed(key, Window(start, end)), value) for (end, start), value in found if start <= latest_start
            )
        decode = self._codec.decode
        return (
            (Windowed(key, Window(start, end)), decode(data))
            for end, start, data in self._rows.of_key(key, earliest_end, MAX_TIMESTAMP, reverse)
            if start <= latest_start
        )

    def find_sessions_of_keys(
        self, low: K | None, high: K | None, earliest_end: int, latest_start: int, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Sessions of the keys from `low` to `high` (None: open), as `find_sessions`; in the order of `fetch_keys`."""
        found = self.fetch_keys(low, high, reverse)
        return (entry for entry in found if _overlaps(entry[0].window, earliest_end, latest_start))

    def fetch(self, key: K, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key, by end, then start."""
        self._check(key)
        return self.find_sessions(key, 0, MAX_TIMESTAMP, reverse)

    def fetch_keys(
        self, low: K | None = None, high: K | None = None, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of the keys from `low` to `high` (None: open).

        In memory by end, key, start; persistent by segment, then key, end, start.
        """
        lowest = None if low is None else self._key.serialize(low)
        highest = None if high is None else self._key.serialize(high)
        by_time = not self._supplier.persistent
        rows = self._rows.scan(0, MAX_TIMESTAMP, lowest, highest, reverse, by_time=by_time)
        return self._many(rows, 0, MAX_TIMESTAMP, lowest, highest, reverse, by_time)

    def find_sessions_ending(
        self, earliest_end: int, latest_end: int, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Sessions of all keys that end between the two times, both included. For their emission.

        In memory by end, key, start; persistent by end, start, key, and as long as their segment is there: this scan
        of Kafka Streams does not look at the retention.
        """
        if self._supplier.persistent:
            rows = self._rows.table.by_time(earliest_end, latest_end, reverse)
        else:
            rows = self._rows.scan(earliest_end, latest_end, None, None, reverse, by_time=True)
        return self._many(rows, earliest_end, latest_end, None, None, reverse, True)

    def _many(
        self,
        rows: Iterator[Row],
        earliest: int,
        latest: int,
        low: bytes | None,
        high: bytes | None,
        reverse: bool,
        by_time: bool,
    ) -> Iterator[tuple[Windowed[K], V]]:
        if self._cache is not None:
            found = self._cache.over(rows, earliest, latest, low, high, reverse, by_time=by_time)
            return ((Windowed(key, Window(start, end)), value) for key, (end, start), value in found)
        deserialize, decode = self._key.deserialize, self._codec.decode
        return ((Windowed(deserialize(key), Window(start, end)), decode(data)) for key, end, start, data in rows)


def _overlaps(session: Window, earliest_end: int, latest_start: int) -> bool:
    return session.end >= earliest_end and session.start <= latest_start
