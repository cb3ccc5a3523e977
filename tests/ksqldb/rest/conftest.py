"""The application over a service in memory: as an object to call, and on a port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from millstream.ksqldb.rest.app import OPEN_PATHS, STREAMED_PATHS, RestApp
from millstream.ksqldb.rest.errors import restate
from millstream.ksqldb.rest.serving import http_server
from millstream.server.guard import Guard
from millstream.server.listening import Listener
from millstream.server.settings import ServerSettings

from ...server.asgi import Reply, call
from .memory import MemoryService

Ask = Callable[..., Reply]
Serve = Callable[..., str]


@pytest.fixture
def service() -> MemoryService:
    return MemoryService()


@pytest.fixture
def ask(service: MemoryService) -> Iterator[Ask]:
    """`ask(path, body, **options)`: the answer; POST if there is a body, which is JSON unless it is bytes."""
    apps: dict[ServerSettings, RestApp] = {}

    def ask(path: str, body: Any = None, *, settings: ServerSettings | None = None, **options: Any) -> Reply:
        settings = settings or ServerSettings()
        if settings not in apps:
            apps[settings] = RestApp(service, settings)
        guard = Guard(apps[settings], settings, OPEN_PATHS, streamed_paths=STREAMED_PATHS, restate=restate)
        if body is not None:
            options.setdefault("method", "POST")
            options["body"] = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return asyncio.run(call(guard, path, **options))

    yield ask
    for app in apps.values():
        app.close()


@pytest.fixture
def ending() -> list[Callable[[], None]]:
    """How servers are ended, in order."""
    return []


@pytest.fixture
def serve(service: MemoryService, ending: list[Callable[[], None]]) -> Iterator[Serve]:
    """`serve(**settings)`: where a server listens, until the test is over."""

    def begin(**options: Any) -> str:
        settings = ServerSettings(**{"drain": timedelta(seconds=0.2), **options})
        listener = Listener(settings)
        app = RestApp(service, settings)
        server = http_server(app, listener, settings)
        server.start()
        ending.extend((app.close, server.close))
        return listener.url

    yield begin
    for end in ending:
        end()
