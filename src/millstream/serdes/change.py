"""A table's updates on their way through a repartition topic, in Kafka Streams' layout.

    old only:  old | 00
    new only:  new | 01
    both:      length of new (zig-zag varint) | new | old | 02

Whether an update is the newest version of its key is not written; what is read counts as newest. Kafka Streams also
reads, but does not yet write, the forms 03, 04 and 05: the same three, with one byte for just that before the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.errors import SerdeError
from millstream.records import Change
from millstream.serdes.serde import Serde, shorten

_OLD, _NEW, _BOTH = b"\x00", b"\x01", b"\x02"


class ChangeSerde(Serde[Change]):
    """Serialises `(new, old, is_latest)` with the serde of the value."""

    def __init__(self, inner: Serde[Any]) -> None:
        write, read = inner.serialize, inner.deserialize

        def serialize(change: Change) -> bytes:
            new, old, _ = change
            if old is None:
                if new is None:
                    raise SerdeError("a table's update with neither a new nor an old value cannot be written")
                return write(new) + _NEW
            if new is None:
                return write(old) + _OLD
            data = write(new)
            return write_varint(len(data)) + data + write(old) + _BOTH

        def deserialize(data: bytes) -> Change:
            form = data[-1] if data else -1
            if form == 1:
                return read(data[:-1]), None, True
            if form == 0:
                return None, read(data[:-1]), True
            if form == 2:
                new, old = _split(data, len(data) - 1)
                return read(new), read(old), True
            if 3 <= form <= 5 and len(data) > 1 and data[-2] in (0, 1):
                latest = data[-2] == 1
                if form == 4:
                    return read(data[:-2]), None, latest
                if form == 3:
                    return None, read(data[:-2]), latest
                new, old = _split(data, len(data) - 2)
                return read(new), read(old), latest
            raise _damaged(data)

        super().__init__(serialize, deserialize, immutable=inner.immutable, name=f"change({inner.name})")
        self.inner = inner

    def for_topic(self, topic: str, is_key: bool) -> Serde[Change]:
        """The same with the inner serde for that topic."""
        inner = self.inner.for_topic(topic, is_key)
        return self if inner is self.inner else ChangeSerde(inner)

    def configured(self, settings: Mapping[str, object]) -> Serde[Change]:
        """The same with the inner serde as it is under these settings."""
        inner = self.inner.configured(settings)
        return self if inner is self.inner else ChangeSerde(inner)


def write_varint(number: int) -> bytes:
    r"""A 32-bit integer as Kafka's zig-zag varint: seven bits per byte, the low ones first.

    >>> write_varint(3), write_varint(64), write_varint(-1)
    (b'\x06', b'\x80\x01', b'\x01')
    """
    rest = (number << 1) ^ (number >> 31)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_varint(data: bytes) -> tuple[int, int]:
    r"""The number at the start of some bytes, and where it ends.

    >>> read_varint(b"\x80\x01rest")
    (64, 2)
    """
    result = shift = 0
    for at, byte in enumerate(data[:5], 1):
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), at
        shift += 7
    raise SerdeError("these bytes do not start with a varint", detail=shorten(data))


def _split(data: bytes, end: int) -> tuple[bytes, bytes]:
    length, start = read_varint(data)
    middle = start + length
    if length < 0 or middle > end:
        raise _damaged(data)
    return data[start:middle], data[middle:end]


def _damaged(data: bytes) -> SerdeError:
    return SerdeError("these bytes are no update of a table", detail=shorten(data))
