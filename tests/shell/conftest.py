"""Servers to ask: ksqlDB's protocol over a service in memory."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console

from millstream.ksqldb.rest.app import RestApp
from millstream.ksqldb.rest.serving import http_server
from millstream.server.listening import Listener
from millstream.server.settings import ServerSettings
from millstream.shell.client import KsqlClient
from millstream.shell.output import Output
from millstream.shell.rendering import Screen
from millstream.shell.shell import Shell

from ..ksqldb.rest.memory import MemoryService


class Shown:
    """A screen whose text can be read."""

    def __init__(self, *, output: Output = Output.TABULAR, width: int | None = None) -> None:
        self._out, self._errors = io.StringIO(), io.StringIO()
        out = Console(file=self._out, width=width, force_terminal=width is not None, color_system=None, highlight=False)
        self.screen = Screen(out, Console(file=self._errors, width=200, soft_wrap=True), output)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._out.getvalue().splitlines()]

    @property
    def errors(self) -> str:
        return self._errors.getvalue()


@pytest.fixture
def service() -> MemoryService:
    return MemoryService()


@pytest.fixture
def serve(service: MemoryService) -> Iterator[Callable[..., str]]:
    """`serve(**settings)`: where a server of the service listens, until the test is over."""
    ending: list[Callable[[], None]] = []

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


@pytest.fixture
def client(serve: Callable[..., str]) -> KsqlClient:
    return KsqlClient(serve())


@pytest.fixture
def shown() -> Shown:
    return Shown()


@pytest.fixture
def shell(client: KsqlClient, shown: Shown) -> Iterator[Shell]:
    made = Shell(client, shown.screen)
    yield made
    made.close()


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait, half a minute at most."""
    done = threading.Event()
    for _ in range(1500):
        if condition():
            return
        done.wait(0.02)
    raise AssertionError("it did not come")
