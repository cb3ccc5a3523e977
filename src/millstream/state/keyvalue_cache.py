"""The write-back cache of key-value stores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import count
from operator import itemgetter
from typing import Any, Generic, TypeVar

from millstream.records import Headers
from millstream.state.cache import Budget, record_context_kept
from millstream.state.keyvalue_rows import KeyValueRows
from millstream.state.overlay import overlay
from millstream.state.store import LATEST, Fold, KeyValueListener, StoreContext

K = TypeVar("K")
T = TypeVar("T")

#: A mutable list: item or None, number of the write, key, timestamp, headers, topic, partition, offset, dirty
_Entry = list[Any]
_ITEM, _NUMBER, _KEY, _TIMESTAMP, _HEADERS, _TOPIC, _PARTITION, _OFFSET, _DIRTY = range(9)


class KeyValueCache(Generic[K, T]):
    """Keeps the objects of a key-value store. See `millstream.state.cache`.

    `read`, `put` and `write` run for every record. They are closures over two dicts: a hit of either is a handful of
    operations, and no attribute of `self` is looked up.
    """

    #: `read(key)`: the object under a key, or None.
    read: Callable[[K], T | None]
    #: `put(key, item, timestamp, headers)`: set a key, or remove it (None).
    put: Callable[[K, T | None, int, Headers | None], None]
    #: `write(key, value, timestamp, headers=None)`: the same where items are pairs of value and timestamp.
    write: Callable[..., int]

    def __init__(self, rows: KeyValueRows[K, T], context: StoreContext, *, timestamped: bool) -> None:
        self._rows = rows
        self._context = context
        self._timestamped = timestamped
        self._entries: dict[Hashable, _Entry] = {}
        self._dirty: dict[Hashable, _Entry] = {}
        self._budget = Budget(context.cache_max_bytes)
        self._next = count(1).__next__
        self._listener: KeyValueListener | None = None
        self._send_old = False
        self._bind()

    def listen(self, listener: KeyValueListener, send_old: bool) -> None:
        """Tell the listener what is flushed."""
        self._listener = listener
        self._send_old = send_old

    def _bind(self) -> None:
        entries, dirty, context, budget = self._entries, self._dirty, self._context, self._budget
        get, following, load, overflow = entries.get, self._next, self._load, self._write_down
        # Keys that are no dict keys are told apart by their bytes.
        serialize = None if self._rows.key.hashable else self._rows.key.serialize

        def read(key: Any) -> Any:
            ident = key if serialize is None else serialize(key)
            entry = get(ident)
            return load(ident, key) if entry is None else entry[0]

        def put(key: Any, item: Any, timestamp: int, headers: Headers | None) -> None:
            ident = key if serialize is None else serialize(key)
            entry = get(ident)
            if entry is None:
                entry = entries[ident] = [None, 0, key, 0, None, None, -1, -1, False]
            entry[_ITEM] = item
            entry[_NUMBER] = following()
            entry[_KEY] = key
            entry[_TIMESTAMP] = timestamp
            entry[_HEADERS] = headers
            entry[_TOPIC] = context.topic
            entry[_PARTITION] = context.partition
            entry[_OFFSET] = context.offset
            if not entry[_DIRTY]:
                entry[_DIRTY] = True
                dirty[ident] = entry
                if len(dirty) > budget.dirty:
                    overflow()

        def write(key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> int:
            put(key, None if value is None else (value, timestamp), timestamp, headers)
            return LATEST

        self.read, self.put, self.write = read, put, write

    def folding(self, initializer: Callable[[], Any], aggregator: Callable[[Any, Any, Any], Any]) -> Fold:
        """`fold(key, value, timestamp, headers)`: a `read`, the aggregator and a `write` in one, for aggregations."""
        entries, dirty, context, budget = self._entries, self._dirty, self._context, self._budget
        get, following, load, overflow = entries.get, self._next, self._load, self._write_down
        serialize = None if self._rows.key.hashable else self._rows.key.serialize

        def fold(key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
            ident = key if serialize is None else serialize(key)
            entry = get(ident)
            item: Any = load(ident, key) if entry is None else entry[0]
            if item is None:
                newest = timestamp
                new = aggregator(key, value, initializer())
            else:
                old, newest = item
                if timestamp > newest:
                    newest = timestamp
                new = aggregator(key, value, old)
            if entry is None:
                entry = get(ident)  # a load may have put it there
                if entry is None:
                    entry = entries[ident] = [None, 0, key, 0, None, None, -1, -1, False]
            entry[_NUMBER] = following()
            entry[_KEY] = key
            entry[_HEADERS] = headers
            entry[_TOPIC] = context.topic
            entry[_PARTITION] = context.partition
            entry[_OFFSET] = context.offset
            if new is None:  # a deletion is as old as the record that made it, a value as its newest record
                entry[_ITEM] = None
                entry[_TIMESTAMP] = timestamp
            else:
                entry[_ITEM] = (new, newest)
                entry[_TIMESTAMP] = newest
            if not entry[_DIRTY]:
                entry[_DIRTY] = True
                dirty[ident] = entry
                if len(dirty) > budget.dirty:
                    overflow()

        return fold

    def _load(self, ident: Hashable, key: K) -> T | None:
        """Read from the rows below, and keep what is there."""
        item = self._rows.get(key)
        if item is not None:
            if len(self._entries) >= self._budget.clean:
                self._trim()
            self._entries[ident] = [item, self._next(), key, 0, None, None, -1, -1, False]
        return item

    def scan(self, low: bytes | None, high: bytes | None, reverse: bool) -> Iterator[tuple[K, T]]:
        """Rows with `low <= key < high`, in the order of their bytes: dirty entries over the rows below."""
        serialize = self._rows.key.serialize
        dirty = []
        for entry in self._dirty.values():
            binary = serialize(entry[_KEY])
            if (low is None or low <= binary) and (high is None or binary < high):
                dirty.append((binary, entry))
        dirty.sort(key=itemgetter(0), reverse=reverse)
        below = ((row[0], row) for row in self._rows.scan(low, high, reverse))
        return self._merged(overlay(below, dirty, reverse))

    def _merged(self, merged: Iterator[tuple[tuple[bytes, bytes] | None, _Entry | None]]) -> Iterator[tuple[K, T]]:
        deserialize, decode = self._rows.key.deserialize, self._rows.codec.decode
        for row, entry in merged:
            if row is not None:
                yield deserialize(row[0]), decode(row[1])
            elif entry is not None and entry[_ITEM] is not None:
                yield entry[_KEY], entry[_ITEM]

    def is_flushed(self) -> bool:
        """Whether nothing is dirty."""
        return not self._dirty

    def forget(self) -> None:
        """Forget what was flushed; the rows below change. Nothing may be dirty."""
        self._entries.clear()

    def flush(self) -> None:
        """Write down and forward what is dirty."""
        self._write_down()
        self._budget.committed()

    def _write_down(self) -> None:
        if not self._dirty:
            return
        batch = sorted(self._dirty.items(), key=lambda item: item[1][_NUMBER])
        # Cleared first: what the listener writes here belongs to the next flush.
        self._dirty.clear()
        rows, listening = self._rows, self._listener is not None
        codec, serialize, get = rows.codec, rows.key.serialize, rows.get_bytes
        writes: dict[bytes, bytes | None] = {}
        forwards: list[tuple[_Entry, Any, Any]] = []
        size = 0
        for ident, entry in batch:
            entry[_DIRTY] = False
            item, key = entry[_ITEM], entry[_KEY]
            try:
                binary = serialize(key)
            except Exception as error:
                raise rows.key.serialization_error(key, error) from error
            old = get(binary) if listening and (item is None or self._send_old) else None
            if item is None:
                del self._entries[ident]
                if listening and old is None:
                    continue  # neither was nor is there
                writes[binary] = None
            else:
                try:
                    data = codec.encode(item)
                except Exception as error:
                    raise codec.serde.serialization_error(item, error) from error
                writes[binary] = data
                size += len(binary) + len(data)
                if codec.copies and listening:
                    item = codec.decode(data)
            if listening:
                # A copy: the listener may write here, and change the entry.
                forwards.append((entry[:], item, codec.decode(old) if old is not None and self._send_old else None))
        rows.write_bytes(writes)
        self._budget.learn(len(batch), size)
        if len(self._entries) > self._budget.clean:
            self._trim()
        if self._listener is not None:
            self._forward(self._listener, forwards)

    def _forward(self, listener: KeyValueListener, forwards: list[tuple[_Entry, Any, Any]]) -> None:
        context, timestamped = self._context, self._timestamped
        with record_context_kept(context):
            for entry, new, old in forwards:
                _, _, key, timestamp, headers, context.topic, context.partition, context.offset, _ = entry
                context.timestamp, context.headers = timestamp, headers
                if timestamped:
                    if new is not None:
                        new, timestamp = new
                    if old is not None:
                        old = old[0]
                listener(key, new, old, timestamp, headers)

    def _trim(self) -> None:
        """Forget the entries not used for longest, a tenth more than needed so that this is rare."""
        clean = [item for item in self._entries.items() if item[0] not in self._dirty]
        clean.sort(key=lambda item: item[1][_NUMBER])
        surplus = len(self._entries) - self._budget.clean * 9 // 10
        for ident, _ in clean[:surplus]:
            del self._entries[ident]
