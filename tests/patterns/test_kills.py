"""Every pattern on a real broker and Spark: lanes are killed with `kill -9` while records come, and invariants hold.

Patterns share an application where they can, so that lanes are started once for several. Topics are made and the first
records written by the commands of the READMEs, and at the end what the READMEs say is held against what is there.
Patterns that have more than an application (a relay, a client, a replay) are in files of their own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from confluent_kafka import Message
from tests.spark.conftest import Apps

from millstream import KafkaStreams, ServerSettings
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker

from .harness import readme
from .harness.live import Live, built
from .harness.world import Pattern, Sent
from .invariants import (
    commands_events_queries,
    database_inside_out,
    event_collaboration,
    event_sourcing,
    foreign_key_enrichment,
    latest_and_versioned,
    orchestration,
)

pytestmark = pytest.mark.usefixtures("no_lane_is_left")

KILLS = 1
RECORDS = 30
GROUPS: dict[str, tuple[Pattern, ...]] = {
    "services": (event_collaboration.PATTERN, orchestration.PATTERN),
    "logs": (
        event_sourcing.PATTERN,
        latest_and_versioned.PATTERN,
        commands_events_queries.PATTERN,
        database_inside_out.PATTERN,
        foreign_key_enrichment.PATTERN,
    ),
}


def by_topic(sent: Sequence[Sent], turn: int) -> dict[str, list[tuple[str, bytes | None]]]:
    """The part of the input that is sent in a turn."""
    found: dict[str, list[tuple[str, bytes | None]]] = {}
    for record in sent[len(sent) * turn // (KILLS + 1) : len(sent) * (turn + 1) // (KILLS + 1)]:
        found.setdefault(record.topic, []).append((record.key, record.raw))
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_invariants_survive_kills(
    group: str,
    apps: Apps,
    broker: DetachedBroker,
    admin: Admin,
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    patterns, chance = GROUPS[group], random.Random(7)
    monkeypatch.setenv("MILLSTREAM_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    pages = {pattern.name: readme.read(pattern) for pattern in patterns}
    for command in (command for page in pages.values() for command in page.before):
        readme.run(command, monkeypatch, capsys)
    topology = built(part for pattern in patterns for part in pattern.parts)
    config = apps.config()
    inputs = {pattern.name: pattern.inputs(chance, RECORDS * (KILLS + 1)) for pattern in patterns}
    streams = KafkaStreams(topology, config, server=ServerSettings())
    with streams:
        live = Live(streams, topology, config.application_id, admin, consume)
        monkeypatch.setenv("MILLSTREAM_SERVER", str(streams.url))
        for command in (command for page in pages.values() for command in page.meanwhile):
            readme.run(command, monkeypatch, capsys)
            live.wait_until_done()
        for turn in range(KILLS + 1):
            commits = live.commits
            for pattern in patterns:
                for topic, records in by_topic(inputs[pattern.name], turn).items():
                    produce(topic, records)
            if turn < KILLS:
                live.wait_for_more_than(commits)  # the first of them: there is work left when somebody is killed
                assert live.kill_lanes()
        live.wait_until_done()
        for pattern in patterns:
            page = pages[pattern.name]
            pattern.check([*page.sent, *inputs[pattern.name]], live.seen_when_finished(pattern))
            readme.check_claims(page, monkeypatch, capsys)
