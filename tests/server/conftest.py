"""Views without a broker, and their application as an object to call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from millstream.server.guard import Guard
from millstream.server.settings import ServerSettings
from millstream.server.views.app import OPEN_PATHS, ViewsApp

from .asgi import Reply, call
from .world import APPLICATION, MINUTE, Place, World

Get = Callable[..., Reply]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    for name, count in (("alice", 3), ("bob", 1), ("über/uns", 2)):
        for number in range(count):
            world.put("events", name, "x", number * MINUTE * 2)
    world.put("numbers", 42, {"name": "answer"})
    world.put("numbers", -1, {"name": "less"})
    world.put("prices", 1.5, [1])
    world.put("blobs", b"\xfb\xff", "bytes")
    world.put("flags", True, "yes")
    world.put("ids", UUID(int=1), "one")
    world.put("objects", {"a": 1}, "object")
    world.put("places", Place("Ulm", 7), "here")
    world.put("people", "alice", "Ulm", 1000)
    world.put("people", "alice", "Bonn", 2000)
    yield world
    world.close()


@pytest.fixture
def get(world: World) -> Iterator[Get]:
    """`get(url, **options)`: the answer of an instance that has everything; `settings=` for other settings."""
    views = world.views()
    apps: list[ViewsApp] = []

    def ask(url: str | bytes, *, settings: ServerSettings | None = None, **options: Any) -> Reply:
        settings = settings or ServerSettings()
        apps.append(ViewsApp(views, APPLICATION, settings))
        return asyncio.run(call(Guard(apps[-1], settings, OPEN_PATHS), url, **options))

    yield ask
    for app in apps:
        app.close()
