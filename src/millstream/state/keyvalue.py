"""Key-value stores, plain and timestamped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import starmap
from typing import Any, Generic, TypeVar

from millstream.records import Headers, ValueAndTimestamp
from millstream.serdes import Serde
from millstream.state import codec
from millstream.state.backends.choice import open_map
from millstream.state.backends.maps import OrderedMap
from millstream.state.caches.keyvalue import KeyValueCache
from millstream.state.keyvalue_rows import KeyValueRows
from millstream.state.layout import after, after_prefix, join_timestamped, split_timestamped
from millstream.state.row_store import RowStore
from millstream.state.store import LATEST, Fold, KeyValueListener, LogRecord, StoreContext
from millstream.state.suppliers import StoreSupplier

log = logging.getLogger("millstream.state")

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
P = TypeVar("P")


class KeyValueBase(RowStore, Generic[K, V, T]):
    """What all kinds share. `V` is what users see, `T` what is kept.

    Args:
        supplier: where and how rows are kept.
        key: the serde of the keys.
        codec: the layout of what is kept.
        caching: keep a cache, if the task has room for one.
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
        self._supplier = supplier
        self._key = key
        self._codec = layout
        self._caching = caching
        self._cache: KeyValueCache[K, T] | None = None
        self._rows: KeyValueRows[K, T]
        self._get: Callable[[K], T | None]
        self._put: Callable[[K, T | None, int, Headers | None], None]

    def init(self, context: StoreContext) -> None:
        self._context = context
        self._rows = KeyValueRows(
            self._key,
            self._codec,
            logged=self.logged,
            max_entries=None if self._supplier.open_map is not None else self._supplier.max_entries,
            open_map=self._opening(context),
        )
        self._get = self._rows.get
        self._put = self._put_row
        if self._caching and context.cache_max_bytes > 0:
            self.cached = True
            self._cache = KeyValueCache(self._rows, context, timestamped=self._timestamped)
            self._get, self._put = self._cache.read, self._cache.put

    def _opening(self, context: StoreContext) -> Callable[[], OrderedMap]:
        """What opens the map of its rows: the user's own, if there is one."""
        own, persistent = self._supplier.open_map, self._supplier.persistent
        if own is None:
            return partial(open_map, context, self.name, persistent)
        return partial(own, context.store_directory(self.name) if persistent else None)

    def _put_row(self, key: K, item: T | None, timestamp: int, headers: Headers | None) -> None:
        self._rows.put(key, item)

    def _shown(self, item: T) -> V:
        """What users see of what is kept."""
        raise NotImplementedError

    def _kept(self, value: V) -> T:
        """What is kept of what users give."""
        raise NotImplementedError

    def set_flush_listener(self, listener: KeyValueListener, send_old: bool) -> None:
        """Tell the listener what a flush of the cache wrote: key, new, old (if `send_old`), timestamp, headers."""
        if self._cache is not None:
            self._cache.listen(listener, send_old)

    def get(self, key: K) -> V | None:
        """The value of a key, or None."""
        self._check(key)
        item = self._get(key)
        return None if item is None else self._shown(item)

    def put(self, key: K, value: V | None) -> None:
        """Set a key; None deletes it."""
        self._check(key)
        context = self._context
        self._put(key, None if value is None else self._kept(value), context.timestamp, context.headers)

    def put_if_absent(self, key: K, value: V | None) -> V | None:
        """Set a key that is not there. Returns the value that was there, or None."""
        found = self.get(key)
        if found is None:
            self.put(key, value)
        return found

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """Set many keys."""
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: K) -> V | None:
        """Remove a key. Returns the value that was there, or None."""
        found = self.get(key)
        self.put(key, None)
        return found

    def range(self, low: K | None = None, high: K | None = None) -> Iterator[tuple[K, V]]:
        """Entries with `low <= key <= high` by serialised bytes; None leaves an end open."""
        return self._between(low, high, False)

    def reverse_range(self, low: K | None = None, high: K | None = None) -> Iterator[tuple[K, V]]:
        """The entries of `range`, the greatest key first."""
        return self._between(low, high, True)

    def all(self) -> Iterator[tuple[K, V]]:
        """All entries, by serialised key."""
        return self._scan(None, None, False)

    def reverse_all(self) -> Iterator[tuple[K, V]]:
        """All entries, the greatest key first."""
        return self._scan(None, None, True)

    def prefix_scan(self, prefix: P, serializer: Callable[[P], bytes]) -> Iterator[tuple[K, V]]:
        """Entries whose serialised key starts with the serialised prefix."""
        low = serializer(prefix)
        return self._scan(low, after_prefix(low), False)

    def approximate_num_entries(self) -> int:
        """How many entries there are, not counting what is only in the cache. In memory exact."""
        return len(self._rows.map)

    def _between(self, low: K | None, high: K | None, reverse: bool) -> Iterator[tuple[K, V]]:
        serialize = self._key.serialize
        lowest = None if low is None else serialize(low)
        highest = None if high is None else serialize(high)
        if lowest is not None and highest is not None and lowest > highest:
            log.warning("%s: the range from %r to %r is upside down in serialised order: empty", self.name, low, high)
            return iter(())
        return self._scan(lowest, None if highest is None else after(highest), reverse)

    def _scan(self, low: bytes | None, high: bytes | None, reverse: bool) -> Iterator[tuple[K, V]]:
        shown = self._shown
        if self._cache is not None:
            return ((key, shown(item)) for key, item in self._cache.scan(low, high, reverse))
        deserialize, decode = self._key.deserialize, self._codec.decode
        return ((deserialize(key), shown(decode(data))) for key, data in self._rows.scan(low, high, reverse))


class KeyValueStore(KeyValueBase[K, V, V]):
    """Keys and values.

    Every method that takes two keys as bounds includes both; the order is that of the serialised keys.
    """

    def __init__(
        self, supplier: StoreSupplier, key: Serde[K], value: Serde[V], *, caching: bool = False, logged: bool = True
    ) -> None:
        super().__init__(supplier, key, codec.plain(value), caching=caching, logged=logged)

    def _shown(self, item: V) -> V:
        return item

    def _kept(self, value: V) -> V:
        return value


class TimestampedKeyValueStore(KeyValueBase[K, ValueAndTimestamp[V], tuple[V, int]]):
    """Keys and values, each with the time it is valid from. What tables are kept in.

    Operators use `read` and `write`; they are attributes, set by `init` to the fastest way there is.
    """

    _timestamped = True

    #: `read(key)`: `(value, timestamp)`, or None.
    read: Callable[[K], tuple[V, int] | None]
    #: `write(key, value, timestamp, headers=None)`: set a key, or delete it (None). Returns `LATEST`.
    write: Callable[..., int]
    #: `folding(initializer, aggregator)`: a `fold` that does what `read` and `write` would; None if it is not cached.
    folding: Callable[[Callable[[], Any], Callable[[Any, Any, Any], Any]], Fold] | None

    def __init__(
        self, supplier: StoreSupplier, key: Serde[K], value: Serde[V], *, caching: bool = False, logged: bool = True
    ) -> None:
        super().__init__(supplier, key, codec.timestamped(value), caching=caching, logged=logged)

    def init(self, context: StoreContext) -> None:
        super().init(context)
        self.read = self._get
        self.folding = None if self._cache is None else self._cache.folding
        self.write = self._write_row if self._cache is None else self._cache.write

    def _write_row(self, key: K, value: Any, timestamp: int, headers: Headers | None = None) -> int:
        self._rows.put(key, None if value is None else (value, timestamp))
        return LATEST

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        return (split_timestamped(key, data, time) for key, data in changes.items())

    def apply_records(self, records: Iterable[LogRecord]) -> None:
        self.apply_changes(starmap(join_timestamped, records))

    def put(self, key: K, value: ValueAndTimestamp[V] | None) -> None:
        """Set a key; None deletes it."""
        self._check(key)
        context = self._context
        if value is None or value[0] is None:
            self.write(key, None, context.timestamp, context.headers)
        else:
            self.write(key, value[0], value[1], context.headers)

    def _shown(self, item: tuple[V, int]) -> ValueAndTimestamp[V]:
        return ValueAndTimestamp(*item)

    def _kept(self, value: ValueAndTimestamp[V]) -> tuple[V, int]:
        return value[0], value[1]
