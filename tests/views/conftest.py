"""Views on the run's broker."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream import StreamsConfig
from millstream.kafka.detached import DetachedBroker
from millstream.views.api import Views

PATIENCE = timedelta(seconds=60)


@pytest.fixture
def app_config(broker: DetachedBroker, tmp_path: Path) -> Callable[..., StreamsConfig]:
    """`app_config(**options)`: a configuration; all of a test have the same application id."""
    name = f"views-{uuid.uuid4().hex[:8]}"

    def made(**options: Any) -> StreamsConfig:
        return StreamsConfig(
            **{
                "application_id": name,
                "bootstrap_servers": broker.bootstrap_servers,
                "state_dir": tmp_path / "one",
                **options,
            }
        )

    return made


@pytest.fixture
def start() -> Iterator[Callable[..., Views]]:
    """`start(topology, config, **options)`: views that have read up, closed when the test is over."""
    started: list[Views] = []

    def begin(*arguments: Any, wait: bool = True, **options: Any) -> Views:
        views = Views(*arguments, **options)
        started.append(views)
        views.start()
        if wait:
            views.wait_until_ready(timeout=PATIENCE)
        return views

    yield begin
    for views in started:
        views.close()
