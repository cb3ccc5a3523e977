"""A database, a relay that is killed again and again, and lanes that are killed, too."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Message
from examples.patterns.transactional_outbox import app, shop
from tests.spark.conftest import Apps
from tests.spark.crashes import wait_until

from millstream import KafkaStreams
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker

from .harness import readme
from .harness.live import Live
from .harness.world import decoded
from .invariants.transactional_outbox import PATTERN

ROOT = Path(__file__).parents[2]
TURNS = 3


def test_a_row_that_is_rolled_back_has_no_event(tmp_path: Path) -> None:
    with closing(shop.connect(tmp_path / "shop.db")) as database:
        shop.set_price(database, "o1", 100)
        with pytest.raises(sqlite3.IntegrityError):
            shop.set_price(database, "o1", 0)
        with pytest.raises(sqlite3.IntegrityError):
            shop.set_price(database, "o2", -5)
        shop.set_price(database, "o1", 90)
        assert database.execute("SELECT order_id, payload FROM outbox ORDER BY number").fetchall() == [
            ("o1", '{"cents": 100}'),
            ("o1", '{"cents": 90}'),
        ]
        assert database.execute("SELECT * FROM orders").fetchall() == [("o1", 90, 2)]


@contextmanager
def relay(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The relay as a process; it is killed at the end."""
    process = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-m", "examples.patterns.transactional_outbox.relay", str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("no_lane_is_left")
def test_every_committed_row_has_one_event_whoever_is_killed(
    apps: Apps,
    broker: DetachedBroker,
    admin: Admin,
    consume: Callable[..., list[Message]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MILLSTREAM_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.chdir(tmp_path)
    page, path, chance = readme.read(PATTERN), tmp_path / "shop.db", random.Random(11)
    for command in page.commands:
        readme.run(command, monkeypatch, capsys)
    committed: dict[str, list[int]] = {"tea-1": [450, 400], "tea-2": [300]}  # by the README's command
    config, topology = apps.config(), app.topology()
    with closing(shop.connect(path)) as database, KafkaStreams(topology, config) as streams:
        live = Live(streams, topology, config.application_id, admin, consume)
        for turn in range(TURNS):
            with relay(path):
                for _ in range(60):
                    order, cents = f"order-{chance.randrange(8)}", chance.randrange(-20, 100)
                    try:
                        shop.set_price(database, order, cents)
                        committed.setdefault(order, []).append(cents)
                    except sqlite3.IntegrityError:
                        assert cents <= 0
                # Some of it is out, and the relay is somewhere in the rest.
                wait_until(lambda: _waiting(database) < 50, "the relay to get on")
            if turn:
                live.kill_lanes()
        with relay(path):
            wait_until(lambda: not _waiting(database), "an empty outbox")
        live.wait_until_done()
    found: dict[str, list[int]] = {}
    numbers = []
    for message in consume(app.EVENTS):
        event = decoded(message.value())
        found.setdefault((message.key() or b"").decode(), []).append(event["payload"]["cents"])
        numbers.append(event["number"])
    assert found == committed
    assert len(set(numbers)) == len(numbers)
    readme.check_claims(page, monkeypatch, capsys)


def _waiting(database: sqlite3.Connection) -> int:
    (count,) = database.execute("SELECT count(*) FROM outbox").fetchone()
    return int(count)
