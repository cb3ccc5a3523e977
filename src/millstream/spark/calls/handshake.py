"""Client and lane prove to each other that they know the run's secret, before either believes what the other sends.

The lane sends a random number, the client another one and a digest of both, the lane a digest in turn. All is of fixed
size, and nothing is decoded.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import struct

from millstream.errors import StreamsError

_BYTES = 32
_PEER = struct.Struct("3i")


class NotOursError(StreamsError):
    """The other side does not know the secret, or belongs to another user."""


def greet_client(connection: socket.socket, secret: bytes) -> None:
    """The lane's part.

    Raises:
        NotOursError: it is not a client of this run.
        ConnectionError: it is gone.
    """
    _check_user(connection)
    mine = secrets.token_bytes(_BYTES)
    connection.sendall(mine)
    answer = _read(connection, 2 * _BYTES)
    theirs, proof = answer[:_BYTES], answer[_BYTES:]
    if not hmac.compare_digest(proof, _proof(secret, b"client", mine, theirs)):
        raise NotOursError("a client of a lane does not know the run's secret", hint="it was refused")
    connection.sendall(_proof(secret, b"lane", theirs, mine))


def greet_lane(connection: socket.socket, secret: bytes) -> None:
    """The client's part.

    Raises:
        NotOursError: it is not a lane of this run.
        ConnectionError: it is gone.
    """
    _check_user(connection)
    theirs = _read(connection, _BYTES)
    mine = secrets.token_bytes(_BYTES)
    connection.sendall(mine + _proof(secret, b"client", theirs, mine))
    if not hmac.compare_digest(_read(connection, _BYTES), _proof(secret, b"lane", mine, theirs)):
        raise NotOursError(
            "a process that is no lane of this run answers on its socket",
            detail=f"at {connection.getpeername()}",
            hint="nothing was sent to it; look who wrote to that directory, and start the application again",
        )


def peer(connection: socket.socket) -> tuple[int, int] | None:
    """Process and user at the other end of a local socket, where the system tells."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    process, user, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _PEER.size))
    return (process, user) if process else None


def _check_user(connection: socket.socket) -> None:
    other = peer(connection)
    if other is not None and other[1] != os.getuid():
        raise NotOursError(f"a process of another user (uid {other[1]}) is at a lane's socket", hint="it was refused")


def _proof(secret: bytes, who: bytes, first: bytes, second: bytes) -> bytes:
    return hmac.digest(secret, who + first + second, "sha256")


def _read(connection: socket.socket, count: int) -> bytes:
    buffer = bytearray(count)
    done = 0
    while done < count:
        got = connection.recv_into(memoryview(buffer)[done:])
        if got == 0:
            raise ConnectionResetError("the other side is gone")
        done += got
    return bytes(buffer)
