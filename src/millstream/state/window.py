"""Window stores, plain and timestamped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import starmap
from typing import Any, Generic, TypeVar

from millstream.records import MAX_TIMESTAMP, Headers, ValueAndTimestamp, Window, Windowed
from millstream.serdes import Serde
from millstream.state import codec
from millstream.state.caches.window import WindowCache
from millstream.state.layout import WINDOW_SUFFIX, join_timestamped, split_timestamped
from millstream.state.retention import ExpiringRows
from millstream.state.row_store import RowStore
from millstream.state.store import LogEntry, LogRecord, StoreContext, WindowFold, WindowListener
from millstream.state.suppliers import StoreSupplier

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class WindowBase(RowStore, Generic[K, V, T]):
    """What all kinds share. `V` is what users see, `T` what is kept.

    Args:
        supplier: retention, window size, and where and how rows are kept.
        key: the serde of the keys.
        layout: the layout of what is kept.
        caching: keep a cache, if the task has room for one. Never with duplicates.
        logged: keep changes.
    """

    _timestamped = False

    def __init__(
        self, supplier: StoreSupplier, key: Serde[K], layout: codec.Codec[T], *, caching: bool, logged: bool
    ) -> None:
        super().__init__(supplier.name)
        self.logged = logged
        #: Whether writes are held back until a flush; known after `init`.
        self.cached = False
        self.window_size_ms = supplier.required("window_size_ms")
        self.retention_ms = supplier.required("retention_ms")
        self._supplier = supplier
        self._key = key
        self._codec = layout
        self._caching = caching and not supplier.retain_duplicates
        self._duplicates = supplier.retain_duplicates
        #: Multi-key scans go by time, or by segment.
        self._by_time = not supplier.persistent or supplier.time_ordered
        self._cache: WindowCache[K, T] | None = None
        self._rows: ExpiringRows[K, T]
        self._add: Callable[[K, T, int], None]
        self._put: Callable[[K, int, T | None, int, Headers | None], None]
        self._get: Callable[[K, int], T | None]

    def init(self, context: StoreContext) -> None:
        self._context = context
        self._rows = ExpiringRows(self._supplier, self._key, self._codec, WINDOW_SUFFIX, context, logged=self.logged)
        self._get, self._put = self._get_row, self._put_row
        self._add = self._rows.adding()
        if self._caching and context.cache_max_bytes > 0:
            self.cached = True
            self._cache = WindowCache(self._rows, context, timestamped=self._timestamped)
            self._get, self._put = self._cache.read, self._cache.put

    def _get_row(self, key: K, start: int) -> T | None:
        data = self._rows.get(key, start, 0)
        return None if data is None else self._codec.decode(data)

    def _put_row(self, key: K, start: int, item: T | None, timestamp: int, headers: Headers | None) -> None:
        if not self._duplicates:
            self._rows.put(key, start, 0, item)
        elif item is not None:
            self._add(key, item, start)
        else:
            self._rows.pass_over(key, start)

    def _shown(self, item: T) -> V:
        """What users see of what is kept."""
        raise NotImplementedError

    def _kept(self, value: V) -> T:
        """What is kept of what users give."""
        raise NotImplementedError

    def set_flush_listener(self, listener: WindowListener, send_old: bool) -> None:
        """Tell the listener what a flush wrote: key, start, new, old (if `send_old`), timestamp, headers."""
        if self._cache is not None:
            self._cache.listen(listener, send_old)

    def put(self, key: K, value: V | None, start: int) -> None:
        """Set the value of a key and window; None deletes it (with duplicates it deletes nothing)."""
        self._check(key)
        context = self._context
        self._put(key, start, None if value is None else self._kept(value), context.timestamp, context.headers)

    def fetch(self, key: K, start: int) -> V | None:
        """The value of a key in the window that starts then; None with duplicates, which have to be iterated."""
        self._check(key)
        item = self._get(key, start)
        return None if item is None else self._shown(item)

    def _range(self, key: K, earliest: int, latest: int, reverse: bool) -> Iterator[tuple[int, T]]:
        if self._cache is not None:
            return self._cache.of_key(key, earliest, latest, reverse)
        decode = self._codec.decode
        return ((start, decode(data)) for start, _, data in self._rows.of_key(key, earliest, latest, reverse))

    def fetch_range(self, key: K, earliest: int, latest: int, reverse: bool = False) -> Iterator[tuple[int, V]]:
        """(start, value) of a key's windows that start between the two times, both included, by start."""
        self._check(key)
        shown = self._shown
        return ((start, shown(item)) for start, item in self._range(key, earliest, latest, reverse))

    def fetch_keys(
        self, low: K | None, high: K | None, earliest: int, latest: int, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Windows of the keys from `low` to `high` (None: open) that start between the two times."""
        lowest = None if low is None else self._key.serialize(low)
        highest = None if high is None else self._key.serialize(high)
        return self._scan(earliest, latest, lowest, highest, reverse)

    def fetch_all(self, earliest: int, latest: int, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """Windows of all keys that start between the two times.

        In memory and time-ordered: by start, then key. Else by segment, then key, then start.
        """
        return self._scan(earliest, latest, None, None, reverse)

    def all(self, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """All windows of all keys, in the order of `fetch_all`."""
        return self._scan(0, MAX_TIMESTAMP, None, None, reverse)

    def _scan(
        self, earliest: int, latest: int, low: bytes | None, high: bytes | None, reverse: bool
    ) -> Iterator[tuple[Windowed[K], V]]:
        rows = self._rows.scan(earliest, latest, low, high, reverse, by_time=self._by_time)
        if self._cache is not None:
            found = self._cache.over(rows, earliest, latest, low, high, reverse, by_time=self._by_time)
        else:
            deserialize, decode = self._key.deserialize, self._codec.decode
            found = ((deserialize(key), start, decode(data)) for key, start, _, data in rows)
        shown, window = self._shown, self._window
        return ((Windowed(key, window(start)), shown(item)) for key, start, item in found)

    def _window(self, start: int) -> Window:
        return Window(start, min(start + self.window_size_ms, MAX_TIMESTAMP))

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        return self._rows.log_records(changes)

    def clock(self) -> LogEntry | None:
        return self._rows.clock_change()


class WindowStore(WindowBase[K, V, V]):
    """Values by key and window start; with `retain_duplicates` any number of them. What joins keep their records in.

    Joins use `keep` and `find`; they are attributes, set by `init` to the fastest way there is.
    """

    #: `keep(key, value, start)`: what `put` does.
    keep: Callable[[K, V, int], None]
    #: `find(key, earliest, latest)`: what `fetch_range` gives, as a list.
    find: Callable[[K, int, int], list[tuple[int, V]]]

    def __init__(
        self, supplier: StoreSupplier, key: Serde[K], value: Serde[V], *, caching: bool = False, logged: bool = True
    ) -> None:
        super().__init__(supplier, key, codec.plain(value), caching=caching, logged=logged)

    def init(self, context: StoreContext) -> None:
        super().init(context)
        self.keep = self._add if self._duplicates else self.put
        self.find = self._rows.finding() if self._cache is None else self._find

    def _find(self, key: K, earliest: int, latest: int) -> list[tuple[int, V]]:
        return list(self._range(key, earliest, latest, False))

    def _shown(self, item: V) -> V:
        return item

    def _kept(self, value: V) -> V:
        return value


class TimestampedWindowStore(WindowBase[K, ValueAndTimestamp[V], tuple[V, int]]):
    """Values with timestamps, by key and window start. What windowed aggregations are kept in.

    Operators use `read`, `write` and `read_range`.
    """

    _timestamped = True

    #: `read(key, start)`: `(value, timestamp)`, or None.
    read: Callable[[K, int], tuple[V, int] | None]
    #: `write(key, start, value, timestamp, headers=None)`: set the value of a window, or delete it (None).
    write: Callable[..., None]
    #: `folding(initializer, aggregator)`: a `fold` that does what `read` and `write` would; None if it is not cached.
    folding: Callable[[Callable[[], Any], Callable[[Any, Any, Any], Any]], WindowFold] | None

    def __init__(
        self, supplier: StoreSupplier, key: Serde[K], value: Serde[V], *, caching: bool = False, logged: bool = True
    ) -> None:
        super().__init__(supplier, key, codec.timestamped(value), caching=caching, logged=logged)

    def init(self, context: StoreContext) -> None:
        super().init(context)
        put = self._put

        def write(key: K, start: int, value: Any, timestamp: int, headers: Headers | None = None) -> None:
            put(key, start, None if value is None else (value, timestamp), timestamp, headers)

        self.read, self.write = self._get, write
        self.folding = None if self._cache is None else self._cache.folding

    def read_range(
        self, key: K, earliest: int, latest: int, reverse: bool = False
    ) -> Iterator[tuple[int, tuple[V, int]]]:
        """(start, (value, timestamp)) of a key's windows that start between the two times, by start."""
        return self._range(key, earliest, latest, reverse)

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        return starmap(split_timestamped, self._rows.log_records(changes))

    def apply_records(self, records: Iterable[LogRecord]) -> None:
        self.apply_changes(starmap(join_timestamped, records))

    def _shown(self, item: tuple[V, int]) -> ValueAndTimestamp[V]:
        return ValueAndTimestamp(*item)

    def _kept(self, value: ValueAndTimestamp[V]) -> tuple[V, int]:
        return value[0], value[1]
