"""Views of a real broker's changelogs over HTTP: two instances, and `millstream serve` with `millstream query`."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millstream import ServerSettings, StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.server.views.serving import ServedViews

from ..views.conftest import app_config as app_config
from ..views.world import BASE, KEYS, World, counting, wait_until

APP = """
from millstream import Consumed, Materialized, Serdes, StreamsBuilder
builder = StreamsBuilder()
events = builder.stream("events", Consumed(Serdes.string, Serdes.string))
events.group_by_key().count(materialized=Materialized("counts"))
"""


@pytest.fixture
def world(app_config: Callable[..., StreamsConfig], admin: Admin) -> Iterator[World]:
    """Every key was counted once."""
    made = World(counting(), app_config(), admin, 2)
    for key in KEYS:
        made.pipe("events", key, "x", BASE)
    made.write(made.take())
    yield made
    made.close()


def get(url: str, path: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    except ConnectionError:
        return 0, None
    finally:
        connection.close()


def is_ready(url: str) -> bool:
    return get(url, "/health/ready")[0] == 200


def _knows_two(url: str) -> bool:
    return len(get(url, "/metadata")[1].get("instances", ())) == 2


def _asks_both(url: str) -> bool:
    scan = get(url, "/stores/counts/keys")[1]
    return len({by["instance"] for by in scan["answered_by"].values()}) == 2


def test_two_instances_answer_for_each_other(world: World, tmp_path: Path) -> None:
    settings = ServerSettings(drain=timedelta(0))
    configs = [replace(world.config, state_dir=tmp_path / name) for name in ("one", "two")]
    served = [ServedViews(world.topology, config, settings) for config in configs]
    try:
        for each in served:
            each.start()
        for each in served:
            wait_until(partial(_knows_two, each.url))
        wait_until(lambda: all(len(_owners(each)) == 2 for each in served), what="both to have a partition")
        for each in served:
            wait_until(partial(is_ready, each.url))
            found = {key: get(each.url, f"/stores/counts/keys/{key}") for key in KEYS}
            assert {answer["value"] for _, answer in found.values()} == {1}
            scan = get(each.url, "/stores/counts/keys")[1]
            assert [row["key"] for row in scan["rows"]] == sorted(KEYS)
            wait_until(partial(_asks_both, each.url), what="both to be asked")
    finally:
        for each in served:
            each.close()


def _owners(served: ServedViews) -> set[str]:
    status, found = get(served.url, "/metadata/stores/counts")
    return {has["instance"]["id"] for has in found["instances"] if has["partitions"]} if status == 200 else set()


def test_serve_and_query(world: World, broker: DetachedBroker, tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(APP)
    command = [sys.executable, "-m", "millstream.cli"]
    options = ["--application-id", world.config.application_id, "--port", "0", "--state-dir", str(tmp_path / "state")]
    process = subprocess.Popen(  # noqa: S603
        [*command, "serve", str(app), "-b", broker.bootstrap_servers, *options], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert "are at http://127.0.0.1:" in line, line + process.stderr.read()
        url = line.split(" are at ")[1].split(",")[0]
        assert "every store can be asked" in process.stderr.readline()
        asked = [*command, "query", "counts", "--server", url]
        shown = subprocess.run([*asked, "--key", KEYS[0], "--json"], capture_output=True, text=True, check=True)  # noqa: S603
        assert (json.loads(shown.stdout)["key"], json.loads(shown.stdout)["value"]) == (KEYS[0], 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert "stopping" in process.stderr.read()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()
