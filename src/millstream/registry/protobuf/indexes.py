"""Which message of a schema data is of: the places on the way to it, in front of the data."""

from __future__ import annotations

from typing import Any


def index_of(message: Any) -> bytes:
    """What stands in front of data of a message."""
    path: list[int] = []
    while message.containing_type is not None:
        outer = message.containing_type
        path.insert(0, [nested.name for nested in outer.nested_types].index(message.name))
        message = outer
    path.insert(0, list(message.file.message_types_by_name).index(message.name))
    if path == [0]:
        return b"\0"
    return b"".join(map(_varint, [len(path), *path]))


def read_index(data: bytes, place: int) -> tuple[tuple[int, ...], int]:
    """The places, and where the data itself begins.

    Raises:
        ValueError: there is no end to them.

    >>> read_index(bytes([4, 2, 0, 99]), 0)
    ((1, 0), 3)
    """
    count, place = _read_varint(data, place)
    if count == 0:
        return (0,), place
    path = []
    for _ in range(count):
        index, place = _read_varint(data, place)
        path.append(index)
    return tuple(path), place


def _varint(number: int) -> bytes:
    number *= 2  # "zig-zag": the lowest bit is the sign
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise ValueError("Invalid message indexes")
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), place
        shift += 7
