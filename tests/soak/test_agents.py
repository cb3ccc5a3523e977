"""An application of agents whose driver and lanes are killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Message
from tests.agents.crashing import WORKER, application, check_counts

from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker


def test_every_count_is_there_exactly_once_whatever_is_killed(
    broker: DetachedBroker,
    admin: Admin,
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    tmp_path: Path,
) -> None:
    with application(broker.bootstrap_servers, tmp_path, WORKER) as running:
        kills = [running.kill_a_lane, running.kill_the_driver, running.kill_a_lane]
        check_counts(running, admin, produce, consume, kills)
