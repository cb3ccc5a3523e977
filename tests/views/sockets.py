"""A way for instances to ask each other, as small as it can be: one connection for each question."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Callable, Collection
from typing import Any

from millstream import errors
from millstream.views.answers import Answer, Instance
from millstream.views.api import Views
from millstream.views.queries import Query, Requirements
from millstream.views.questions.wire import Request, decode_answer, decode_request, encode_answer, encode_request


def _read(connection: socket.socket) -> bytes:
    data = b""
    while piece := connection.recv(65536):
        data += piece
    return data


class SocketRemote:
    """Brings questions to other instances."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(
        self, instance: Instance, store: str, query: Query, requirements: Requirements, partitions: Collection[int]
    ) -> Answer:
        self.asked += 1
        reply = request(instance, encode_request(Request(store, query, requirements, tuple(partitions))))
        if reply[:1] == b"!":
            name, primary = json.loads(reply[1:])
            raise getattr(errors, name)(primary)
        return decode_answer(reply[1:])


def request(instance: Instance, data: bytes) -> bytes:
    """Send something and wait for the reply."""
    try:
        with socket.create_connection((instance.host, instance.port), timeout=5) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            reply = _read(connection)
    except OSError as error:
        raise errors.InstanceUnreachable(f"{instance.id} does not answer", detail=str(error)) from error
    if not reply:
        raise errors.InstanceUnreachable(f"{instance.id} has gone")
    return reply


class Server:
    """Answers for an instance. It has a port before there are views."""

    def __init__(self) -> None:
        self.views: Views | None = None
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.sendall(outer.reply(_read(self.request)))

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def reply(self, data: bytes) -> bytes:
        try:
            views = self.views
            if views is None:
                raise errors.NotReady("not yet")
            if data == b"status":
                return json.dumps(status(views)).encode()
            store, query, requirements, partitions = decode_request(data)
            return b"=" + encode_answer(views.ask_here(store, query, requirements, partitions))
        except errors.ViewError as error:
            return b"!" + json.dumps((type(error).__name__, error.primary)).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def status(views: Views) -> dict[str, Any]:
    """What an instance has."""
    copies = list(views.local_copies().values())
    return {
        "applied": sum(copy.applied for copy in copies),
        "owned": sorted(copy.partition for copy in copies if copy.owned),
        "read_up": sorted(copy.partition for copy in copies if copy.has_read_up),
        "positions": {str(copy.partition): copy.progress[copy.partition].position for copy in copies},
    }


OnClose = Callable[[], None]
