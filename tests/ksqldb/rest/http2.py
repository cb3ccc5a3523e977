"""A client for HTTP/2 with prior knowledge that shows frames as they come, and sends a body piece by piece."""

from __future__ import annotations

import json
import socket
from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest


class Http2:
    """One connection."""

    def __init__(self, url: str) -> None:
        connections, config = (pytest.importorskip(f"h2.{name}") for name in ("connection", "config"))
        self._events: Any = pytest.importorskip("h2.events")
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=20)
        self._h2 = connections.H2Connection(config.H2Configuration(client_side=True))
        self._h2.initiate_connection()
        self._flush()
        self._status: dict[int, int] = {}
        self.headers: dict[int, dict[str, str]] = {}
        self._frames: dict[int, list[bytes]] = defaultdict(list)
        self._ended: set[int] = set()

    def begin(
        self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, *, method: str = "POST"
    ) -> int:
        """Begin a request; the body of a POST stays open if none is given."""
        stream: int = self._h2.get_next_available_stream_id()
        fixed = {":method": method, ":path": path, ":scheme": "http", ":authority": "x"}
        self._h2.send_headers(stream, list({**fixed, **(headers or {})}.items()), end_stream=method == "GET")
        if body is not None:
            self._h2.send_data(stream, body, end_stream=True)
        self._flush()
        return stream

    def send(self, stream: int, data: bytes, *, end: bool = False) -> None:
        self._h2.send_data(stream, data, end_stream=end)
        self._flush()

    def reset(self, stream: int) -> None:
        self._h2.reset_stream(stream)
        self._flush()

    def close(self) -> None:
        self._socket.close()

    def status(self, stream: int) -> int:
        """Wait for the answer to begin."""
        while stream not in self._status:
            self._receive()
        return self._status[stream]

    def frame(self, stream: int) -> bytes:
        """The next DATA frame."""
        while not self._frames[stream]:
            assert stream not in self._ended, "it has ended"
            self._receive()
        return self._frames[stream].pop(0)

    def value(self, stream: int) -> Any:
        """The next DATA frame as JSON."""
        return json.loads(self.frame(stream))

    def rest(self, stream: int) -> list[bytes]:
        """All further frames, until the answer ends."""
        while stream not in self._ended:
            self._receive()
        return self._frames.pop(stream, [])

    def _receive(self) -> None:
        kinds, data = self._events, self._socket.recv(65536)
        assert data, "the connection has ended"
        for event in self._h2.receive_data(data):
            assert not isinstance(event, kinds.ConnectionTerminated), event
            if isinstance(event, kinds.ResponseReceived):
                headers = {_text(name): _text(value) for name, value in event.headers}
                self._status[event.stream_id], self.headers[event.stream_id] = int(headers[":status"]), headers
            elif isinstance(event, kinds.DataReceived):
                if event.data:
                    self._frames[event.stream_id].append(event.data)
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, kinds.StreamEnded | kinds.StreamReset):
                self._ended.add(event.stream_id)
        self._flush()

    def _flush(self) -> None:
        self._socket.sendall(self._h2.data_to_send())


def _text(data: bytes | str) -> str:
    return data.decode() if isinstance(data, bytes) else data
