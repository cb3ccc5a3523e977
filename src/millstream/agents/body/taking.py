"""The open list of `take`: records that have come and are not handed out yet, kept in a store."""

from __future__ import annotations

from typing import Any

import msgspec

from millstream.agents.body.events import Event, Message
from millstream.records import Headers
from millstream.serdes.serde import AnySerde

_encode, _decode = msgspec.msgpack.encode, msgspec.msgpack.decode


class OpenList:
    """Events in the order they came. A row of the store is one of them, under its place in the list.

    Rows are written when the task commits, so that a list that is filled within one batch costs nothing.
    """

    def __init__(self, store: Any, key: AnySerde, value: AnySerde) -> None:
        self._store = store
        self._key = key
        self._value = value
        self.events: list[Event] = [self._read(row) for _, row in store.all()]
        self._stored = len(self.events)

    def take(self) -> list[Event]:
        """Hand all of them out."""
        events, self.events = self.events, []
        for place in range(self._stored):
            self._store.delete(place)
        self._stored = 0
        return events

    def save(self) -> None:
        """Write down those that have come since the last time."""
        for place in range(self._stored, len(self.events)):
            self._store.put(place, self._write(self.events[place]))
        self._stored = len(self.events)

    def _write(self, event: Event) -> bytes:
        key = None if event.key is None else self._key.serialize(event.key)
        value = None if event.value is None else self._value.serialize(event.value)
        topic, partition, offset, timestamp, headers = event.message
        return _encode((key, value, topic, partition, offset, timestamp, list(headers)))

    def _read(self, row: bytes) -> Event:
        key, value, topic, partition, offset, timestamp, headers = _decode(row)
        return Event(
            None if key is None else self._key.deserialize(key),
            None if value is None else self._value.deserialize(value),
            Message(topic, partition, offset, timestamp, Headers((name, data) for name, data in headers)),
        )
