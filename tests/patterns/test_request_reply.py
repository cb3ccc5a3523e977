"""Requests whose time is over, requests that come again, and a client that waits while lanes are killed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta

import pytest
from confluent_kafka import Message
from examples.patterns.request_reply import app
from examples.patterns.request_reply.client import Client
from tests.spark.conftest import Apps

from millstream import KafkaStreams, Serdes
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.testing import TopologyTestDriver

from .harness import readme
from .harness.live import Live
from .invariants.request_reply import PATTERN

LONG, NO_TIME = timedelta(minutes=2), timedelta(0)
COUNTERS = ("north", "south", "east")


def test_what_nobody_waits_for_is_neither_executed_nor_remembered() -> None:
    with TopologyTestDriver(app.topology(), wall_clock_start=0) as driver:
        requests = driver.input_topic(app.REQUESTS, Serdes.string, Serdes.json(app.Request))
        replies = driver.output_topic(f"{app.REPLIES_PREFIX}ann", Serdes.string, Serdes.json(app.Reply))
        early, late = app.Request("r1", "ann", 20_000), app.Request("r2", "ann", 5_000)
        requests.pipe("bakery", early)
        requests.pipe("bakery", early)
        driver.advance_wall_clock(timedelta(seconds=10))
        requests.pipe("bakery", late)
        requests.pipe("bakery", app.Request("r3", "ann", 20_000))
        assert [(reply.id, reply.number) for reply in replies.read_values()] == [("r1", 1), ("r1", 1), ("r3", 2)]
        driver.advance_wall_clock(timedelta(seconds=10))
        assert list(driver.key_value_store("counter-given").all()) == []


@pytest.mark.usefixtures("no_lane_is_left")
def test_everybody_gets_a_number_of_his_own_though_lanes_are_killed(
    apps: Apps,
    broker: DetachedBroker,
    admin: Admin,
    consume: Callable[..., list[Message]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MILLSTREAM_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    page = readme.read(PATTERN)
    for command in page.commands:
        readme.run(command, monkeypatch, capsys)
    config, topology = apps.config(), app.topology()
    with KafkaStreams(topology, config) as streams, closing(Client(broker.bootstrap_servers, "ann")) as client:
        live = Live(streams, topology, config.application_id, admin, consume)
        numbers = []
        for _ in range(2):
            commits = live.commits
            numbers += [(counter, client.ask(counter, LONG)) for counter in COUNTERS * 20]
            late = [client.ask(counter, NO_TIME) for counter in COUNTERS]
            live.wait_for_more_than(commits)
            assert live.kill_lanes()
            assert [type(future.exception(60)) for future in late] == [TimeoutError] * len(late)
        found = [(counter, future.result(120)) for counter, future in numbers]
        for counter in COUNTERS:
            assert sorted(number for of, number in found if of == counter) == list(range(1, 41))
        assert client.waiting == 0
        live.wait_until_done()
        assert client.unknown_replies == 0
        readme.check_claims(page, monkeypatch, capsys)
