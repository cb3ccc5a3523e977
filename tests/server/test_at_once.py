"""What is answered where Granian hands a request over: byte for byte what the ordinary way would have said."""

from __future__ import annotations

import asyncio
import base64
import random
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import make_certificate

from millstream.server.guard import Guard, Message, Scope
from millstream.server.listening import Listener
from millstream.server.running import HttpServer
from millstream.server.settings import ServerSettings, Tls
from millstream.server.views.app import OPEN_PATHS, ViewsApp
from millstream.server.views.internal import APPLICATION_HEADER, INSTANCE_HEADER, MEDIA_TYPE, PATH, request_of
from millstream.views.api import Views
from millstream.views.queries import KeyQuery, Query, RangeQuery, Requirements
from millstream.views.questions.wire import Request as Ask
from millstream.views.questions.wire import encode_request

from .asgi import call, call_at_once
from .mutations import mutated
from .protocols import http2_get, read_all
from .world import APPLICATION, World

#: Requests that are answered at once.
QUICK = [
    "/stores/counts/keys/alice",
    "/stores/counts/keys/bob",
    "/stores/counts/keys/alice?",
    "/stores/numbers/keys/42",
    "/stores/numbers/keys/-1",
    "/stores/prices/keys/1.5",
    "/stores/blobs/keys/-_8",
    "/stores/flags/keys/true",
    "/stores/ids/keys/00000000-0000-0000-0000-000000000001",
    '/stores/objects/keys/{"a":1}',
]
#: Those that look alike, and are not.
SLOW = [
    "/stores/counts/keys/%61lice",
    "/stores/counts/keys/alice?standby=false",
    "/stores/counts/keys/alice?limit=0",
    "/stores/counts/keys/alice?unknown=1",
    "/stores/counts/keys/nobody",
    "/stores/counts/keys/",
    "/stores/counts/keys",
    "/stores/counts/keys/alice/",
    "/stores/nothing/keys/alice",
    "/stores//keys/alice",
    "/stores/numbers/keys/many",
    "/stores/numbers/keys/99999999999999999999",
    "/stores/windows/keys/alice",
    "/stores/sessions/keys/alice",
    "/stores/versions/keys/alice",
    "/stores/keys/alice",
    "/keys/alice",
    "/health",
    "/stores/counts/keys/" + "a" * 9000,
]


class Server:
    """One with or without the short way, which counts who takes it."""

    def __init__(self, views: Views, settings: ServerSettings, *, at_once: bool) -> None:
        self.answered = 0
        self._app = ViewsApp(views, APPLICATION, settings)
        self.listener = Listener(settings)
        self._server = HttpServer(
            self._app, self.listener, settings, OPEN_PATHS, at_once=self._answer if at_once else None
        )
        self._server.start()

    def _answer(self, scope: Scope) -> Iterable[Message] | None:
        answer = self._app.at_once(scope)
        self.answered += answer is not None
        return answer

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.listener.port), timeout=20)

    def raw(self, request: bytes) -> bytes:
        """All that comes back, but for what the clock says."""
        with self.connect() as connected:
            connected.sendall(request)
            return re.sub(rb"date: [^\r]*", b"date:", read_all(connected))

    def close(self) -> None:
        self._server.close()
        self._app.close()


Both = Callable[..., tuple[Server, Server]]


@pytest.fixture
def both(world: World) -> Iterator[Both]:
    """`both(**settings)`: a server with the short way and one without, of the same views."""
    servers: list[Server] = []
    views = world.views()
    world.stop_the_clock(views)

    def begin(**options: Any) -> tuple[Server, Server]:
        settings = ServerSettings(**{"drain": timedelta(0), **options})
        servers.extend(Server(views, settings, at_once=at_once) for at_once in (True, False))
        return servers[-2], servers[-1]

    yield begin
    for server in servers:
        server.close()


def request(path: str, *headers: str, method: str = "GET", version: str = "1.1", end: str = "close") -> bytes:
    lines = (f"{method} {path} HTTP/{version}", "host: x", f"connection: {end}", *headers)
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def test_the_same_bytes_on_both_ways(both: Both) -> None:
    quick, slow = both()
    for path in QUICK:
        assert b" 200 OK" in slow.raw(request(path))
        assert quick.raw(request(path)) == slow.raw(request(path)), path
    assert quick.answered == len(QUICK)
    for path in SLOW:
        assert quick.raw(request(path)) == slow.raw(request(path)), path
    for others in (
        request(QUICK[0], version="1.0"),
        request(QUICK[0], end="keep-alive") * 3 + request(QUICK[1]),
        request(QUICK[0], "content-length: 3") + b"abc",
        request(QUICK[0], "transfer-encoding: chunked") + b"3\r\nabc\r\n0\r\n\r\n",
    ):
        assert b" 200 OK" in slow.raw(others)
        assert quick.raw(others) == slow.raw(others), others
    assert quick.answered == len(QUICK) + 7
    for method in ("HEAD", "POST", "OPTIONS", "DELETE"):
        assert quick.raw(request(QUICK[0], method=method)) == slow.raw(request(QUICK[0], method=method)), method
    for header in ("limit: 1", "Min-Position: {}", "max-staleness: 1s", "standby: true", "partitions: 0", "limit: x"):
        assert quick.raw(request(QUICK[0], header)) == slow.raw(request(QUICK[0], header)), header
    assert quick.answered == len(QUICK) + 7


def test_who_is_not_known_is_refused_on_both_ways(both: Both) -> None:
    quick, slow = both(tokens=("0123456789abcdef",), users=(("ada", "secret"),))
    basic = base64.b64encode(b"ada:secret").decode()
    known = ("Authorization: Bearer 0123456789abcdef", f"authorization: Basic {basic}")
    for header in known:
        assert b" 200 OK" in slow.raw(request(QUICK[0], header))
        assert quick.raw(request(QUICK[0], header)) == slow.raw(request(QUICK[0], header))
    assert quick.answered == len(known)
    for header in ("x: y", "authorization: Bearer 0123456789abcdeg", "authorization: Basic YTpi", "authorization:"):
        assert b" 401 Unauthorized" in slow.raw(request(QUICK[0], header))
        assert quick.raw(request(QUICK[0], header)) == slow.raw(request(QUICK[0], header))
    assert quick.answered == len(known)


def test_browsers_are_told_of_other_pages_on_both_ways(both: Both) -> None:
    quick, slow = both(allowed_origins=("https://shop.example",))
    for header in ("origin: https://shop.example", "origin: https://elsewhere.example", "x: y"):
        assert quick.raw(request(QUICK[0], header)) == slow.raw(request(QUICK[0], header))
    assert b"access-control-allow-origin" in quick.raw(request(QUICK[0], "origin: https://shop.example"))


def test_partitions_that_move_are_told_on_both_ways(both: Both, world: World) -> None:
    quick, slow = both()
    copies = quick._app._views.local_copies()
    for copy in copies.values():
        copy.owned = False  # a standby answers, and says so
    assert b'"standby":true' in quick.raw(request(QUICK[0]))
    assert quick.raw(request(QUICK[0])) == slow.raw(request(QUICK[0]))
    for copy in copies.values():
        copy.progress[copy.partition].current_at = None
    assert b" 503 Service Unavailable" in quick.raw(request(QUICK[0]))
    assert quick.raw(request(QUICK[0])) == slow.raw(request(QUICK[0]))
    assert quick.answered == 0


def test_http2_and_tls_as_well(both: Both, tmp_path: Path) -> None:
    quick, slow = both()
    assert http2_get(quick.connect(), QUICK[0]) == http2_get(slow.connect(), QUICK[0])
    assert quick.answered == 1
    certificate, key = make_certificate(tmp_path)
    quick, slow = both(tls=Tls(certificate, key))
    context = ssl.create_default_context(cafile=str(certificate))
    answers = []
    for server in (quick, slow):
        with context.wrap_socket(server.connect(), server_hostname="localhost") as connected:
            connected.sendall(request(QUICK[0]))
            answers.append(read_all(connected)[-200:])
    assert answers[0] == answers[1]
    assert quick.answered == 1


def test_questions_of_other_instances_are_answered_at_once_as_well(both: Both) -> None:
    quick, slow = both()
    meant = [
        f"content-type: {MEDIA_TYPE}",
        f"{APPLICATION_HEADER}: {APPLICATION}",
        f"{INSTANCE_HEADER}: one",
    ]
    needs = Requirements()

    def same(query: Query, partitions: tuple[int, ...] = (0, 1), *, headers: list[str] = meant) -> bytes:
        _, url, body = request_of(encode_request(Ask("counts", query, needs, partitions)))
        assert body is None
        answer = slow.raw(request(url, *headers))
        assert quick.raw(request(url, *headers)) == answer
        return answer

    assert b" 200 OK" in same(KeyQuery(b"alice"))
    assert b" 200 OK" in same(KeyQuery(b"nobody"))
    assert quick.answered == 2
    assert b" 200 OK" in same(RangeQuery())
    assert b" 503 " in same(KeyQuery(b"alice"), (7,))
    assert b" 415 " in same(KeyQuery(b"alice"), headers=meant[1:])
    assert b" 421 " in same(KeyQuery(b"alice"), headers=meant[:2])
    for question in ("", "?", "?a", "?kw==", "?%00"):
        assert quick.raw(request(f"{PATH}{question}", *meant)) == slow.raw(request(f"{PATH}{question}", *meant))
    assert quick.answered == 2


def test_random_requests_have_the_same_answer_on_both_ways(world: World) -> None:
    views = world.views()
    world.stop_the_clock(views)
    settings = ServerSettings()
    app = ViewsApp(views, APPLICATION, settings)
    guard = Guard(app, settings, OPEN_PATHS, at_once=app.at_once)
    chance = random.Random(5)
    answered = 0

    async def ask() -> None:
        nonlocal answered
        for _ in range(1000):
            url = mutated(chance, chance.choice(QUICK).encode())
            reply = call_at_once(guard.at_once, url)
            if reply is not None:
                answered += 1
                assert reply == await call(guard, url), url

    try:
        asyncio.run(ask())
    finally:
        app.close()
    assert 100 < answered < 900
