"""Requests of somebody who means no good: each has an answer, soon, and none is an error of the server."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream.ksqldb.rest.app import OPEN_PATHS, STREAMED_PATHS, RestApp
from millstream.ksqldb.rest.documentation import description
from millstream.ksqldb.rest.errors import restate
from millstream.server.guard import Guard
from millstream.server.settings import ServerSettings

from ...server.asgi import Reply, call
from ...server.protocols import read_all
from .conftest import Serve
from .memory import MemoryAnswer, MemoryService

EXAMPLES = 300
PATHS = [*description("x")["paths"], "/clusterStatus", "/heartbeat", "/lag", "/nothing", "", "//", "/status/a/b/c/d"]
FIELDS = [
    "ksql", "sql", "streamsProperties", "properties", "sessionVariables", "commandSequenceNumber", "requestProperties",
    "queryId", "target", "deleteTopicList", "unknown",
]  # fmt: skip
STATEMENTS = [
    "LIST STREAMS;",
    "SELECT * FROM s;",
    "SELECT * FROM s",
    "INSERT INTO s VALUES (1, 'a');",
    "NONSENSE",
    ";",
    "",
]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(STATEMENTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(st.sampled_from(FIELDS), values, max_size=5)
bodies = st.one_of(
    objects.map(json.dumps).map(str.encode),
    st.tuples(objects.map(json.dumps).map(str.encode), st.integers(0, 200), st.binary(max_size=3)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :]
    ),
    st.builds(
        lambda rows: b"\n".join((b'{"target":"s"}', *(json.dumps(row).encode() for row in rows))),
        st.lists(st.dictionaries(st.sampled_from(["id", "name", "ID"]), values), max_size=3),
    ),
    st.binary(max_size=50),
    st.integers(1, 3000).map(lambda count: b"[" * count),
)
accepts = (
    st.none()
    | st.text(st.characters(codec="latin-1"), max_size=20)
    | st.sampled_from(
        [
            "*/*",
            "application/json;q=0.5,*/*;q=nan",
            "application/vnd.ksql.v1+protobuf",
            "a/b;;;",
            ",,,",
            "application/*;q=-1",
        ]
    )
)


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    service = MemoryService()
    service.streams["S"] = [(1, "a")]
    limits = ServerSettings(max_body=2000, max_url=500)
    app = RestApp(service, limits)
    yield Guard(app, limits, OPEN_PATHS, streamed_paths=STREAMED_PATHS, restate=restate)
    app.close()


@given(
    path=st.sampled_from(PATHS) | st.text(max_size=30).map(lambda text: f"/{text}"),
    method=st.sampled_from(["POST", "POST", "POST", "GET", "GET", "DELETE", "OPTIONS", "X"]),
    body=bodies,
    accept=accepts,
    version=st.sampled_from(["1.1", "2", "1"]),
)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_requests(
    guard: Guard,
    caplog: pytest.LogCaptureFixture,
    path: str,
    method: str,
    body: bytes,
    accept: str | None,
    version: str,
) -> None:
    async def with_version(scope: Any, receive: Any, send: Any) -> None:
        scope["http_version"] = version
        await guard(scope, receive, send)

    async def ask() -> Reply:
        headers = {} if accept is None else {"accept": accept}
        url = path.encode("utf-8", "replace").replace(b"?", b"%3f") or b"/"
        async with asyncio.timeout(20):
            return await call(with_version, url, method=method, headers=headers, body=body)

    with caplog.at_level(logging.ERROR):
        reply = asyncio.run(ask())
    assert reply.status < 500, reply
    assert not caplog.records
    if reply.status >= 400 and reply.body not in (b"", b"Not Found"):
        told = reply.json()
        assert told["error_code"] // 100 == reply.status
        assert told["message"]
        assert told["@type"] in ("generic_error", "statement_error")


def _connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def _get(url: str) -> bytes:
    with _connect(url) as connected:
        connected.sendall(b"GET /info HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        return read_all(connected)


def test_many_half_open_sockets_and_slow_clients(serve: Serve) -> None:
    url = serve(patience=timedelta(seconds=1))
    halves = [
        b"",
        b"POST /ksql HT",
        b"POST /ksql HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{",
        b"POST /query-stream HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /ws/query HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\n",
    ]
    opened = []
    try:
        for number in range(60):
            opened.append(_connect(url))
            opened[-1].sendall(halves[number % len(halves)])
        began = time.monotonic()
        assert _get(url).startswith(b"HTTP/1.1 200")
        assert time.monotonic() - began < 10
        told = opened[2].recv(1000)
        assert told.startswith(b"HTTP/1.1 408")
    finally:
        for each in opened:
            each.close()
    assert _get(url).startswith(b"HTTP/1.1 200")


def test_a_websocket_that_is_not_read(serve: Serve, service: MemoryService) -> None:
    service.answers["SELECT"] = answer = MemoryAnswer()
    with _connect(serve(patience=timedelta(seconds=0.3))) as connected:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connected.sendall(
            b"GET /ws/query?request=%7B%22ksql%22:%22SELECT%22%7D HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\n"
            b"connection: upgrade\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
        )
        assert answer.listened.wait(20)
        for _ in range(600):
            answer.put((1, "x" * 100_000))
            if answer.closed.wait(0.02):
                break
        assert answer.closed.is_set()


def test_a_body_without_end(serve: Serve) -> None:
    url = serve(max_body=10_000)
    with _connect(url) as connected:
        connected.sendall(b"POST /ksql HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        said = b""
        try:
            for _ in range(1000):
                connected.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        except ConnectionError:  # it was refused before all was said
            pass
        said = read_all(connected)
    assert not said or b" 413 " in said.splitlines()[0]
    assert _get(url).startswith(b"HTTP/1.1 200")
