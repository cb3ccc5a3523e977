"""Restores, standbys and lanes that change, watched in Chromium."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from millstream.config import StreamsConfig
from millstream.jvm.java import find_java
from millstream.kafka.admin import Admin
from millstream.kafka.jars import kafka_jars
from millstream.kafka.topics import NewTopic
from millstream.server.settings import ServerSettings
from millstream.server.views.serving import ServedViews

from . import restored
from .browser import Browser
from .conftest import Served

_ACCOUNTS = 1000
#: Of what Kafka allows, ten seconds' worth is free; the changelog is many times as long.
_SLOWLY = ("--add-config", "consumer_byte_rate=2000")
_AT_ONCE = ("--delete-config", "consumer_byte_rate")
_ROOT = Path(__file__).parents[2]


@pytest.fixture
def restoring(served: Served, tmp_path: Path) -> Iterator[str]:
    """Where the console is of an application that restores its state."""
    with closing(Admin(StreamsConfig(bootstrap_servers=served.bootstrap_servers))) as admin:
        admin.create_topics([NewTopic(restored.TOPIC, 2, {})])
    producer = Producer({"bootstrap.servers": served.bootstrap_servers})
    for number in range(_ACCOUNTS):
        producer.produce(restored.TOPIC, "1", f"account-{number}")
    assert producer.flush(30) == 0
    command = [sys.executable, "-m", "tests.console.restored", served.bootstrap_servers, str(tmp_path / "ledger")]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=_ROOT) as process:  # noqa: S603
        try:
            _give(served.bootstrap_servers, *_SLOWLY)
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _give(bootstrap_servers: str, *how: str) -> None:
    """Say how fast the consumers of the second run get records; Kafka's own tool tells the broker."""
    classpath = os.pathsep.join(str(jar) for jar in kafka_jars())
    command = [find_java(), "-cp", classpath, "kafka.admin.ConfigCommand", "--bootstrap-server", bootstrap_servers]
    command += ["--alter", *how, "--entity-type", "clients", "--entity-name", restored.SLOW]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - it is ours


@contextmanager
def _second_instance(served: Served, directory: Path) -> Iterator[str]:
    """Another instance of the application's views; answers its name."""
    views = ServedViews(restored.topology(), restored.config(served.bootstrap_servers, directory), ServerSettings())
    views.start()
    try:
        yield views.views.instance.id
    finally:
        views.close()


def test_a_restore_and_a_standby_are_seen_while_they_happen(
    browser: Browser, served: Served, restoring: str, tmp_path: Path
) -> None:
    before, browser.url = browser.url, restoring
    try:
        browser.open("tasks")
        browser.errors()  # of whoever had it before
        browser.says("not read up yet", "#copies")  # its copies are made anew, too
        browser.wait(lambda: any(share < 1 for share in _shares(browser, "#copies")))
        served.write(restored.TOPIC, "account-1", "1")  # the first batch, for which the tasks must be there
        browser.wait(lambda: any(0 < share < 1 for share in _shares(browser, "#tasks")))
        browser.says("per second", "#tasks")
        with _second_instance(served, tmp_path) as other:
            browser.wait(lambda: _roles(browser, other) == _roles(browser, "this one") == {"active", "standby"})
            _give(served.bootstrap_servers, *_AT_ONCE)
            browser.wait(lambda: len(browser.all("#tasks .badge.good")) == 2)  # both tasks are restored
            browser.wait(lambda: _shares(browser, "#copies") == [1.0, 1.0])
        assert browser.errors() == []
    finally:
        browser.url = before


def _shares(browser: Browser, place: str) -> list[float]:
    """How far the bars of a table are."""
    script = f"return [...document.querySelectorAll('{place} progress')].map((bar) => bar.value)"
    return [float(value) for value in browser.script(script)]


def _roles(browser: Browser, instance: str) -> set[str]:
    """As what an instance has partitions of the store."""
    rows = [row.text for row in browser.all("#copies tbody tr")]
    return {role for role in ("active", "standby") for row in rows if instance in row and role in row}


def test_a_lane_that_dies_is_seen_to_be_replaced(admin_browser: Browser, served: Served) -> None:
    browser = admin_browser
    browser.open("lanes")
    browser.wait(lambda: len(_processes(browser)) == 2)
    before, at_work = _processes(browser), _at_work(browser)
    os.kill(before[0], signal.SIGKILL)
    browser.wait(lambda: len(_processes(browser)) == 2 and _processes(browser) != before)  # Spark has started it anew
    browser.wait(lambda: sorted(_slots(browser)) == [16, 16])
    browser.wait(lambda: _at_work(browser) == at_work)  # what it had to do is done again
    assert len(served.rows("SELECT id FROM totals;")) >= 8
    assert browser.errors() == []


def _processes(browser: Browser) -> list[int]:
    """The processes of the lanes of this server."""
    return sorted({int(cell.text.split()[0]) for cell in browser.all("#here tbody td:nth-child(2)")})


def _at_work(browser: Browser) -> set[tuple[str, str]]:
    """The tasks of queries that are at work in the lanes of this server."""
    rows = [[cell.text for cell in row.find_elements("tag name", "td")] for row in browser.all("#here tbody tr")]
    return {(row[2], task) for row in rows for task in row[3].split() if "_" in task}


def _slots(browser: Browser) -> list[int]:
    """How many slots each lane of the service has."""
    return [int(cell.text) for cell in browser.all("#lanes tbody td:nth-child(3)")]
