"""What lies in the log of a partition, read from the broker's files: for what no client tells.

Only what is not compressed, which is all that Kafka itself writes: markers, and the states of transactions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: Base offset, length, leader's epoch, magic, checksum, attributes, last offset's delta, two times, producer's id and
#: epoch, first sequence number, count of records.
_HEADER = struct.Struct(">qiibIhiqqqhii")
_BEFORE_LENGTH = 12
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


@dataclass(frozen=True)
class Batch:
    """Records that were written together."""

    first: int
    last: int
    producer: int
    is_transactional: bool
    #: Whether it is a marker, which ends a transaction.
    is_marker: bool
    count: int
    body: bytes

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values; what is null is empty."""
        reader = Reader(self.body)
        for _ in range(self.count):
            reader.varint()  # how long it is
            reader.take(1)  # attributes
            reader.varint()  # its time
            reader.varint()  # its offset
            key, value = (reader.take(max(0, reader.varint())) for _ in range(2))
            for _ in range(reader.varint()):  # headers
                reader.take(reader.varint())
                reader.take(max(0, reader.varint()))
            yield key, value


def batches(data: Path, topic: str, partition: int) -> Iterator[Batch]:
    """The batches of a partition, in their order.

    Args:
        data: the directory of the broker's logs.
        topic: the topic.
        partition: its partition.
    """
    for file in sorted((data / f"{topic}-{partition}").glob("*.log")):
        content, at = file.read_bytes(), 0
        while at + _HEADER.size <= len(content):
            first, length, _, _, _, attributes, last, _, _, producer, _, _, count = _HEADER.unpack_from(content, at)
            end = at + _BEFORE_LENGTH + length
            if length <= 0 or end > len(content):  # it is just being written
                break
            yield Batch(
                first,
                first + last,
                producer,
                bool(attributes & _TRANSACTIONAL),
                bool(attributes & _CONTROL),
                count,
                content[at + _HEADER.size : end],
            )
            at = end


class Reader:
    """Reads bytes from the first to the last."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next so many bytes."""
        found = self._content[self._at : self._at + count]
        self._at += count
        return found

    def number(self, size: int) -> int:
        """A number of so many bytes."""
        return int.from_bytes(self.take(size), "big", signed=True)

    def unsigned(self) -> int:
        """A number without a sign, of as many bytes as it needs."""
        found = shift = 0
        while True:
            byte = self.take(1)[0]
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found

    def varint(self) -> int:
        """A number with a sign, of as many bytes as it needs."""
        found = self.unsigned()
        return (found >> 1) ^ -(found & 1)
