"""A server in a thread of this process: protocols, limits of sockets, and its end."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import make_certificate

from millstream.errors import ArgumentError
from millstream.server.listening import Listener
from millstream.server.running import HttpServer
from millstream.server.settings import ServerSettings, Tls

from .protocols import http2_get, read_all, websocket_echo

Serve = Callable[..., Listener]


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        message = await receive()
        await send({"type": "websocket.send", "text": message["text"].upper()})
        await receive()
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    if scope["path"] == "/endless":
        while True:
            await send({"type": "http.response.body", "body": b"x" * 200_000, "more_body": True})
            await asyncio.sleep(0.01)
    for number in range(3):
        await send({"type": "http.response.body", "body": b"row %d\n" % number, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture(params=[None, lambda scope: None], ids=["Granian's worker", "ours"])
def serve(request: pytest.FixtureRequest) -> Iterator[Serve]:
    """`serve(**settings)`: where a server listens, until the test is over; also one that might answer at once."""
    servers: list[HttpServer] = []

    def begin(app: Any = application, **options: Any) -> Listener:
        settings = ServerSettings(**{"drain": timedelta(seconds=0.2), **options})
        listener = Listener(settings)
        server = HttpServer(app, listener, settings, at_once=request.param)
        server.start()
        servers.append(server)
        listener.server = server  # type: ignore[attr-defined]
        return listener

    yield begin
    for server in servers:
        server.close()


def connect(listener: Listener) -> socket.socket:
    return socket.create_connection(("127.0.0.1", listener.port), timeout=20)


def get(listener: Listener, path: str = "/") -> bytes:
    with connect(listener) as connected:
        connected.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        return read_all(connected)


def test_answers_of_several_writes_do_not_wait_for_the_client() -> None:
    listener = Listener(ServerSettings())
    bound = socket.socket(fileno=listener.detach())
    with bound, socket.create_connection(("127.0.0.1", listener.port)):
        bound.setblocking(True)
        connection, _ = bound.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_one_port_for_http1_http2_and_websockets(serve: Serve) -> None:
    listener = serve()
    assert b"6\r\nrow 1\n\r\n" in get(listener)  # one write is one chunk
    assert http2_get(connect(listener), "/") == [b"row 0\n", b"row 1\n", b"row 2\n"]  # and one frame
    assert websocket_echo(connect(listener), "/", b"hello") == b"HELLO"


def test_tls_with_http2_by_alpn(serve: Serve, tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    listener = serve(tls=Tls(certificate, key))
    assert listener.url == f"https://127.0.0.1:{listener.port}"
    for protocol in ("h2", "http/1.1"):
        context = ssl.create_default_context(cafile=str(certificate))
        context.set_alpn_protocols([protocol])
        with context.wrap_socket(connect(listener), server_hostname="localhost") as wrapped:
            assert wrapped.selected_alpn_protocol() == protocol
            if protocol == "h2":
                assert http2_get(wrapped, "/")[0] == b"row 0\n"


def test_a_missing_certificate_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="there is no file"):
        Tls(tmp_path / "no.pem", tmp_path / "key.pem")


def test_a_port_that_is_taken_is_told(serve: Serve) -> None:
    listener = serve()
    with pytest.raises(ArgumentError, match=f"port {listener.port} of 127.0.0.1 is taken"):
        Listener(ServerSettings(port=listener.port))


@pytest.mark.parametrize(
    "request_bytes",
    [b"", b"GET / HT", b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"],
    ids=["silent", "half a request", "endless answer", "kept alive"],
)
def test_nobody_keeps_it_from_closing(serve: Serve, request_bytes: bytes) -> None:
    before = threading.active_count()
    listener = serve()
    with connect(listener) as connected:
        connected.sendall(request_bytes)
        if request_bytes.endswith(b"\r\n\r\n"):
            assert connected.recv(100).startswith(b"HTTP/1.1 200")
        started = time.monotonic()
        listener.server.close()  # type: ignore[attr-defined]
        assert time.monotonic() - started < 15
        Listener(ServerSettings(port=listener.port)).close()  # the port is free again
    assert threading.active_count() == before


def test_a_client_that_does_not_read_on_is_given_up(serve: Serve) -> None:
    ended = threading.Event()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        try:
            await application(scope, receive, send)
        finally:
            ended.set()

    listener = serve(watched, patience=timedelta(seconds=0.3))
    with connect(listener) as connected:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connected.sendall(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n" * 1)
        assert ended.wait(60)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00\x01\x02garbage\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nlong: " + b"a" * 600_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 100,
    ],
)
def test_what_is_no_request_is_refused_and_the_server_goes_on(serve: Serve, request_bytes: bytes) -> None:
    listener = serve()
    with connect(listener) as connected:
        try:
            connected.sendall(request_bytes)
            connected.shutdown(socket.SHUT_WR)
        except ConnectionError:  # it was refused before it was all said
            pass
        assert b" 500 " not in read_all(connected)[:100]
    assert b" 200 " in get(listener)


def test_a_slow_client_gets_its_answer(serve: Serve) -> None:
    listener = serve()
    with connect(listener) as connected:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n":
            connected.sendall(bytes([byte]))
            assert b" 200 " in get(listener)  # others do not wait for it
        assert b" 200 " in read_all(connected)


def test_an_error_in_the_application_is_told_as_json(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("secret")

    answer = get(serve(failing))
    assert answer.startswith(b"HTTP/1.1 500")
    assert b'"kind":"InternalError"' in answer
    assert b"secret" not in answer
    assert "secret" in caplog.text


def test_a_body_that_is_too_large_is_refused(serve: Serve) -> None:
    async def reading(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await application(scope, receive, send)

    listener = serve(reading, max_body=1000)
    with connect(listener) as connected:
        connected.sendall(
            b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2000\r\n\r\n" + b"x" * 2000
        )
        assert b'"kind":"BodyTooLarge"' in read_all(connected)


def test_the_logging_of_the_process_is_left_alone(serve: Serve, tmp_path: Path) -> None:
    handler = logging.FileHandler(tmp_path / "log", mode="w")
    logging.getLogger().addHandler(handler)
    try:
        serve()
        logging.getLogger("mine").error("still here")
        assert (tmp_path / "log").read_text() == "still here\n"
        assert not logging.getLogger("_granian").handlers
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
