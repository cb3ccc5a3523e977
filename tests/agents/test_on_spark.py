"""An application of agents on Kafka and Spark. Its driver is killed in tests/soak."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Message

from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker

from .crashing import RUN, application, check_counts


def test_every_count_is_there_exactly_once_when_a_lane_is_killed(
    broker: DetachedBroker,
    admin: Admin,
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    tmp_path: Path,
) -> None:
    with application(broker.bootstrap_servers, tmp_path, RUN) as running:
        check_counts(running, admin, produce, consume, [running.kill_a_lane])
