"""Ten thousand requests of somebody who means no good: each has an answer, and none is an error of the server."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import random
from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest

from millstream.server.guard import Guard
from millstream.server.settings import ServerSettings
from millstream.server.views.app import ViewsApp
from millstream.server.views.documentation import description
from millstream.server.views.internal import APPLICATION_HEADER, INSTANCE_HEADER, MEDIA_TYPE, PATH
from millstream.views.queries import KeyQuery, KeysQuery, Position, RangeQuery, Requirements, WindowKeyQuery
from millstream.views.questions.wire import Request, encode_request

from .asgi import Reply, call, call_at_once
from .mutations import mutated
from .world import APPLICATION, KEYS, World

COUNT = int(os.environ.get("HOSTILE_REQUESTS", "10000"))

STORES = [*KEYS, "counts", "windows", "sessions", "versions", "nothing", ""]
#: What parameters and keys may be, some of it sensible.
VALUES = [
    "alice", "bob", "über/uns", "", "0", "1", "-1", "42", "1.5", "NaN", "inf", "1e400", "true", "false", "null",
    "[]", "{}",
    '{"a":1}', '{"city":"Ulm","number":7}', "[[[[[[", '"', "'", "\\", "../../etc/passwd", "%", "%00", "\x00", "\n",
    "9223372036854775807", "9223372036854775808", "1" * 400, "\u0663", "\U0001d518", "a" * 500, "-_8", "====",
    "2026-01-01",
    "2026-01-01T00:00:00Z", "2026-13-01", "0001-01-01", "9999-12-31T23:59:59.999999-23:59", "1d", "1000000000d",
    "5 m", "0,1", "0,,1",
    '{"shop-counts-changelog":{"0":1}}', '{"shop-counts-changelog":{"x":1}}', '{"t":{"0":99999999999999999999999}}',
    "00000000-0000-0000-0000-000000000001", "00000000", "${jndi:ldap://x}", "<script>", "'; DROP TABLE counts; --",
]  # fmt: skip
NAMES = [
    "from", "to", "key", "prefix", "reverse", "limit", "as_of", "from_key", "to_key", "standby", "partitions",
    "min_position", "max_staleness", "unknown", "",
]  # fmt: skip
METHODS = ["GET"] * 40 + ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "X" * 100]
PATHS = [*description(ServerSettings())["paths"], "/openapi.json", "/docs", *[PATH] * 4, "/", "", "//", "/stores//keys"]
QUESTIONS = [
    encode_request(Request("counts", KeyQuery(b"alice"), Requirements(), (0, 1))),
    encode_request(Request("counts", KeysQuery((b"alice", b"bob")), Requirements(limit=3), (0,))),
    encode_request(Request("counts", RangeQuery(b"a", None, True), Requirements(Position({"t": {0: 1}})), (1,))),
    encode_request(Request("windows", WindowKeyQuery(b"alice"), Requirements(allow_standby=True), (0, 1))),
]


@pytest.mark.parametrize("seed", range(2))
def test_hostile_requests(world: World, caplog: pytest.LogCaptureFixture, seed: int) -> None:
    settings = ServerSettings(max_rows=2, max_body=500)
    views = world.views()
    world.stop_the_clock(views)
    app = ViewsApp(views, APPLICATION, settings)
    guard = Guard(app, settings, at_once=app.at_once)
    chance = random.Random(seed)
    seen: Counter[int] = Counter()

    async def attack() -> None:
        for number in range(COUNT // 2):
            asked = _request(chance)
            with caplog.at_level(logging.ERROR):
                reply = await call(guard, **asked)
            _check(reply, (number, asked))
            body = asked.pop("body")
            if not body and (same := call_at_once(guard.at_once, **asked)) is not None:
                assert same == reply, (number, asked)
            seen[reply.status] += 1

    try:
        asyncio.run(attack())
    finally:
        app.close()
    assert not caplog.records
    # They came far enough to mean something.
    assert {200, 400, 404, 405, 413, 414, 421} <= set(seen), seen
    assert seen[200] > COUNT // 50


def _check(reply: Reply, asked: object) -> None:
    assert reply.status < 500 or reply.status == 503, (asked, reply)
    if reply.status >= 400:
        assert reply.headers["content-type"] == "application/json", asked
        told = reply.json()
        assert told["status"] == reply.status, asked
        assert told["primary"], asked
        assert {"detail", "hint", "kind"} <= set(told), asked


def _request(chance: random.Random) -> dict[str, Any]:
    path = chance.choice(PATHS).format(
        store=_quoted(chance, chance.choice(STORES)), key=_quoted(chance, chance.choice(VALUES)), instance="one"
    )
    query = "&".join(
        f"{chance.choice(NAMES)}={_quoted(chance, chance.choice(VALUES))}"
        for _ in range(chance.choice((0, 0, 1, 1, 2, 5)))
    )
    url = f"{path}?{query}".encode("utf-8", "surrogatepass")
    headers: dict[str, str] = {}
    if chance.random() < 0.2:
        headers["accept"] = chance.choice(("application/x-ndjson", "text/html", "*/*", "\xff"))
    if chance.random() < 0.2:
        headers[chance.choice(("min-position", "max-staleness", "standby", "limit", "authorization"))] = chance.choice(
            ('{"t":{"0":1}}', "5", "true", "Bearer x", "\xff\xfe", "")
        )
    method, body = chance.choice(METHODS), b""
    if path == PATH:
        method, body = "POST", mutated(chance, chance.choice(QUESTIONS))
        if chance.random() < 0.5:
            method, url, body = "GET", PATH.encode() + b"?" + base64.urlsafe_b64encode(body), b""
        headers = {"content-type": MEDIA_TYPE, APPLICATION_HEADER: APPLICATION, INSTANCE_HEADER: "one"}
        if chance.random() < 0.1:
            headers.popitem()
    if chance.random() < 0.3:
        url = mutated(chance, url)
    return {"url": url, "method": method, "headers": headers, "body": body}


def _quoted(chance: random.Random, text: str) -> str:
    return text if chance.random() < 0.2 else quote(text, safe=chance.choice(("", "/")))
