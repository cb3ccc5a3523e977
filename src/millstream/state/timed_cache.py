"""The write-back cache of window and session stores. See `millstream.state.cache`.

As in Kafka Streams, what is in the cache does not expire: it can be read until it is pushed out, also after the store
below has forgotten it. Reads do not fill the cache.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterator
from itertools import count
from operator import itemgetter
from typing import Any, Generic, TypeVar

from millstream.records import Headers
from millstream.state.cache import Budget, record_context_kept
from millstream.state.overlay import overlay
from millstream.state.retention import ExpiringRows
from millstream.state.store import StoreContext
from millstream.state.timetable import Row

K = TypeVar("K")
T = TypeVar("T")

#: A mutable list: item or None, number of the write, key, place, timestamp, headers, topic, partition, offset, dirty
Entry = list[Any]
ITEM, NUMBER, KEY, PLACE, TIMESTAMP, HEADERS, TOPIC, PARTITION, OFFSET, DIRTY = range(10)
_number_of = itemgetter(NUMBER)


class TimedCache(ABC, Generic[K, T]):
    """Keeps the objects of a window or session store.

    A *place* is where a row of a key is: a window's start, or a session's `(end, start)`. Places of a key sort by time.
    """

    #: `read(key, place)`: the item there, or None.
    read: Callable[[K, Any], T | None]
    #: `put(key, place, item, timestamp, headers)`: set an item, or remove it (None).
    put: Callable[[K, Any, T | None, int, Headers | None], None]

    def __init__(self, rows: ExpiringRows[K, T], context: StoreContext) -> None:
        self._rows = rows
        self._context = context
        #: Of each key: its entries by place, and the places in order.
        self._entries: dict[Hashable, tuple[dict[Any, Entry], list[Any]]] = {}
        self._count = 0
        self._dirty: dict[int, Entry] = {}
        self._index: TimeIndex | None = None
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
        entry: Entry,
        new: Any,
        old: Any,
    ) -> None:
        """Call the listener for an entry."""

    def _bind(self) -> None:
        """Make `read` and `put`: they run for every record, so they are closures and look nothing up in `self`."""
        entries, dirty, context, budget = self._entries, self._dirty, self._context, self._budget
        get, following, load, overflow = entries.get, self._following, self.load, self._write_down
        # Keys that are no dict keys are told apart by their bytes.
        serialize = None if self._rows.key.hashable else self._rows.key.serialize

        def read(key: Any, place: Any) -> Any:
            of_key = get(key if serialize is None else serialize(key))
            if of_key is not None:
                entry = of_key[0].get(place)
                if entry is not None:
                    return entry[0]
            return load(key, place)

        def put(key: Any, place: Any, item: Any, timestamp: int, headers: Headers | None) -> None:
            ident = key if serialize is None else serialize(key)
            of_key = get(ident)
            if of_key is None:
                of_key = entries[ident] = ({}, [])
            entry = of_key[0].get(place)
            if entry is None:
                entry = self._insert(of_key, key, place)
            entry[ITEM] = item
            entry[NUMBER] = following()
            entry[TIMESTAMP] = timestamp
            entry[HEADERS] = headers
            entry[TOPIC] = context.topic
            entry[PARTITION] = context.partition
            entry[OFFSET] = context.offset
            if not entry[DIRTY]:
                entry[DIRTY] = True
                dirty[id(entry)] = entry
                if len(dirty) > budget.dirty:
                    overflow()

        self.read, self.put = read, put

    def _insert(self, of_key: tuple[dict[Any, Entry], list[Any]], key: K, place: Any) -> Entry:
        entry: Entry = [None, 0, key, place, 0, None, None, -1, -1, False]
        of_key[0][place] = entry
        insort(of_key[1], place)
        self._count += 1
        if self._index is not None:
            self._index.add(self._row(place)[0], entry)
        return entry

    def _discard(self, key: K, place: Any) -> None:
        """Forget an entry, if there is one."""
        ident: Any = key if self._rows.key.hashable else self._rows.key.serialize(key)
        of_key = self._entries.get(ident)
        entry = None if of_key is None else of_key[0].pop(place, None)
        if of_key is None or entry is None:
            return
        del of_key[1][bisect_left(of_key[1], place)]
        if not of_key[1]:
            del self._entries[ident]
        self._count -= 1
        self._dirty.pop(id(entry), None)
        if self._index is not None:
            self._index.remove(self._row(place)[0], entry)

    def load(self, key: K, place: Any) -> T | None:
        """Read from the rows below."""
        data = self._rows.get(key, *self._row(place))
        return None if data is None else self._rows.codec.decode(data)

    def of_key(self, key: K, earliest: int, latest: int, reverse: bool) -> Iterator[tuple[Any, T]]:
        """(place, item) of a key with a time between the two, in order."""
        rows = self._rows
        below = rows.of_key(key, earliest, latest, reverse)
        of_key = self._entries.get(key if rows.key.hashable else rows.key.serialize(key))
        if of_key is None:
            return ((self._place(time, number), rows.codec.decode(data)) for time, number, data in below)
        entries, places = of_key
        found = places[bisect_left(places, self._bound(earliest)) : bisect_left(places, self._bound(latest + 1))]
        if reverse:
            found.reverse()
        above = [(place, entries[place]) for place in found]
        lower = ((self._place(time, number), (time, number, data)) for time, number, data in below)
        return self._items(overlay(lower, above, reverse))

    @abstractmethod
    def _place(self, time: int, number: int) -> Any:
        """The place of a row."""

    def _items(self, merged: Iterator[tuple[tuple[int, int, bytes] | None, Entry | None]]) -> Iterator[tuple[Any, T]]:
        decode = self._rows.codec.decode
        for row, entry in merged:
            if row is not None:
                yield self._place(row[0], row[1]), decode(row[2])
            elif entry is not None and entry[ITEM] is not None:
                yield entry[PLACE], entry[ITEM]

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
        if self._index is None:
            self._index = TimeIndex()
            for entries, _ in self._entries.values():
                for place, entry in entries.items():
                    self._index.add(self._row(place)[0], entry)
        above = []
        for entry in self._index.between(earliest, latest):
            binary = rows.key.serialize(entry[KEY])
            if (low is None or low <= binary) and (high is None or binary <= high):
                above.append((order(binary, *self._row(entry[PLACE])), entry))
        above.sort(key=itemgetter(0), reverse=reverse)
        lower = ((order(*row[:3]), row) for row in below)
        return self._many(overlay(lower, above, reverse))

    def _many(self, merged: Iterator[tuple[Row | None, Entry | None]]) -> Iterator[tuple[K, Any, T]]:
        deserialize, decode = self._rows.key.deserialize, self._rows.codec.decode
        for row, entry in merged:
            if row is not None:
                yield deserialize(row[0]), self._place(row[1], row[2]), decode(row[3])
            elif entry is not None and entry[ITEM] is not None:
                yield entry[KEY], entry[PLACE], entry[ITEM]

    def is_flushed(self) -> bool:
        """Whether nothing is dirty."""
        return not self._dirty

    def forget(self) -> None:
        """Forget what was flushed; the rows below change. Nothing may be dirty."""
        self._entries.clear()
        self._count = 0
        self._index = None

    def forget_expired(self) -> None:
        """Forget what cannot be read from the rows below any more. Nothing may be dirty."""
        bound = self._bound(self._rows.horizon)
        for entries, places in list(self._entries.values()):
            for place in places[: bisect_left(places, bound)]:
                self._discard(entries[place][KEY], place)

    def flush(self) -> None:
        """Write down and forward what is dirty."""
        self._write_down()
        self._budget.committed()

    def _write_down(self) -> None:
        if not self._dirty:
            return
        batch = sorted(self._dirty.values(), key=_number_of)
        # Cleared first: what the listener writes here belongs to the next flush.
        self._dirty.clear()
        rows, listening = self._rows, self._listener is not None
        decode = rows.codec.decode
        forwards: list[tuple[Entry, Any, Any]] = []
        size = 0
        for entry in batch:
            entry[DIRTY] = False
            item, key, place = entry[ITEM], entry[KEY], entry[PLACE]
            time, number = self._row(place)
            old = rows.get(key, time, number) if listening and (item is None or self._send_old) else None
            if item is None:
                self._discard(key, place)
                if listening and old is None:
                    continue  # neither was nor is there
            data = rows.put(key, time, number, item)
            if listening:
                if data is not None and rows.codec.copies:
                    item = decode(data)
                # A copy: the listener may write here, and change the entry.
                forwards.append((entry[:], item, decode(old) if old is not None and self._send_old else None))
            size += 0 if data is None else len(data)
        self._budget.learn(len(batch), size)
        if self._count > self._budget.clean:
            self._trim()
        if self._listener is not None:
            self._forward(self._listener, forwards)

    def _forward(self, listener: Callable[..., None], forwards: list[tuple[Entry, Any, Any]]) -> None:
        context = self._context
        with record_context_kept(context):
            for entry, new, old in forwards:
                context.timestamp, context.headers, context.topic, context.partition, context.offset = entry[4:9]
                self._tell(listener, entry, new, old)

    def _trim(self) -> None:
        """Forget the entries not written for longest, a tenth more than needed so that this is rare."""
        entries = [entry for of_key in self._entries.values() for entry in of_key[0].values()]
        entries.sort(key=_number_of)
        for entry in entries[: self._count - self._budget.clean * 9 // 10]:
            self._discard(entry[KEY], entry[PLACE])


class TimeIndex:
    """Entries by time."""

    def __init__(self) -> None:
        self._at: dict[int, dict[int, Entry]] = {}
        self._times: list[int] = []

    def add(self, time: int, entry: Entry) -> None:
        """Put an entry in."""
        entries = self._at.get(time)
        if entries is None:
            entries = self._at[time] = {}
            insort(self._times, time)
        entries[id(entry)] = entry

    def remove(self, time: int, entry: Entry) -> None:
        """Take an entry out."""
        entries = self._at[time]
        del entries[id(entry)]
        if not entries:
            del self._at[time]
            del self._times[bisect_left(self._times, time)]

    def between(self, earliest: int, latest: int) -> Iterator[Entry]:
        """The entries from one time to another, both included."""
        times = self._times
        for time in times[bisect_left(times, earliest) : bisect_left(times, latest + 1)]:
            yield from self._at[time].values()
