"""The store of a left or outer stream-stream join: records that wait for a partner until their window closes.

Layout of the log, as Kafka Streams writes it:

    key    timestamp (8) | side (1: left 1, right 0) | key
    value  a list (millstream.serdes.lists) of: side (1) | value

Entries are ordered by the bytes of their key: by time, right before left, then by key.
"""

from __future__ import annotations

import struct
from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from millstream.serdes import AnySerde, ListSerde, Serdes
from millstream.state.codec import compact
from millstream.state.store import LogEntry, StateStore, StoreContext

_HEAD = struct.Struct(">qB")
_SIDE = (b"\x00", b"\x01")
#: Below this many dead keys the order is not rebuilt.
_MANY_DEAD = 64


class Unmatched:
    """The records of one side with the same timestamp and key, in order of arrival."""

    __slots__ = ("binary_key", "held", "key", "left", "timestamp")

    def __init__(self, binary_key: bytes, timestamp: int, left: bool, key: Any) -> None:
        self.binary_key = binary_key
        self.timestamp = timestamp
        self.left = left
        self.key = key
        #: Values, or their bytes if they could be changed in place.
        self.held: list[Any] = []


class OuterJoinStore(StateStore):
    """Unmatched records in memory, by time.

    `_order` holds the keys of `_entries` sorted; keys that are gone stay in it until they are many, because most go
    from the front or soon after they came.
    """

    def __init__(self, name: str, key: AnySerde, left_value: AnySerde, right_value: AnySerde, *, logged: bool) -> None:
        super().__init__(name)
        self.logged = logged
        self.serialize_key = key.serialize
        self._deserialize_key = key.deserialize
        self._values = (right_value, left_value)
        self._list = ListSerde(Serdes.bytes)
        self._entries: dict[bytes, Unmatched] = {}
        self._order: list[bytes] = []
        self._head = 0
        self._dirty: dict[bytes, None] = {}

    def init(self, context: StoreContext) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """Nothing to close."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, timestamp: int, left: bool, key: Any, value: Any) -> None:
        """Keep one more record."""
        binary_key = _HEAD.pack(timestamp, left) + self.serialize_key(key)
        entry = self._entries.get(binary_key)
        if entry is None:
            entry = self._entries[binary_key] = Unmatched(binary_key, timestamp, left, key)
            insort(self._order, binary_key, self._head)
        serde = self._values[left]
        entry.held.append(value if serde.immutable else compact(serde.serialize(value)))
        if self.logged:
            self._dirty[binary_key] = None

    def discard(self, timestamp: int, left: bool, key: bytes) -> None:
        """Forget the records of that time and (serialised) key, if there are any: they have met a partner."""
        binary_key = _HEAD.pack(timestamp, left) + key
        if self._entries.pop(binary_key, None) is not None and self.logged:
            self._dirty[binary_key] = None

    def delete(self, entry: Unmatched) -> None:
        """Forget an entry."""
        del self._entries[entry.binary_key]
        if self.logged:
            self._dirty[entry.binary_key] = None

    def scan(self) -> Iterator[Unmatched]:
        """The entries in order. They may be deleted on the way."""
        entries = self._entries
        order = self._trimmed_order()
        before = None
        for index in range(self._head, len(order)):
            binary_key = order[index]
            entry = entries.get(binary_key)
            if entry is not None and binary_key != before:  # a key that came back is in the order twice
                before = binary_key
                yield entry

    def values(self, entry: Unmatched) -> list[Any]:
        """An entry's values."""
        serde = self._values[entry.left]
        return entry.held if serde.immutable else [serde.deserialize(data) for data in entry.held]

    def take_changes(self) -> dict[bytes, bytes | None]:
        """The entries that changed, each as a whole."""
        dirty, self._dirty = self._dirty, {}
        entries = self._entries
        return {key: self._pack(entries[key]) if key in entries else None for key in dirty}

    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        """Redo logged changes."""
        for binary_key, data in changes:
            if data is None:
                self._entries.pop(binary_key, None)
            else:
                self._entries[binary_key] = self._unpack(binary_key, data)
        self._order = sorted(self._entries)
        self._head = 0

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        """All entries."""
        for entry in self.scan():
            yield entry.binary_key, self._pack(entry)

    def _trimmed_order(self) -> list[bytes]:
        entries, order, head = self._entries, self._order, self._head
        end = len(order)
        while head < end and order[head] not in entries:
            head += 1
        if end - len(entries) > len(entries) + _MANY_DEAD:
            order = self._order = sorted(entries)
            head = 0
        self._head = head
        return order

    def _pack(self, entry: Unmatched) -> bytes:
        serde = self._values[entry.left]
        side = _SIDE[entry.left]
        if serde.immutable:
            return self._list.serialize([side + serde.serialize(value) for value in entry.held])
        return self._list.serialize([side + data for data in entry.held])

    def _unpack(self, binary_key: bytes, data: bytes) -> Unmatched:
        timestamp, side = _HEAD.unpack_from(binary_key)
        entry = Unmatched(binary_key, timestamp, side == 1, self._deserialize_key(binary_key[_HEAD.size :]))
        serde = self._values[entry.left]
        for item in self._list.deserialize(data):
            entry.held.append(serde.deserialize(item[1:]) if serde.immutable else item[1:])
        return entry


@dataclass(frozen=True)
class OuterJoinStoreBuilder:
    """Describes an outer-join store. `persistent` is for the record: its entries are few, and always in memory."""

    name: str
    key_serde: AnySerde
    left_value_serde: AnySerde
    right_value_serde: AnySerde
    logging: bool = True
    persistent: bool = True

    def build(self) -> OuterJoinStore:
        """A store for one task."""
        return OuterJoinStore(
            self.name, self.key_serde, self.left_value_serde, self.right_value_serde, logged=self.logging
        )
