"""A broker that is away for a long time while an application runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.spark.conftest import Apps
from tests.spark.crashes import wait_until

from millstream import StreamsConfig, Topology
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import NewTopic
from millstream.spark.client import KafkaStreams
from millstream.spark.life import State

pytestmark = pytest.mark.usefixtures("no_lane_is_left")

Build = Callable[..., Topology]


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[DevBroker]:
    """A broker that may be killed."""
    with DevBroker(tmp_path / "broker") as broker:
        yield broker


def test_a_broker_that_goes_away_is_waited_for(either: Apps, counting: Build, own_broker: DevBroker) -> None:
    bootstrap = own_broker.bootstrap_servers
    admin = Admin(StreamsConfig(bootstrap_servers=bootstrap))
    admin.create_topics([NewTopic("in", 2), NewTopic("out", 2)])
    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 0, "log_level": 0})
    config = either.config(bootstrap_servers=bootstrap)
    streams = KafkaStreams(counting("in", "out"), config)
    streams.start()
    try:
        producer.produce("in", "x", "a")
        producer.flush()
        wait_until(lambda: streams.metrics()["commit-total"] > 0, "the first batch")
        own_broker.kill()
        producer.produce("in", "y", "a")
        # Longer than any request takes to give up.
        assert not streams.wait(timedelta(seconds=20))
        assert streams.state is State.RUNNING
        own_broker.restart()
        producer.flush()
        wait_until(lambda: streams.metrics()["records-produced-total"] == 2, "the record of meanwhile")
        committed = ("in", 0), ("in", 1)
        wait_until(lambda: sum(admin.committed_offsets(committed, config.application_id).values()) == 2, "the offsets")
    finally:
        streams.close()


def test_an_application_can_be_closed_while_the_broker_is_away(
    either: Apps, counting: Build, own_broker: DevBroker
) -> None:
    bootstrap = own_broker.bootstrap_servers
    Admin(StreamsConfig(bootstrap_servers=bootstrap)).create_topics([NewTopic("in", 2), NewTopic("out", 2)])
    streams = KafkaStreams(counting("in", "out"), either.config(bootstrap_servers=bootstrap))
    streams.start()
    own_broker.kill()
    streams.close()
    assert streams.state is State.NOT_RUNNING
