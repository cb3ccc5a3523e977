"""A server that is none, and the command."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ..cli.conftest import run
from .stand_in import StandIn

__all__ = ["run"]


@pytest.fixture
def server() -> Iterator[StandIn]:
    running = StandIn()
    thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()
