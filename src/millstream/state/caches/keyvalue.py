"""The write-back cache of key-value stores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import count
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast

from millstream.records import Headers
from millstream.state.backends.overlay import overlay
from millstream.state.caches.cache import Budget, Entries, Origin, record_context_kept
from millstream.state.keyvalue_rows import KeyValueRows
from millstream.state.store import LATEST, Fold, KeyValueListener, StoreContext

K = TypeVar("K")
T = TypeVar("T")


#: What the listener is to be told: key, new, old, timestamp, offset, origin.
_Flushed = tuple[Any, Any, Any, int, int, Origin]


class KeyValueCache(Generic[K, T]):
    """Keeps the objects of a key-value store. See `millstream.state.caches.cache`.

    `read`, `write` and what `folding` gives run for every record. They are closures over the columns of the entries: a
    hit is a handful of operations, and no attribute of `self` is looked up.
    """

    #: `read(key)`: the object under a key, or None.
    read: Callable[[K], T | None]
    #: `write(key, value, timestamp, headers=None)`: set a key, or remove it (None).
    write: Callable[..., int]
    #: `put(key, item, timestamp, headers)`: the same where items are plain values.
    put: Callable[[K, T | None, int, Headers | None], Any]

    def __init__(self, rows: KeyValueRows[K, T], context: StoreContext, *, timestamped: bool) -> None:
        self._rows = rows
        self._context = context
        self._timestamped = timestamped
        self._slots: dict[Hashable, int] = {}
        self._entries = Entries()
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
        entries, slots, context, budget = self._entries, self._slots, self._context, self._budget
        keys, values, times, numbers = entries.keys, entries.values, entries.times, entries.numbers
        offsets, origins, written, add = entries.offsets, entries.origins, entries.written, entries.add
        get, following, load, overflow = slots.get, self._next, self._load, self._write_down
        timestamped = self._timestamped
        origin: Origin = None, -1, None
        topic, partition, kept = origin
        # Keys that are no dict keys are told apart by their bytes.
        serialize = None if self._rows.key.hashable else self._rows.key.serialize

        def read(key: Any) -> Any:
            ident = key if serialize is None else serialize(key)
            slot = get(ident)
            if slot is None:
                slot = load(ident, key)
                if slot is None:
                    return None
            value = values[slot]
            return (value, times[slot]) if timestamped and value is not None else value

        def write(key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> int:
            nonlocal origin, topic, partition, kept
            ident = key if serialize is None else serialize(key)
            slot = get(ident)
            if slot is None:
                slot = slots[ident] = add(key)
            values[slot] = value
            times[slot] = timestamp
            numbers[slot] = following()
            offsets[slot] = context.offset
            if headers is not kept or context.topic is not topic or context.partition != partition:
                origin = topic, partition, kept = context.topic, context.partition, headers
            if serialize is not None:
                keys[slot] = key  # the bytes are the same, the object may differ
            before = origins[slot]
            if before is not origin:
                origins[slot] = origin
                if before is None:
                    keys[slot] = key
                    written[slot] = None
                    if len(written) > budget.dirty:
                        overflow()
            return LATEST

        self.read, self.write, self.put = read, write, write

    def folding(self, initializer: Callable[[], Any], aggregator: Callable[[Any, Any, Any], Any]) -> Fold:
        """`fold(key, value, timestamp, headers)`: a `read`, the aggregator and a `write` in one, for aggregations."""
        entries, slots, context, budget = self._entries, self._slots, self._context, self._budget
        keys, values, times, numbers = entries.keys, entries.values, entries.times, entries.numbers
        offsets, origins, written, add = entries.offsets, entries.origins, entries.written, entries.add
        get, following, load, overflow = slots.get, self._next, self._load, self._write_down
        serialize = None if self._rows.key.hashable else self._rows.key.serialize
        origin: Origin = None, -1, None
        topic, partition, kept = origin

        def fold(key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
            nonlocal origin, topic, partition, kept
            ident = key if serialize is None else serialize(key)
            slot = get(ident)
            if slot is None:
                slot = load(ident, key)
                if slot is None:
                    slot = slots[ident] = add(key)
            old = values[slot]
            if old is None:
                new = aggregator(key, value, initializer())
                times[slot] = timestamp
            else:
                new = aggregator(key, value, old)
                # A deletion is as old as the record that made it, a value as its newest record.
                if timestamp > times[slot] or new is None:
                    times[slot] = timestamp
            values[slot] = new
            numbers[slot] = following()
            offsets[slot] = context.offset
            if headers is not kept or context.topic is not topic or context.partition != partition:
                origin = topic, partition, kept = context.topic, context.partition, headers
            if serialize is not None:
                keys[slot] = key  # the bytes are the same, the object may differ
            before = origins[slot]
            if before is not origin:
                origins[slot] = origin
                if before is None:
                    keys[slot] = key
                    written[slot] = None
                    if len(written) > budget.dirty:
                        overflow()

        return fold

    def _load(self, ident: Hashable, key: K) -> int | None:
        """Read from the rows below, and keep what is there. Returns its slot."""
        item: Any = self._rows.get(key)
        if item is None:
            return None
        if len(self._slots) >= self._budget.clean:
            self._trim()
        entries = self._entries
        slot = self._slots[ident] = entries.add(key)
        entries.numbers[slot] = self._next()
        if self._timestamped:
            entries.values[slot], entries.times[slot] = item
        else:
            entries.values[slot] = item
        return slot

    def scan(self, low: bytes | None, high: bytes | None, reverse: bool) -> Iterator[tuple[K, T]]:
        """Rows with `low <= key < high`, in the order of their bytes: dirty entries over the rows below."""
        serialize, keys = self._rows.key.serialize, self._entries.keys
        dirty = []
        for slot in self._entries.written:
            binary = serialize(keys[slot])
            if (low is None or low <= binary) and (high is None or binary < high):
                dirty.append((binary, keys[slot]))
        dirty.sort(key=itemgetter(0), reverse=reverse)
        below = ((row[0], row) for row in self._rows.scan(low, high, reverse))
        return self._merged(overlay(below, dirty, reverse))

    def _merged(self, merged: Iterator[tuple[tuple[bytes, bytes] | None, K | None]]) -> Iterator[tuple[K, T]]:
        deserialize, decode = self._rows.key.deserialize, self._rows.codec.decode
        for row, key in merged:
            if row is not None:
                yield deserialize(row[0]), decode(row[1])
            elif key is not None:
                item = self.read(key)  # as it is now: whoever iterates may write
                if item is not None:
                    yield key, item

    def is_flushed(self) -> bool:
        """Whether nothing is dirty."""
        return not self._entries.written

    def forget(self) -> None:
        """Forget what was flushed; the rows below change. Nothing may be dirty."""
        self._slots.clear()
        self._entries.clear()

    def forget_expired(self) -> None:
        """Nothing here expires."""

    def flush(self) -> None:
        """Write down and forward what is dirty."""
        self._write_down()
        self._budget.committed()

    def _write_down(self) -> None:
        # Taken first: what the listener writes here belongs to the next flush.
        batch = self._entries.take_written()
        if not batch:
            return
        rows, entries, listening = self._rows, self._entries, self._listener is not None
        codec, serialize, get = rows.codec, rows.key.serialize, rows.get_bytes
        writes: dict[bytes, bytes | None] = {}
        forwards: list[_Flushed] = []
        size = 0
        for slot in batch:
            key, value, timestamp = entries.keys[slot], entries.values[slot], entries.times[slot]
            origin, entries.origins[slot] = cast("Origin", entries.origins[slot]), None
            try:
                binary = serialize(key)
            except Exception as error:
                raise rows.key.serialization_error(key, error) from error
            old = get(binary) if listening and (value is None or self._send_old) else None
            if value is None:
                del self._slots[key if rows.key.hashable else binary]
                entries.remove(slot)
                if listening and old is None:
                    continue  # neither was nor is there
                writes[binary] = None
            else:
                item: Any = (value, timestamp) if self._timestamped else value
                try:
                    data = codec.encode(item)
                except Exception as error:
                    raise codec.serde.serialization_error(item, error) from error
                writes[binary] = data
                size += len(binary) + len(data)
                if codec.copies and listening:
                    value = self._value(data)
            if listening:
                before = self._value(old) if old is not None and self._send_old else None
                forwards.append((key, value, before, timestamp, entries.offsets[slot], origin))
        rows.write_bytes(writes)
        self._budget.learn(len(batch), size)
        if len(self._slots) > self._budget.clean:
            self._trim()
        if self._listener is not None:
            self._forward(self._listener, forwards)

    def _value(self, data: bytes) -> Any:
        item: Any = self._rows.codec.decode(data)
        return item[0] if self._timestamped else item

    def _forward(self, listener: KeyValueListener, forwards: list[_Flushed]) -> None:
        context = self._context
        context.forwarding()
        with record_context_kept(context):
            for key, new, old, timestamp, offset, (topic, partition, headers) in forwards:
                context.topic, context.partition, context.offset = topic, partition, offset
                context.timestamp, context.headers = timestamp, headers
                listener(key, new, old, timestamp, headers)

    def _trim(self) -> None:
        """Forget the entries not used for longest, half of them: each time, all of them are gone through."""
        entries = self._entries
        clean = [(entries.numbers[slot], ident) for ident, slot in self._slots.items() if entries.origins[slot] is None]
        clean.sort(key=itemgetter(0))
        surplus = len(self._slots) - self._budget.clean // 2
        for _, ident in clean[:surplus]:
            entries.remove(self._slots.pop(ident))
