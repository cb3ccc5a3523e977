"""The buffer of `suppress`: the latest update of every key that is held back, ordered by time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.processors.suppress.layout import LoggedUpdate, decode, encode
from millstream.records import Change, Headers
from millstream.serdes import AnySerde
from millstream.state.store import LogEntry, StateStore, StoreContext


class Held:
    """A key's held-back update, and where its record came from.

    Values are kept as objects if they cannot be changed in place, and serialised otherwise: what is emitted is what the
    table said then, whatever became of the object.
    """

    __slots__ = (
        "buffer_time",
        "headers",
        "key",
        "new",
        "offset",
        "old",
        "partition",
        "prior",
        "size",
        "timestamp",
        "topic",
    )

    key: Any
    buffer_time: int
    #: What the table held before the first held-back update.
    prior: Any
    old: Any
    new: Any
    timestamp: int
    headers: Headers | None
    topic: str | None
    partition: int
    offset: int
    #: In bytes; set while the buffer counts them.
    size: int


class SuppressBuffer(StateStore):
    """Held-back updates by key, evicted by time and then by the bytes of the key.

    An update takes the place in the order of the update of its key that it replaces.
    """

    def __init__(self, name: str, key_serde: AnySerde, value_serde: AnySerde, logging: bool = True) -> None:
        super().__init__(name)
        self.logged = logging
        self._serialize_key = key_serde.serialize
        self._deserialize_key = key_serde.deserialize
        self._serialize = value_serde.serialize
        self._deserialize = value_serde.deserialize
        self._keeps_objects = value_serde.immutable
        self._held: dict[bytes, Held] = {}
        #: The order: a heap, as only its least entry is ever removed.
        self._order: list[tuple[int, bytes]] = []
        self._changed: dict[bytes, None] = {}
        #: None until somebody asks for it: values then have to be serialised for each update.
        self._bytes: int | None = None

    def init(self, context: StoreContext) -> None:
        """Open the buffer; its content comes from `apply_changes`."""
        self._context = context

    def close(self) -> None:
        """Forget everything."""
        self._held.clear()
        self._order.clear()
        self._changed.clear()
        self._bytes = None

    def __len__(self) -> int:
        return len(self._held)

    @property
    def size_in_bytes(self) -> int:
        """The size of the content by Kafka Streams' estimate; kept up to date from the first call on."""
        if self._bytes is None:
            self._bytes = 0
            for key_bytes, held in self._held.items():
                self._measure(key_bytes, held)
        return self._bytes

    def put(self, buffer_time: int, key: Any, change: Change, timestamp: int, headers: Headers | None) -> None:
        """Hold an update back. Its topic, partition and offset are those of the record in process."""
        new, old, _ = change
        if not self._keeps_objects:
            new = None if new is None else self._serialize(new)
            old = None if old is None else self._serialize(old)
        key_bytes = self._serialize_key(key)
        held = self._held.get(key_bytes)
        if held is None:
            held = self._held[key_bytes] = Held()
            held.key = key
            held.buffer_time = buffer_time
            held.prior = old
            heapq.heappush(self._order, (buffer_time, key_bytes))
        elif self._bytes is not None:
            self._bytes -= held.size
        held.old = old
        held.new = new
        held.timestamp = timestamp
        held.headers = headers
        context = self._context
        held.topic = context.topic
        held.partition = context.partition
        held.offset = context.offset
        if self._bytes is not None:
            self._measure(key_bytes, held)
        if self.logged:
            self._changed[key_bytes] = None

    def evict_until(self, time: int, emit: Callable[[Held, Change], None]) -> None:
        """Evict all updates with a buffer time up to this."""
        order = self._order
        while order and order[0][0] <= time:
            self.evict(emit)

    def evict(self, emit: Callable[[Held, Change], None]) -> None:
        """Emit the first update and then remove it; it is still held while `emit` runs."""
        _, key_bytes = self._order[0]
        held = self._held[key_bytes]
        if self._keeps_objects:
            emit(held, (held.new, held.old, True))
        else:
            emit(held, (self._value(held.new), self._value(held.old), True))
        heapq.heappop(self._order)
        del self._held[key_bytes]
        if self._bytes is not None:
            self._bytes -= held.size
        if self.logged:
            self._changed[key_bytes] = None

    def prior(self, key: Any) -> tuple[Any] | None:
        """What the table held before the updates of a key were held back, in a tuple; None if the key has none."""
        held = self._held.get(self._serialize_key(key))
        return None if held is None else (self._value(held.prior),)

    def take_changes(self) -> dict[bytes, bytes | None]:
        """The keys held back, replaced or evicted since the last call; one that came and went is a deletion."""
        held = self._held
        changes = {key: self._encode(held[key]) if key in held else None for key in self._changed}
        self._changed = {}
        return changes

    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        """Redo logged changes."""
        for key_bytes, data in changes:
            if data is None:
                self._held.pop(key_bytes, None)
            else:
                self._held[key_bytes] = self._decode(key_bytes, data)
        self._order = [(held.buffer_time, key_bytes) for key_bytes, held in self._held.items()]
        heapq.heapify(self._order)
        self._bytes = None

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        """All held-back updates."""
        for key_bytes, held in self._held.items():
            yield key_bytes, self._encode(held)

    def _value(self, kept: Any) -> Any:
        return kept if self._keeps_objects or kept is None else self._deserialize(kept)

    def _serialized(self, kept: Any) -> bytes | None:
        if kept is None:
            return None
        data: bytes = self._serialize(kept) if self._keeps_objects else kept
        return data

    def _measure(self, key_bytes: bytes, held: Held) -> None:
        """Count an entry as Kafka Streams does: buffer time, key, values (the old one unless it is prior), context."""
        prior, old, new = self._serialized(held.prior), self._serialized(held.old), self._serialized(held.new)
        size = 8 + len(key_bytes) + 8 + 8 + 4 + len(held.topic or "")
        for value in (prior, None if old == prior else old, new):
            if value is not None:
                size += len(value)
        for name, header in held.headers or ():
            size += len(name) + len(header or b"")
        held.size = size
        self._bytes = (self._bytes or 0) + size

    def _encode(self, held: Held) -> bytes:
        return encode(
            LoggedUpdate(
                held.buffer_time,
                held.timestamp,
                held.offset,
                held.partition,
                held.topic,
                held.headers,
                self._serialized(held.prior),
                self._serialized(held.old),
                self._serialized(held.new),
            )
        )

    def _decode(self, key_bytes: bytes, data: bytes) -> Held:
        update = decode(data)
        held = Held()
        held.key = self._deserialize_key(key_bytes)
        held.buffer_time = update.buffer_time
        held.timestamp = update.timestamp
        held.offset = update.offset
        held.partition = update.partition
        held.topic = update.topic
        held.headers = update.headers
        held.prior, held.old, held.new = (self._kept(value) for value in (update.prior, update.old, update.new))
        return held

    def _kept(self, data: bytes | None) -> Any:
        return data if data is None or not self._keeps_objects else self._deserialize(data)


@dataclass(frozen=True)
class SuppressBufferBuilder:
    """Builds the buffer of one `suppress`."""

    name: str
    key_serde: AnySerde
    value_serde: AnySerde
    logging: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict)

    def build(self) -> SuppressBuffer:
        """A new buffer, for one task."""
        return SuppressBuffer(self.name, self.key_serde, self.value_serde, self.logging)
