"""The bytes between processes: length-prefixed MessagePack frames on a socket, and records in an exchange."""

from __future__ import annotations

import socket
import struct
from typing import Any

import msgspec

_LENGTH = struct.Struct(">Q")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


class Bundle(msgspec.Struct, array_like=True):
    """Records of one task of one wave for one partition of a topic."""

    topic: str
    partition: int
    #: The wave and the place of the task that wrote them, as one number: bundles are merged in this order.
    origin: int
    records: list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]] | None, int]]


class Parcel(msgspec.Struct, array_like=True):
    """What one lane sends to another for a wave, or tells the driver (`wave` -1: statistics)."""

    wave: int
    batch: int
    now: int
    bundles: list[Bundle]
    statistics: dict[str, Any] = {}
    #: What the batch is, see `markers.content_of`.
    content: str = ""
    #: The membership of the application's owner, as the batch was given out.
    membership: bytes = b""


_parcel_decoder = msgspec.msgpack.Decoder(Parcel)


def pack(parcel: Parcel) -> bytes:
    """A parcel as bytes."""
    return _encode(parcel)


def unpack(data: bytes) -> Parcel:
    """A parcel from bytes."""
    return _parcel_decoder.decode(data)


def send(connection: socket.socket, message: Any) -> None:
    """Send one frame."""
    data = _encode(message)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> Any:
    """The next frame; None when the other side is gone."""
    header = _read(connection, _LENGTH.size)
    if header is None:
        return None
    body = _read(connection, _LENGTH.unpack(header)[0])
    return None if body is None else _decode(body)


def _read(connection: socket.socket, count: int) -> bytes | None:
    buffer = bytearray(count)
    view = memoryview(buffer)
    done = 0
    while done < count:
        got = connection.recv_into(view[done:])
        if got == 0:
            return None
        done += got
    return bytes(buffer)
