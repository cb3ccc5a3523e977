"""Which of several copies of an application is its owner."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.kafka.detached import DetachedBroker
from millstream.spark.driver.ownership import Instance, Ownership

from ..crashes import wait_until

#: Generous: the machine may be busy.
WAIT_SECONDS = 60.0
Ask = Callable[..., Ownership]


@pytest.fixture
def config(broker: DetachedBroker) -> StreamsConfig:
    return StreamsConfig(application_id=f"owned-{uuid.uuid4().hex[:8]}", bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture
def ask(config: StreamsConfig) -> Iterator[Ask]:
    """`ask(checkpoint="abc")`: a copy that asks for the ownership."""
    made: list[Ownership] = []

    def make(checkpoint: str = "abc") -> Ownership:
        made.append(Ownership(config, checkpoint))
        return made[-1]

    yield make
    for ownership in made:
        ownership.close()


def test_an_instance_is_known_by_its_client_id() -> None:
    here = Instance.here("abc")
    assert Instance.of(here.client_id) == here
    assert Instance.of("rdkafka") is None
    assert here.host in str(here)


def test_the_first_is_the_owner_and_the_second_waits(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    first = ask()
    assert first.settle()
    with caplog.at_level(logging.WARNING, "millstream.client"):
        second = ask()
        assert not second.settle()
    assert first.is_owner
    assert second.holder is not None
    assert any("runs on host" in message and "taking over when it ends" in message for message in caplog.messages)
    first.close()
    assert second.wait(WAIT_SECONDS)
    assert not first.is_owner


def test_another_checkpoint_is_refused(ask: Ask) -> None:
    assert ask().settle()
    with pytest.raises(StreamsError, match="already runs with another checkpoint") as raised:
        ask("xyz").settle()
    assert "checkpoint_location" in str(raised.value)


def test_a_group_of_somebody_else_is_refused(ask: Ask, config: StreamsConfig, make_topic: Callable[..., str]) -> None:
    consumer = Consumer({"bootstrap.servers": config.bootstrap_servers, "group.id": config.application_id})
    try:
        consumer.subscribe([make_topic()])
        wait_until(lambda: consumer.poll(0.1) is None and consumer.assignment(), "the assignment")
        with pytest.raises(StreamsError, match="not Millstream's"):
            ask().settle()
    finally:
        consumer.close()


def test_kafka_refuses_a_former_owner(
    ask: Ask, config: StreamsConfig, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, path = make_topic(), tmp_path / "pause.membership"
    first = ask()
    assert first.settle()
    first.publish(path)
    stale = path.read_bytes()
    producer = Producer({"bootstrap.servers": config.bootstrap_servers, "transactional.id": config.application_id})
    producer.init_transactions(WAIT_SECONDS)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 1)], stale, WAIT_SECONDS)
    producer.commit_transaction(WAIT_SECONDS)
    first.close()
    second = ask()
    assert second.settle()
    second.publish(path)
    assert path.read_bytes() != stale
    producer.begin_transaction()
    with pytest.raises(KafkaException, match=r"UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION"):
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, 2)], stale, WAIT_SECONDS)
    producer.abort_transaction(WAIT_SECONDS)
    assert second.committed([TopicPartition(topic, 0)])[0].offset == 1


def test_what_is_committed_last_is_there_after_the_end(
    ask: Ask, make_topic: Callable[..., str], admin: object, config: StreamsConfig
) -> None:
    topic, owner = make_topic(), ask()
    assert owner.settle()
    owner.commit([TopicPartition(topic, 0, 5, metadata="note")])
    owner.commit([TopicPartition(topic, 0, 7, metadata="note")])
    owner.close()
    again = ask()
    assert again.settle()
    found = again.committed([TopicPartition(topic, 0)])[0]
    assert (found.offset, found.metadata) == (7, "note")
