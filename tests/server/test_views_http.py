"""Questions over HTTP, without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from millstream.errors import ArgumentError
from millstream.server.guard import Guard
from millstream.server.settings import ServerSettings
from millstream.server.views.app import ViewsApp

from .asgi import call
from .conftest import Get
from .world import APPLICATION, MINUTE, World


def _keys(reply: object) -> list[object]:
    return [row["key"] for row in reply.json()["rows"]]  # type: ignore[attr-defined]


def test_a_key_with_its_value_position_and_lag(get: Get) -> None:
    reply = get("/stores/counts/keys/alice")
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    found = reply.json()
    assert (found["store"], found["key"], found["value"]) == ("counts", "alice", 3)
    assert found["timestamp"] == 4 * MINUTE
    ((partition, lag),) = found["lag"].items()
    assert lag["records"] == 0
    assert lag["stale_ms"] >= 0
    assert found["position"] == {"shop-counts-changelog": {partition: lag["position"]}}
    assert found["answered_by"] == {partition: {"instance": "one", "standby": False}}


@pytest.mark.parametrize(
    ("store", "key", "value"),
    [
        ("counts", "über/uns", 2),
        ("counts", "%C3%BCber%2Funs", 2),
        ("numbers", "42", {"name": "answer"}),
        ("numbers", "-1", {"name": "less"}),
        ("prices", "1.5", [1]),
        ("blobs", "-_8", "bytes"),
        ("blobs", "%2B%2F8%3D", "bytes"),
        ("flags", "true", "yes"),
        ("ids", "00000000-0000-0000-0000-000000000001", "one"),
        ("objects", '{"a": 1}', "object"),
        ("places", '{"number": 7, "city": "Ulm"}', "here"),
    ],
)
def test_a_key_is_what_the_serde_makes_of_its_text(get: Get, store: str, key: str, value: object) -> None:
    assert get(f"/stores/{store}/keys/{key}").json()["value"] == value


def test_keys_are_shown_as_they_are_asked_for(get: Get) -> None:
    for store, shown in {"blobs": "+/8=", "places": {"city": "Ulm", "number": 7}, "flags": True}.items():
        assert _keys(get(f"/stores/{store}/keys")) == [shown]


def test_several_keys_ranges_and_prefixes(get: Get) -> None:
    assert _keys(get("/stores/counts/keys?key=bob&key=nobody&key=alice")) == ["bob", "alice"]
    assert _keys(get("/stores/counts/keys")) == ["alice", "bob", "über/uns"]
    assert _keys(get("/stores/counts/keys?reverse=true")) == ["über/uns", "bob", "alice"]
    assert _keys(get("/stores/counts/keys?from=b&to=c")) == ["bob"]
    assert _keys(get("/stores/counts/keys?prefix=al")) == ["alice"]
    assert _keys(get("/stores/numbers/keys?from=0&to=100")) == [42]
    limited = get("/stores/counts/keys?limit=2")
    assert _keys(limited) == ["alice", "bob"]
    assert limited.json()["more"] is True
    assert get("/stores/counts/keys").json()["more"] is False
    assert get("/stores/counts/count").json()["count"] == 3


def test_windows_by_key_and_time(get: Get) -> None:
    rows = get("/stores/windows/windows/alice").json()["rows"]
    assert [row["window"] for row in rows] == [
        {"start": start, "end": start + MINUTE} for start in (0, 2 * MINUTE, 4 * MINUTE)
    ]
    starts = [
        row["window"]["start"] for row in get(f"/stores/windows/windows/alice?from=1&to={3 * MINUTE}").json()["rows"]
    ]
    assert starts == [2 * MINUTE]
    iso = get("/stores/windows/windows/alice?from=1970-01-01T00:03:00Z&to=1970-01-01T00:05:00Z").json()["rows"]
    assert [row["window"]["start"] for row in iso] == [4 * MINUTE]
    back = get("/stores/windows/windows/alice?reverse=true&limit=1").json()["rows"]
    assert [row["window"]["start"] for row in back] == [4 * MINUTE]
    assert {row["key"] for row in get("/stores/windows/windows?from=0&to=0").json()["rows"]} == {
        "alice",
        "bob",
        "über/uns",
    }
    assert {row["key"] for row in get("/stores/windows/windows?from_key=b&to_key=c").json()["rows"]} == {"bob"}


def test_sessions(get: Get) -> None:
    rows = get("/stores/sessions/sessions/alice").json()["rows"]
    assert [row["window"]["start"] for row in rows] == [0, 2 * MINUTE, 4 * MINUTE]
    assert len(get(f"/stores/sessions/sessions/alice?from={2 * MINUTE}&to={3 * MINUTE}").json()["rows"]) == 1
    assert {row["key"] for row in get("/stores/sessions/sessions").json()["rows"]} == {"alice", "bob", "über/uns"}


def test_versions(get: Get) -> None:
    assert get("/stores/versions/keys/alice").json()["value"] == "Bonn"
    then = get("/stores/versions/keys/alice?as_of=1500").json()
    assert (then["value"], then["timestamp"], then["valid_to"]) == ("Ulm", 1000, 2000)
    assert [row["value"] for row in get("/stores/versions/versions/alice").json()["rows"]] == ["Ulm", "Bonn"]
    assert [row["value"] for row in get("/stores/versions/versions/alice?from=2500").json()["rows"]] == ["Bonn"]


def test_rows_as_a_stream_of_lines(get: Get) -> None:
    accept = {"accept": "application/x-ndjson"}
    small = ServerSettings(max_rows=1)
    reply = get("/stores/counts/keys", headers=accept, settings=small)
    assert reply.headers["content-type"] == "application/x-ndjson"
    *rows, end = reply.lines()
    assert [line["row"]["key"] for line in rows] == ["alice", "bob", "über/uns"]
    assert end["end"]["more"] is False
    assert set(end["end"]) == {"more", "position", "lag", "answered_by"}
    assert get("/stores/nothing/keys", headers=accept).status == 404


def test_what_there_is(get: Get) -> None:
    stores = {store["name"]: store for store in get("/stores").json()["stores"]}
    assert stores["windows"]["window_size_ms"] == MINUTE
    assert stores["counts"]["partitions"] == 2
    counts = get("/stores/counts").json()
    assert (counts["kind"], counts["key_serde"]) == ("timestamped key-value", "string")
    assert [instance["id"] for instance in get("/metadata").json()["instances"]] == ["one"]
    assert get("/metadata/stores/counts").json()["instances"][0]["partitions"] == [0, 1]
    assert get("/metadata/stores/counts/keys/alice").json()["active"]["id"] == "one"
    assert get("/metadata/instances/one").json()["stores"]["counts"]["partitions"] == [0, 1]
    assert set(get("/metadata/lags").json()["stores"]["counts"]) == {"0", "1"}
    assert get("/health").json() == {"status": "up"}
    assert get("/health/ready").json() == {"status": "ready"}


def test_requirements_by_parameter_and_by_header(get: Get) -> None:
    position = get("/stores/counts/keys/alice").json()["position"]
    asked = f"/stores/counts/keys/alice?min_position={quote(json.dumps(position))}"
    assert get(asked).status == 200
    ((topic, offsets),) = position.items()
    later = json.dumps({topic: {partition: offset + 1 for partition, offset in offsets.items()}})
    for reply in (
        get(f"/stores/counts/keys/alice?min_position={quote(later)}"),
        get("/stores/counts/keys/alice", headers={"Min-Position": later}),
    ):
        assert (reply.status, reply.headers["retry-after"], reply.json()["kind"]) == (503, "1", "NotUpToBound")
    assert get("/stores/counts/keys/alice?max_staleness=10s&standby=true").status == 200


@pytest.mark.parametrize(
    ("url", "status", "kind", "says"),
    [
        ("/stores/nothing/keys/a", 404, "UnknownStore", "nothing"),
        ("/stores/nothing", 404, "UnknownStore", "nothing"),
        ("/stores/counts/keys/nobody", 404, "KeyNotFound", "no such key"),
        ("/metadata/instances/two", 404, "UnknownInstance", "two"),
        ("/elsewhere", 404, "NotFound", "/elsewhere"),
        ("/stores/numbers/keys/many", 400, "KeyRefused", "many"),
        ("/stores/numbers/keys/99999999999999999999", 400, "KeyRefused", "99999"),
        ("/stores/flags/keys/maybe", 400, "KeyRefused", "maybe"),
        ("/stores/ids/keys/1", 400, "KeyRefused", "1"),
        ("/stores/blobs/keys/!", 400, "KeyRefused", "!"),
        ("/stores/objects/keys/a", 400, "KeyRefused", "a"),
        ('/stores/places/keys/{"city": 1}', 400, "KeyRefused", "city"),
        ("/stores/numbers/keys?prefix=4", 400, "KeyRefused", "prefix"),
        ("/stores/counts/keys/%FF", 400, "BadRequest", "UTF-8"),
        ("/stores/counts/keys?from=%FF", 400, "BadRequest", "UTF-8"),
        ("/stores/counts/windows/alice", 400, "WrongQuery", "counts"),
        ("/stores/windows/keys/alice", 400, "WrongQuery", "windows"),
        ("/stores/windows/windows/alice?from=yesterday", 400, "BadRequest", "from"),
        ("/stores/windows/windows/alice?from=9&to=3", 400, "BadRequest", "after"),
        ("/stores/windows/windows/alice?form=9", 400, "BadRequest", "form"),
        ("/stores/counts/keys?limit=0", 400, "BadRequest", "limit"),
        ("/stores/counts/keys?limit=5&limit=6", 400, "BadRequest", "twice"),
        ("/stores/counts/keys?key=a&prefix=b", 400, "BadRequest", "at once"),
        ("/stores/counts/keys?reverse=perhaps", 400, "BadRequest", "reverse"),
        ("/stores/counts/keys?partitions=7", 400, "WrongQuery", "partition"),
        ("/stores/counts/keys?max_staleness=soon", 400, "BadRequest", "max_staleness"),
        ("/stores/counts/keys?min_position=5", 400, "BadRequest", "min_position"),
        ("/stores/counts/keys?limit=1000000", 413, "OversizedScan", "too large"),
        ("/stores/counts/keys/" + "a" * 9000, 414, "UrlTooLong", "too long"),
    ],
)
def test_bad_input_is_told_clearly(get: Get, url: str, status: int, kind: str, says: str) -> None:
    reply = get(url)
    told = reply.json()
    assert (reply.status, told["status"], told["kind"]) == (status, status, kind)
    assert reply.headers["content-type"] == "application/json"
    assert says in f"{told['primary']} {told['detail']}"
    assert {"primary", "detail", "hint"} <= set(told)
    assert told["hint"] or told["detail"]


def test_a_scan_that_is_too_large_says_what_to_do(get: Get) -> None:
    reply = get("/stores/counts/keys", settings=ServerSettings(max_rows=2))
    assert reply.status == 413
    assert "x-ndjson" in reply.json()["hint"]


def test_wrong_methods_and_bodies(get: Get) -> None:
    reply = get("/stores", method="DELETE")
    assert reply.status == 405
    assert "GET" in reply.headers["allow"]
    assert reply.json()["kind"] == "MethodNotAllowed"
    assert get("/internal/views", method="POST", body=b"{}").status == 415


def test_while_partitions_move_the_answer_is_try_again(world: World, get: Get) -> None:
    views = world.views("two")
    views._server.moving = True  # type: ignore[union-attr]
    app = ViewsApp(views, APPLICATION, ServerSettings())
    for url in ("/stores/counts/keys/alice", "/stores/counts/keys", "/health/ready", "/metadata/stores/counts"):
        reply = asyncio.run(call(Guard(app, ServerSettings()), url))
        assert (reply.status, reply.headers["retry-after"], reply.json()["kind"]) == (503, "1", "NotReady"), url
    app.close()


def test_tokens(get: Get) -> None:
    settings = ServerSettings(tokens=("the-first-secret-token", "another-secret-token"))
    url = "/stores/counts/keys/alice"
    assert "secret" not in repr(settings)
    for headers, says in (
        ({}, "a token is needed"),
        ({"authorization": "Bearer wrong"}, "the token is wrong"),
        ({"authorization": "Basic the-first-secret-token"}, "the token is wrong"),
    ):
        reply = get(url, settings=settings, headers=headers)
        assert (reply.status, reply.json()["primary"], reply.headers["www-authenticate"]) == (401, says, "Bearer")
        assert "secret" not in reply.body.decode()
    for token in settings.tokens:
        assert get(url, settings=settings, headers={"authorization": f"bearer {token}"}).status == 200
    assert get("/health", settings=settings).status == 200
    assert get("/docs", settings=settings).status == 200
    assert get("/nothing/here", settings=settings).status == 401
    assert get("/internal/views", method="POST", settings=settings).status == 401


def test_the_documentation_is_there_and_asks_nobody(get: Get) -> None:
    described = get("/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    page = get("/docs")
    text = page.body.decode()
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http:" not in text
    assert "https:" not in text
    assert "<script" not in text
    for path in described["paths"]:
        assert path in text
        # Each path that is described is there.
        filled = path.format(store="nothing", key="a", instance="nobody")
        assert get(filled).json().get("kind") != "NotFound"


def test_settings_refuse_to_listen_to_everyone() -> None:
    for options in (
        {"host": "0.0.0.0"},  # noqa: S104
        {"host": "example.org"},
        {"tokens": ("short",)},
        {"users": (("with:colon", "word"),)},
        {"users": (("name", ""),)},
        {"tokens": ("with a space in it, though long",)},
        {"port": 70000},
        {"max_rows": 0},
        {"drain": timedelta(seconds=-1)},
    ):
        with pytest.raises(ArgumentError):
            ServerSettings(**options)
    ServerSettings(host="0.0.0.0", allow_anyone=True)  # noqa: S104
    ServerSettings(host="0.0.0.0", tokens=("long-enough-to-be-one",))  # noqa: S104


def test_a_websocket_is_refused(world: World) -> None:
    app = ViewsApp(world.views(), APPLICATION, ServerSettings())
    sent: list[str] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message["type"])

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    path = "/stores/counts/keys/alice"
    scope = {"type": "websocket", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": []}
    asyncio.run(Guard(app, ServerSettings())(scope, receive, send))
    assert sent == ["websocket.close"]
    app.close()
