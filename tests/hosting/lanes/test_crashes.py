"""Lanes that are killed, or stopped and go on later: every count from 1 to n, once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Message

from millstream.hosting.lanes.notes import slots_topic
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.topics import NewTopic

from .test_lane import counts

SCRIPT = Path(__file__).with_name("lane_process.py")
Start = Callable[[str], "subprocess.Popen[bytes]"]
KEYS, VALUES, ROUND = 7, 3, 210


@pytest.fixture(params=["in_memory", "rocksdb"])
def service(request: pytest.FixtureRequest, broker: DetachedBroker, admin: Admin) -> dict[str, str]:
    name = f"crash-{uuid.uuid4().hex[:8]}"
    admin.create_topics([NewTopic(f"{name}-in", 4), NewTopic(f"{name}-keys", 1), NewTopic(f"{name}-values", 1)])
    admin.ensure_topic(slots_topic(name))
    return {
        "service": name,
        "servers": broker.bootstrap_servers,
        "source": f"{name}-in",
        "out": name,
        "stores": request.param,
    }


@pytest.fixture
def start(service: dict[str, str]) -> Iterator[Start]:
    """`start(name)`: one lane process more."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(SCRIPT), json.dumps({**service, "name": name})]
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))  # noqa: S603 - it is ours
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.wait()


def records(first: int) -> list[tuple[str, str]]:
    return [(f"k{n % KEYS}", f"v{n % VALUES}") for n in range(first, first + ROUND)]


def check(service: dict[str, str], consume: Callable[..., list[Message]], total: int) -> None:
    found = counts(consume(f"{service['out']}-keys", total, timeout=60))
    assert found == {f"k{n}": list(range(1, total // KEYS + 1)) for n in range(KEYS)}
    found = counts(consume(f"{service['out']}-values", total, timeout=60))
    assert found == {f"v{n}": list(range(1, total // VALUES + 1)) for n in range(VALUES)}


def test_a_lane_is_killed_and_another_goes_on(
    service: dict[str, str], start: Start, produce: Callable[..., None], consume: Callable[..., list[Message]]
) -> None:
    first, second = start("a"), start("b")
    produce(service["source"], records(0))
    check(service, consume, ROUND)
    produce(service["source"], records(ROUND))
    first.kill()  # in the middle of it
    check(service, consume, 2 * ROUND)
    third = start("a")  # in its place, with its transactional id
    produce(service["source"], records(2 * ROUND))
    second.kill()
    check(service, consume, 3 * ROUND)
    assert third.poll() is None


def test_a_lane_that_was_silent_cannot_commit(
    service: dict[str, str], start: Start, produce: Callable[..., None], consume: Callable[..., list[Message]]
) -> None:
    first, _ = start("a"), start("b")
    produce(service["source"], records(0))
    check(service, consume, ROUND)
    produce(service["source"], records(ROUND))
    first.send_signal(signal.SIGSTOP)
    check(service, consume, 2 * ROUND)  # the other one has taken over
    first.send_signal(signal.SIGCONT)
    produce(service["source"], records(2 * ROUND))
    check(service, consume, 3 * ROUND)
    assert first.poll() is None
