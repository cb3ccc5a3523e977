"""The write-back cache of window and session stores. See `millstream.state.caches.cache`.

As in Kafka Streams, what is in the cache does not expire: it can be read until it is pushed out, also after the store
below has forgotten it. Reads do not fill the cache.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterator
from itertools import count
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast

from millstream.records import Headers
from millstream.state.backends.overlay import overlay
from millstream.state.backends.timetable import Row
from millstream.state.caches.cache import Budget, Entries, Origin, record_context_kept
from millstream.state.retention import ExpiringRows
from millstream.state.store import StoreContext

K = TypeVar("K")
T = TypeVar("T")

#: What the listener is to be told: key, place, new, old, timestamp, offset, origin.
_Flushed = tuple[Any, Any, Any, Any, int, int, Origin]


class TimedCache(ABC, Generic[K, T]):
    """Keeps the objects of a window or session store.

    A *place* is where a row of a key is: a window's start, or a session's `(end, start)`. Places of a key sort by time.

    Args:
        rows: the store below.
        context: the task.
        timestamped: items are pairs of value and timestamp.
    """

    #: `read(key, place)`: the item there, or None.
    read: Callable[[K, Any], T | None]
    #: `put(key, place, item, timestamp, headers)`: set an item, or remove it (None).
    put: Callable[[K, Any, T | None, int, Headers | None], None]

    def __init__(self, rows: ExpiringRows[K, T], context: StoreContext, *, timestamped: bool = False) -> None:
        self._rows = rows
        self._context = context
        self._timestamped = timestamped
        #: Of each key: the slots of its entries by place, and the places in order.
        self._slots: dict[Hashable, tuple[dict[Any, int], list[Any]]] = {}
        #: Of an entry, `keys` has key and place.
        self._entries = Entries()
        self._count = 0
        self._index: PlaceIndex | None = None
        self._budget = Budget(context.cache_max_bytes)
        self._listener: Callable[..., None] | None = None
        self._send_old = False
        self._following = count(1).__next__
        self._bind()

    def listen(self, listener: Callable[..., None], send_old: bool) -> None:
        """Tell the listener what is flushed."""
        self._listener = listener
        self._send_old = send_old

    @abstractmethod
    def _row(self, place: Any) -> tuple[int, int]:
        """Time and number of a place."""

    @abstractmethod
    def _bound(self, time: int) -> Any:
        """What is not after any place of that time, and after all places before it."""

    @abstractmethod
    def _tell(
        self,
        listener: Callable[..., None],
        key: K,
        place: Any,
        new: Any,
        old: Any,
        timestamp: int,
        headers: Headers | None,
    ) -> None:
        """Call the listener for an entry."""

    def _bind(self) -> None:
        """Make `read` and `put`: they run for every record, so they are closures and look nothing up in `self`."""
        get, entries, context, budget = self._slots.get, self._entries, self._context, self._budget
        values, times, numbers = entries.values, entries.times, entries.numbers
        offsets, origins, written = entries.offsets, entries.origins, entries.written
        following, load, insert, overflow = self._following, self.load, self._insert, self._write_down
        timestamped = self._timestamped
        origin: Origin = None, -1, None
        topic, partition, kept = origin
        # Keys that are no dict keys are told apart by their bytes.
        serialize = None if self._rows.key.hashable else self._rows.key.serialize

        def read(key: Any, place: Any) -> Any:
            of_key = get(key if serialize is None else serialize(key))
            if of_key is not None:
                slot = of_key[0].get(place)
                if slot is not None:
                    value = values[slot]
                    return (value, times[slot]) if timestamped and value is not None else value
            return load(key, place)

        def put(key: Any, place: Any, item: Any, timestamp: int, headers: Headers | None) -> None:
            nonlocal origin, topic, partition, kept
            ident = key if serialize is None else serialize(key)
            of_key = get(ident)
            slot = None if of_key is None else of_key[0].get(place)
            if slot is None:
                slot = insert(ident, key, place)
            if timestamped and item is not None:
                values[slot], times[slot] = item
            else:
                values[slot] = item
                times[slot] = timestamp
            numbers[slot] = following()
            offsets[slot] = context.offset
            if headers is not kept or context.topic is not topic or context.partition != partition:
                origin = topic, partition, kept = context.topic, context.partition, headers
            before = origins[slot]
            if before is not origin:
                origins[slot] = origin
                if before is None:
                    written[slot] = None
                    if len(written) > budget.dirty:
                        overflow()

        self.read, self.put = read, put

    def _insert(self, ident: Hashable, key: K, place: Any) -> int:
        """Make an entry. Returns its slot."""
        of_key = self._slots.get(ident)
        if of_key is None:
            of_key = self._slots[ident] = ({}, [])
        slot = of_key[0][place] = self._entries.add((key, place))
        insort(of_key[1], place)
        self._count += 1
        if self._index is not None:
            self._index.add(place, ident, slot)
        return slot

    def _discard(self, key: K, place: Any) -> None:
        """Forget an entry, if there is one."""
        ident = self._ident(key)
        of_key = self._slots.get(ident)
        slot = None if of_key is None else of_key[0].pop(place, None)
        if of_key is None or slot is None:
            return
        del of_key[1][bisect_left(of_key[1], place)]
        if not of_key[1]:
            del self._slots[ident]
        self._count -= 1
        self._entries.remove(slot)
        if self._index is not None:
            self._index.remove(place, ident)

    def _indexed(self) -> PlaceIndex:
        """The entries by place; kept from the first time that somebody asks for it."""
        if self._index is None:
            self._index = PlaceIndex()
            for ident, (slots, _) in self._slots.items():
                for place, slot in slots.items():
                    self._index.add(place, ident, slot)
        return self._index

    def _ident(self, key: K) -> Hashable:
        return cast("Hashable", key) if self._rows.key.hashable else self._rows.key.serialize(key)

    def load(self, key: K, place: Any) -> T | None:
        """Read from the rows below."""
        data = self._rows.get(key, *self._row(place))
        return None if data is None else self._rows.codec.decode(data)

    def of_key(self, key: K, earliest: int, latest: int, reverse: bool) -> Iterator[tuple[Any, T]]:
        """(place, item) of a key with a time between the two, in order."""
        rows = self._rows
        below = rows.of_key(key, earliest, latest, reverse)
        of_key = self._slots.get(self._ident(key))
        if of_key is None:
            return ((self._place(time, number), rows.codec.decode(data)) for time, number, data in below)
        above = [(place, (key, place)) for place in self._between(of_key[1], earliest, latest)]
        if reverse:
            above.reverse()
        lower = ((self._place(time, number), (time, number, data)) for time, number, data in below)
        return self._items(overlay(lower, above, reverse))

    def _between(self, places: list[Any], earliest: int, latest: int) -> list[Any]:
        """Of places in order, those with a time between the two."""
        return places[bisect_left(places, self._bound(earliest)) : bisect_left(places, self._bound(latest + 1))]

    @abstractmethod
    def _place(self, time: int, number: int) -> Any:
        """The place of a row."""

    def _items(
        self, merged: Iterator[tuple[tuple[int, int, bytes] | None, tuple[K, Any] | None]]
    ) -> Iterator[tuple[Any, T]]:
        decode = self._rows.codec.decode
        for row, entry in merged:
            if row is not None:
                yield self._place(row[0], row[1]), decode(row[2])
            elif entry is not None:
                item = self.read(*entry)  # as it is now: whoever iterates may write
                if item is not None:
                    yield entry[1], item

    def over(
        self,
        below: Iterator[Row],
        earliest: int,
        latest: int,
        low: bytes | None,
        high: bytes | None,
        reverse: bool,
        *,
        by_time: bool,
    ) -> Iterator[tuple[K, Any, T]]:
        """(key, place, item) of many keys: the cache's entries over rows of the store below, in the same order."""
        rows = self._rows
        order = rows.time_order if by_time else rows.segment_order
        index = self._indexed()
        above = []
        for place in self._between(index.places, earliest, latest):
            for slot in index.at[place].values():
                key = self._entries.keys[slot][0]
                binary = rows.key.serialize(key)
                if (low is None or low <= binary) and (high is None or binary <= high):
                    above.append((order(binary, *self._row(place)), (key, place)))
        above.sort(key=itemgetter(0), reverse=reverse)
        lower = ((order(*row[:3]), row) for row in below)
        return self._many(overlay(lower, above, reverse))

    def _many(self, merged: Iterator[tuple[Row | None, tuple[K, Any] | None]]) -> Iterator[tuple[K, Any, T]]:
        deserialize, decode = self._rows.key.deserialize, self._rows.codec.decode
        for row, entry in merged:
            if row is not None:
                yield deserialize(row[0]), self._place(row[1], row[2]), decode(row[3])
            elif entry is not None:
                item = self.read(*entry)
                if item is not None:
                    yield *entry, item

    def is_flushed(self) -> bool:
        """Whether nothing is dirty."""
        return not self._entries.written

    def forget(self) -> None:
        """Forget what was flushed; the rows below change. Nothing may be dirty."""
        self._slots.clear()
        self._entries.clear()
        self._count = 0
        if self._index is not None:
            self._index.clear()

    def forget_expired(self) -> None:
        """Forget what cannot be read from the rows below any more. Nothing may be dirty."""
        bound = self._bound(self._rows.horizon)
        for slots, places in list(self._slots.values()):
            for place in places[: bisect_left(places, bound)]:
                self._discard(*self._entries.keys[slots[place]])

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
        forwards: list[_Flushed] = []
        size = 0
        for slot in batch:
            (key, place), value, timestamp = entries.keys[slot], entries.values[slot], entries.times[slot]
            offset, origin = entries.offsets[slot], cast("Origin", entries.origins[slot])
            entries.origins[slot] = None
            time, number = self._row(place)
            old = rows.get(key, time, number) if listening and (value is None or self._send_old) else None
            if value is None:
                self._discard(key, place)
                if listening and old is None:
                    continue  # neither was nor is there
            item: Any = (value, timestamp) if self._timestamped and value is not None else value
            data = rows.put(key, time, number, item)
            if listening:
                if data is not None and rows.codec.copies:
                    value = self._value(data)
                before = self._value(old) if old is not None and self._send_old else None
                forwards.append((key, place, value, before, timestamp, offset, origin))
            size += 0 if data is None else len(data)
        self._budget.learn(len(batch), size)
        if self._count > self._budget.clean:
            self._trim()
        if self._listener is not None:
            self._forward(self._listener, forwards)

    def _value(self, data: bytes) -> Any:
        item: Any = self._rows.codec.decode(data)
        return item[0] if self._timestamped else item

    def _forward(self, listener: Callable[..., None], forwards: list[_Flushed]) -> None:
        context = self._context
        context.forwarding()
        with record_context_kept(context):
            for key, place, new, old, timestamp, offset, (topic, partition, headers) in forwards:
                context.topic, context.partition, context.offset = topic, partition, offset
                context.timestamp, context.headers = timestamp, headers
                self._tell(listener, key, place, new, old, timestamp, headers)

    def _trim(self) -> None:
        """Forget the entries not written for longest, half of them: each time, all of them are gone through."""
        slots = [slot for of_key in self._slots.values() for slot in of_key[0].values()]
        slots.sort(key=self._entries.numbers.__getitem__)
        for slot in slots[: self._count - self._budget.clean // 2]:
            self._discard(*self._entries.keys[slot])


class PlaceIndex:
    """Entries by place, and the places in order."""

    def __init__(self) -> None:
        #: Of each place, the slots of the keys that have an entry there.
        self.at: dict[Any, dict[Hashable, int]] = {}
        self.places: list[Any] = []

    def add(self, place: Any, ident: Hashable, slot: int) -> None:
        """Put an entry in."""
        slots = self.at.get(place)
        if slots is None:
            slots = self.at[place] = {}
            insort(self.places, place)
        slots[ident] = slot

    def remove(self, place: Any, ident: Hashable) -> None:
        """Take an entry out."""
        slots = self.at[place]
        del slots[ident]
        if not slots:
            del self.at[place]
            del self.places[bisect_left(self.places, place)]

    def clear(self) -> None:
        """Take all out."""
        self.at.clear()
        self.places.clear()
