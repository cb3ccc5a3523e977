"""Small clients that show what goes over the wire."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Iterator

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS = 0, 1, 4
_END_STREAM, _END_HEADERS, _ACK = 1, 4, 1
#: Of HPACK's table: `:method GET`, `:scheme http`, `:status 200`.
_GET, _HTTP, _OK = b"\x82", b"\x86", 0x88


def http2_get(connected: socket.socket, path: str) -> list[bytes]:
    """GET over HTTP/2 with prior knowledge: the content of each DATA frame of a 200."""
    with connected:
        block = _GET + _HTTP + b"\x04" + bytes([len(path)]) + path.encode() + b"\x01\x01x"
        connected.sendall(_PREFACE + _frame(_SETTINGS, 0, 0) + _frame(_HEADERS, _END_STREAM | _END_HEADERS, 1, block))
        content: list[bytes] = []
        for kind, flags, stream, payload in _frames(connected):
            if kind == _SETTINGS and not flags & _ACK:
                connected.sendall(_frame(_SETTINGS, _ACK, 0))
            elif kind == _HEADERS:
                assert payload[0] == _OK
            elif kind == _DATA and stream == 1 and payload:
                content.append(payload)
            if kind in (_DATA, _HEADERS) and flags & _END_STREAM:
                break
        return content


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def _frames(connected: socket.socket) -> Iterator[tuple[int, int, int, bytes]]:
    while True:
        head = read(connected, 9)
        yield head[3], head[4], int.from_bytes(head[5:]), read(connected, int.from_bytes(head[:3]))


def read(connected: socket.socket, count: int) -> bytes:
    """So many bytes."""
    data = b""
    while len(data) < count:
        more = connected.recv(count - len(data))
        assert more, f"the connection ended after {data!r}"
        data += more
    return data


def read_all(connected: socket.socket) -> bytes:
    """Everything until the other side closes."""
    data = b""
    try:
        while more := connected.recv(65536):
            data += more
    except ConnectionError:
        pass
    return data


def websocket_echo(connected: socket.socket, path: str, text: bytes) -> bytes:
    """Send a text over a websocket, and the text that comes back."""
    with connected:
        key = base64.b64encode(os.urandom(16)).decode()
        connected.sendall(
            f"GET {path} HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            f"sec-websocket-key: {key}\r\nsec-websocket-version: 13\r\n\r\n".encode()
        )
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += read(connected, 1)
        assert answer.startswith(b"HTTP/1.1 101"), answer
        mask = bytes(4)
        connected.sendall(bytes([0x81, 0x80 | len(text)]) + mask + text)
        head = read(connected, 2)
        return read(connected, head[1])
