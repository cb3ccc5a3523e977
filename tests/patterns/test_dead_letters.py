"""A fix and a replay, as if nothing had ever failed."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from confluent_kafka import Message
from examples.patterns.dead_letters import app, replay
from tests.spark.conftest import Apps

from millstream import KafkaStreams, StreamsBuilder
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker

from .harness import readme
from .harness.live import Live
from .harness.simulation import Simulation
from .harness.world import Pattern, Sent, decoded
from .invariants.dead_letters import PATTERN, cents


def totals(sent: list[Sent]) -> dict[str, int]:
    """What a run that never fails leads to."""
    found: dict[str, int] = {}
    for record in sent:
        if (worth := cents(record)) is not None:
            found[record.key] = found.get(record.key, 0) + worth
    return found


def test_after_the_fix_and_a_replay_all_is_as_if_nothing_had_failed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "millstream")
    for seed in range(20):
        rates = dict(app.RATES)

        def add_mended(builder: StreamsBuilder, rates: dict[str, int] = rates) -> None:
            app.add_to(builder, rates)

        pattern: Pattern = replace(PATTERN, parts=(add_mended, replay.add_to))
        chance = random.Random(seed)
        sent = pattern.inputs(chance, 50)
        simulation = Simulation(pattern, chance)
        simulation.send(sent)
        simulation.run(without=1)
        aside = [record for record in sent if not isinstance(record.value, dict) or record.value["currency"] != "EUR"]
        letters = simulation.records(app.LETTERS)
        assert sorted((it.key, it.value) for it in letters) == sorted((it.key.encode(), it.raw) for it in aside)
        assert all(it.headers.last("__streams.errors.topic") == app.TRANSFERS.encode() for it in letters)
        rates.update(app.FIXED_RATES)
        simulation.run()
        assert simulation.seen().latest(app.TOTALS) == totals(sent)
        pattern.check(sent, simulation.seen())
        simulation.close()


def test_a_letter_is_parked_with_the_error_it_died_of() -> None:
    hopeless = Sent(app.TRANSFERS, "a", b"poison")
    simulation = Simulation(PATTERN, random.Random(1))
    simulation.send([hopeless])
    simulation.run()
    (parked,) = simulation.records(replay.PARKED)
    simulation.close()
    assert (parked.key, parked.value) == (b"a", b"poison")
    assert parked.headers.last(replay.ATTEMPTS) == str(replay.MAX_ATTEMPTS).encode()
    assert parked.headers.all("__streams.errors.exception") == [b"millstream.errors.SerdeError"]
    assert parked.headers.last("__streams.errors.topic") == app.RETRIES.encode()


@pytest.mark.usefixtures("no_lane_is_left")
def test_letters_survive_kills(
    apps: Apps,
    broker: DetachedBroker,
    admin: Admin,
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MILLSTREAM_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    page = readme.read(PATTERN)
    for command in page.commands:
        readme.run(command, monkeypatch, capsys)
    handlers = ("deserialization_exception_handler", "processing_exception_handler", "dead_letter_queue_topic")
    options = {option: getattr(app.config, option) for option in handlers}
    config = apps.config(**options)
    inputs = PATTERN.inputs(random.Random(5), 120)
    sent = [*page.sent, *inputs]
    topology = app.topology()
    with KafkaStreams(topology, config) as streams:
        live = Live(streams, topology, config.application_id, admin, consume)
        for part in (inputs[:60], inputs[60:]):
            commits = live.commits
            produce(app.TRANSFERS, [(record.key, record.raw) for record in part])
            live.wait_for_more_than(commits)
            assert live.kill_lanes()
        live.wait_until_done()
    replaying = apps.config()
    apps.run_once(replay.topology(), replaying)
    apps.run_once(app.fixed(), config)
    booked: dict[str, list[int]] = {}
    for message in consume(app.TOTALS):
        booked.setdefault((message.key() or b"").decode(), []).append(decoded(message.value()))
    assert {key: values[-1] for key, values in booked.items()} == totals(sent)
    assert sum(map(len, booked.values())) == sum(cents(record) is not None for record in sent)
    readme.check_claims(page, monkeypatch, capsys)
