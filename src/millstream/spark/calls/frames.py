"""Messages on a socket: length-prefixed MessagePack frames."""

from __future__ import annotations

import socket
import struct
from typing import Any

import msgspec

_LENGTH = struct.Struct(">Q")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


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
