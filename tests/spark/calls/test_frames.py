"""Messages on a socket."""

from __future__ import annotations

import socket

from millstream.spark.calls.frames import receive, send


def test_frames_on_a_socket() -> None:
    left, right = socket.socketpair()
    with left, right:
        send(left, {"batch": 1, "parcels": [b"x" * 100_000]})
        assert receive(right) == {"batch": 1, "parcels": [b"x" * 100_000]}
        left.close()
        assert receive(right) is None


def test_a_frame_that_breaks_off_is_none() -> None:
    left, right = socket.socketpair()
    with left, right:
        send(left, {"batch": 1})
        whole = right.recv(1_000)
    for length in range(len(whole)):
        left, right = socket.socketpair()
        with left, right:
            left.sendall(whole[:length])
            left.close()
            assert receive(right) is None
