"""Questions from one instance to another over real connections."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import make_certificate

from millstream.errors import InstanceUnreachable, NotReady, PartitionNotHere, UnknownStore
from millstream.server.listening import Listener
from millstream.server.running import HttpServer
from millstream.server.settings import ServerSettings, Tls
from millstream.server.views.app import OPEN_PATHS, ViewsApp
from millstream.server.views.remote import HttpRemote
from millstream.views.answers import Instance
from millstream.views.api import Views
from millstream.views.queries import KeyQuery, KeysQuery, RangeQuery, Requirements

from .world import APPLICATION, World

Start = Callable[..., tuple[Views, Listener]]


@pytest.fixture
def start(world: World) -> Iterator[Start]:
    """`start(name, partitions, settings)`: an instance that answers over HTTP and asks others."""
    closing: list[Callable[[], object]] = []

    def begin(name: str, partitions: tuple[int, ...], settings: ServerSettings | None = None) -> tuple[Views, Listener]:
        settings = replace(settings or ServerSettings(), drain=timedelta(0), patience=timedelta(seconds=5))
        listener = Listener(settings)
        remote = HttpRemote(APPLICATION, settings)
        views = world.views(name, partitions, port=listener.port, remote=remote)
        app = ViewsApp(views, APPLICATION, settings)
        server = HttpServer(app, listener, settings, OPEN_PATHS, at_once=app.at_once)
        server.start()
        closing.extend((app.close, remote.close, server.close))
        listener.server = server  # type: ignore[attr-defined]
        return views, listener

    yield begin
    for close in reversed(closing):
        close()


def ask(listener: Listener, path: str, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_every_key_is_answered_by_every_instance(start: Start) -> None:
    views = [start(name, (number,)) for number, name in enumerate(("one", "two"))]
    for mine, listener in views:
        found = {key: mine.ask("counts", KeyQuery(key)) for key in ("alice", "bob", "über/uns")}
        assert [answer.rows[0].value for answer in found.values()] == [3, 1, 2]
        assert {by.instance for answer in found.values() for by in answer.answered_by.values()} == {"one", "two"}
        assert [row.key for row in mine.ask("counts", RangeQuery()).rows] == ["alice", "bob", "über/uns"]
        for key, value in (("alice", 3), ("bob", 1)):
            status, answer = ask(listener, f"/stores/counts/keys/{key}")
            assert (status, answer["value"]) == (200, value)
        status, scan = ask(listener, "/stores/counts/keys")
        assert [row["key"] for row in scan["rows"]] == ["alice", "bob", "über/uns"]
        assert {by["instance"] for by in scan["answered_by"].values()} == {"one", "two"}


def test_questions_may_be_long(start: Start) -> None:
    (views, _), _ = start("one", (0,)), start("two", (1,))
    keys = tuple(f"nobody-{number}" for number in range(2000))
    assert [row.key for row in views.ask("counts", KeysQuery((*keys, "alice", "bob"))).rows] == ["alice", "bob"]


def test_connections_are_kept_and_those_that_died_are_replaced(start: Start, world: World) -> None:
    views, _ = start("one", (0,))
    _, listener = start("two", (1,))
    keys = [f"key-{number}" for number in range(50)]
    for key in keys:
        views.ask("counts", KeyQuery(key))
    remote: Any = views._remote
    ((_, kept),) = remote._idle.items()
    assert len(kept) == 1
    kept[0][1].sock.shutdown(socket.SHUT_RDWR)
    for key in keys:
        views.ask("counts", KeyQuery(key))
    assert len(kept) == 1
    listener.server.close()  # type: ignore[attr-defined]
    with pytest.raises(InstanceUnreachable):
        views.ask("counts", RangeQuery())


def test_an_error_comes_back_as_what_it_was(start: Start) -> None:
    views, _ = start("one", (0, 1))
    remote = views._remote
    assert remote is not None
    needs = Requirements()
    with pytest.raises(PartitionNotHere):
        remote.ask(views.instance, "counts", KeyQuery(b"a"), needs, (7,))
    with pytest.raises(UnknownStore, match="nothing"):
        remote.ask(views.instance, "nothing", KeyQuery(b"a"), needs, (0,))
    views._server.moving = True  # type: ignore[union-attr]
    with pytest.raises(NotReady):
        remote.ask(views.instance, "counts", KeyQuery(b"a"), needs, (0,))


def test_an_address_that_belongs_to_another_now_is_not_believed(start: Start) -> None:
    views, listener = start("one", (0, 1))
    remote = views._remote
    assert remote is not None
    with pytest.raises(InstanceUnreachable, match="refuses") as told:
        remote.ask(Instance("two", "127.0.0.1", listener.port), "counts", KeyQuery(b"a"), Requirements(), (0,))
    assert "it is" not in (told.value.primary or "")
    other = HttpRemote("other", ServerSettings())
    with pytest.raises(InstanceUnreachable):
        other.ask(views.instance, "counts", KeyQuery(b"a"), Requirements(), (0,))
    other.close()


def test_tokens_and_tls_between_instances(start: Start, tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    settings = ServerSettings(tokens=("a-token-for-all-instances",), tls=Tls(certificate, key, authorities=certificate))
    (one, _), (two, _) = start("one", (0,), settings), start("two", (1,), settings)
    for views in (one, two):
        assert [row.value for row in views.ask("counts", RangeQuery()).rows] == [3, 1, 2]
    stranger = HttpRemote(APPLICATION, replace(settings, tokens=()))
    with pytest.raises(InstanceUnreachable) as told:
        stranger.ask(one.instance, "counts", KeyQuery(b"a"), Requirements(), (0,))
    assert "a token is needed" in (told.value.detail or "")
    assert "a-token" not in str(told.value)
    distrusting = HttpRemote(APPLICATION, replace(settings, tls=Tls(certificate, key)))
    with pytest.raises(InstanceUnreachable, match="does not answer"):
        distrusting.ask(one.instance, "counts", KeyQuery(b"a"), Requirements(), (0,))
    stranger.close()
    distrusting.close()


def test_an_instance_that_is_silent_is_given_up(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        remote = HttpRemote(APPLICATION, ServerSettings(patience=timedelta(seconds=0.2)))
        instance = Instance("two", "127.0.0.1", silent.getsockname()[1])
        with pytest.raises(InstanceUnreachable, match="does not answer"):
            remote.ask(instance, "counts", KeyQuery(b"a"), Requirements(), (0,))
        remote.close()


def test_many_ask_at_once(start: Start) -> None:
    (views, _), _ = start("one", (0,)), start("two", (1,))
    wrong: list[object] = []

    def asking() -> None:
        for _ in range(50):
            values = [row.value for row in views.ask("counts", RangeQuery()).rows]
            if values != [3, 1, 2]:
                wrong.append(values)

    threads = [threading.Thread(target=asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
