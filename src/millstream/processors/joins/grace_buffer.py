"""The store of a stream-table join with a grace period: stream records that wait for the table to catch up.

Layout of the log, as Kafka Streams writes it:

    key    timestamp (8) | key | sequence number (4)
    value  timestamp (8) | offset (8) | topic | partition (4) | number of headers (4) | headers
           | -1 (4) | -1 (4) | value | 0 (8)

A topic, a header's name, a header's value and a value each follow their length (4); -1 stands for None. The two -1 are
the places of earlier values, and the 0 that of a buffer time, which other buffers have in this layout.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from millstream.records import NO_TIMESTAMP, Headers
from millstream.serdes import AnySerde
from millstream.state.store import LogEntry, StateStore, StoreContext

_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_TWO_LONGS = struct.Struct(">qq")
_NONE = _INT.pack(-1)
_NO_EARLIER_VALUES = _NONE + _NONE
_NO_BUFFER_TIME = _LONG.pack(0)
_MAX_SEQUENCE = 0x7FFFFFFF


class BufferedRecord(NamedTuple):
    """A record and where it came from."""

    key: Any
    value: Any
    timestamp: int
    headers: Headers | None
    topic: str | None
    partition: int
    offset: int


class GraceBuffer(StateStore):
    """Records in order of time, key bytes and arrival, until they are `grace_ms` older than the newest."""

    def __init__(self, name: str, key: AnySerde, value: AnySerde, grace_ms: int, *, logged: bool) -> None:
        super().__init__(name)
        self.logged = logged
        self._key = key
        self._value = value
        self._grace = grace_ms
        #: The greatest timestamp that was put in.
        self.stream_time = NO_TIMESTAMP
        self._sequence = 0
        # The sequence number is unique, so records themselves are never compared. A record's value is held as its bytes
        # if it could be changed in place.
        self._heap: list[tuple[int, bytes, int, BufferedRecord]] = []
        self._dirty: dict[bytes, BufferedRecord | None] = {}

    def init(self, context: StoreContext) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """Nothing to close."""

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, record: BufferedRecord) -> bool:
        """Keep a record; False if its grace is over already."""
        timestamp = record.timestamp
        if timestamp < self.stream_time - self._grace:
            return False
        self.stream_time = max(self.stream_time, timestamp)
        key = self._key.serialize(record.key)
        if not self._value.immutable:
            record = record._replace(value=self._value.serialize(record.value))
        if record.headers is not None:
            record = record._replace(headers=record.headers.copy())
        sequence = self._sequence = (self._sequence + 1) & _MAX_SEQUENCE
        heappush(self._heap, (timestamp, key, sequence, record))
        if self.logged:
            self._dirty[_log_key(timestamp, key, sequence)] = record
        return True

    def evict(self, emit: Callable[[BufferedRecord], None]) -> None:
        """Hand out the records whose grace is over; one is forgotten after `emit` has returned."""
        heap = self._heap
        limit = self.stream_time - self._grace
        immutable = self._value.immutable
        while heap and heap[0][0] <= limit:
            timestamp, key, sequence, record = heap[0]
            emit(record if immutable else record._replace(value=self._value.deserialize(record.value)))
            heappop(heap)
            if self.logged:
                self._dirty[_log_key(timestamp, key, sequence)] = None

    def take_changes(self) -> dict[bytes, bytes | None]:
        """The records that came and went."""
        dirty, self._dirty = self._dirty, {}
        return {key: None if record is None else self._pack(record) for key, record in dirty.items()}

    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        """Redo logged changes; the clock follows the records seen."""
        held = {_log_key(timestamp, key, sequence): (timestamp, key, sequence, record)
                for timestamp, key, sequence, record in self._heap}  # fmt: skip
        for log_key, data in changes:
            timestamp = _LONG.unpack_from(log_key)[0]
            sequence = _INT.unpack_from(log_key, len(log_key) - 4)[0]
            self.stream_time = max(self.stream_time, timestamp)
            self._sequence = max(self._sequence, sequence)
            if data is None:
                held.pop(log_key, None)
            else:
                key = log_key[8:-4]
                held[log_key] = (timestamp, key, sequence, self._unpack(key, data))
        self._heap = list(held.values())
        heapify(self._heap)

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        """All records."""
        for timestamp, key, sequence, record in sorted(self._heap):
            yield _log_key(timestamp, key, sequence), self._pack(record)

    def _pack(self, record: BufferedRecord) -> bytes:
        headers = record.headers or ()
        parts = [
            _TWO_LONGS.pack(record.timestamp, record.offset),
            _block(None if record.topic is None else record.topic.encode()),
            _INT.pack(record.partition),
            _INT.pack(len(headers)),
        ]
        for name, content in headers:
            parts += (_block(name.encode()), _block(content))
        value = self._value.serialize(record.value) if self._value.immutable else record.value
        parts += (_NO_EARLIER_VALUES, _block(value), _NO_BUFFER_TIME)
        return b"".join(parts)

    def _unpack(self, key: bytes, data: bytes) -> BufferedRecord:
        timestamp, offset = _TWO_LONGS.unpack_from(data)
        topic, at = _read_block(data, _TWO_LONGS.size)
        partition, count = struct.unpack_from(">ii", data, at)
        at += 8
        headers: Headers | None = None
        if count:
            headers = Headers()
            for _ in range(count):
                name, at = _read_block(data, at)
                content, at = _read_block(data, at)
                headers.add((name or b"").decode(), content)
        raw = _read_block(data, at + len(_NO_EARLIER_VALUES))[0]
        return BufferedRecord(
            self._key.deserialize(key),
            raw if raw is None or not self._value.immutable else self._value.deserialize(raw),
            timestamp,
            headers,
            None if topic is None else topic.decode(),
            partition,
            offset,
        )


def _log_key(timestamp: int, key: bytes, sequence: int) -> bytes:
    return _LONG.pack(timestamp) + key + _INT.pack(sequence)


def _block(data: bytes | None) -> bytes:
    return _NONE if data is None else _INT.pack(len(data)) + data


def _read_block(data: bytes, at: int) -> tuple[bytes | None, int]:
    """A block, and where the next thing starts."""
    length = _INT.unpack_from(data, at)[0]
    at += _INT.size
    return (None, at) if length < 0 else (data[at : at + length], at + length)


@dataclass(frozen=True)
class GraceBufferBuilder:
    """Describes a grace buffer."""

    name: str
    key_serde: AnySerde
    value_serde: AnySerde
    grace_ms: int
    logging: bool = True

    def build(self) -> GraceBuffer:
        """A store for one task."""
        return GraceBuffer(self.name, self.key_serde, self.value_serde, self.grace_ms, logged=self.logging)
