"""A lane's producer on a real broker: outputs and markers are there together, or neither is."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from millstream import Consumed, Produced, Serdes, StreamsBuilder
from millstream.errors import FencedError, MillstreamError
from millstream.hosting.producing import transactions
from millstream.hosting.producing.transactions import ProducerStuck, patiently
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_consumer
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.topics import NewTopic
from millstream.spark.lanes import producer as producer_module
from millstream.spark.lanes.producer import LaneProducer
from millstream.spark.program import Program
from millstream.spark.state.markers import Marker
from millstream.spark.state.statefiles import Version
from millstream.task.records import OutputRecord

from .memory import program_of

MakeProducer = Callable[..., LaneProducer]


def marker(batch: int) -> Marker:
    return Marker("c1", "0_0/0", batch, f"content-{batch}", Version(batch, 0))


class Lane:
    """What the producers of one lane share."""

    def __init__(self, out: str, broker: DetachedBroker, admin: Admin, directory: Path) -> None:
        self._options: dict[str, Any] = {
            "application_id": f"app-{uuid.uuid4().hex[:8]}",
            "bootstrap_servers": broker.bootstrap_servers,
        }
        builder = StreamsBuilder()
        strings = Serdes.string, Serdes.string
        builder.stream("in", Consumed(*strings)).to(out, Produced(*strings))
        self._topology, self._out, self._directory = builder.build(), out, directory
        program = self.program()
        admin.ensure_topic(NewTopic(program.progress_topic, 2))
        self._group = make_consumer(program.config)  # of nobody: the group has no members
        self._made: list[LaneProducer] = []

    def program(self, guarantee: str = "exactly_once_v2") -> Program:
        topics = {"in": 1, self._out: 1}
        return program_of(self._topology, topics, self._directory, processing_guarantee=guarantee, **self._options)

    def producer(self, guarantee: str = "exactly_once_v2") -> LaneProducer:
        self._made.append(LaneProducer(self.program(guarantee), 0))
        return self._made[-1]

    def records(self, *values: str) -> list[OutputRecord]:
        return [(self._out, None, b"k", value.encode(), 1_000, None) for value in values]

    def marked(self, partition: int, batch: int) -> TopicPartition:
        return marker(batch).at(self.program().progress_topic, partition)

    @property
    def membership(self) -> bytes:
        found: bytes = self._group.consumer_group_metadata()
        return found

    def close(self) -> None:
        self._group.close()
        for producer in self._made:
            producer.close()


@pytest.fixture
def out(make_topic: Callable[..., str]) -> str:
    return make_topic(1)


@pytest.fixture
def lane(out: str, broker: DetachedBroker, admin: Admin, tmp_path: Path) -> Iterator[Lane]:
    made = Lane(out, broker, admin, tmp_path)
    yield made
    made.close()


@pytest.fixture
def written(out: str, consume: Callable[..., list[Message]]) -> Callable[[], list[str]]:
    """What readers of committed records see."""
    return lambda: [(message.value() or b"").decode() for message in consume(out)]


def test_outputs_and_markers_are_there_after_the_commit(lane: Lane, written: Callable[[], list[str]]) -> None:
    producer = lane.producer()
    assert producer.committed([0, 1]) == {0: None, 1: None}
    assert not producer.used
    producer.write(lane.records("1", "2"))
    producer.write(lane.records("3"))
    assert producer.used
    assert producer.committed([0]) == {0: None}
    producer.commit([lane.marked(0, 7)], lane.membership)
    assert producer.committed([0, 1]) == {0: marker(7), 1: None}
    producer.commit([lane.marked(1, 8)], lane.membership)  # markers alone
    assert producer.committed([0, 1]) == {0: marker(7), 1: marker(8)}
    assert written() == ["1", "2", "3"]


def test_what_is_aborted_was_never_there(lane: Lane, written: Callable[[], list[str]]) -> None:
    producer = lane.producer()
    producer.abort()  # of nothing
    producer.write(lane.records("lost"))
    producer.flush()
    producer.abort()
    producer.write(lane.records("kept"))
    producer.commit([lane.marked(0, 1)], lane.membership)
    assert written() == ["kept"]
    assert producer.committed([0]) == {0: marker(1)}


def test_what_is_written_anew_is_there_once(lane: Lane, written: Callable[[], list[str]]) -> None:
    producer = lane.producer()
    producer.write(lane.records("1", "2"))
    producer.flush()
    producer.start_over()
    producer.write(lane.records("1", "3"))
    producer.commit([lane.marked(0, 1)], lane.membership)
    assert written() == ["1", "3"]


def test_who_takes_a_lane_over_shuts_the_former_out(lane: Lane, written: Callable[[], list[str]]) -> None:
    former = lane.producer()
    former.write(lane.records("of the former"))
    former.flush()
    now = lane.producer()
    with pytest.raises(FencedError, match="not its owner any more") as raised:
        former.commit([lane.marked(0, 1)], lane.membership)
    assert raised.value.hint
    former.abort()  # there is nothing to abort any more, and that is no error
    assert now.committed([0]) == {0: None}
    now.write(lane.records("of the new one"))
    now.commit([lane.marked(0, 1)], lane.membership)
    assert written() == ["of the new one"]


def test_at_least_once_outputs_are_there_and_markers_are_the_drivers(
    lane: Lane, written: Callable[[], list[str]]
) -> None:
    producer = lane.producer("at_least_once")
    assert not producer.exactly_once
    producer.write(lane.records("1"))
    producer.commit([lane.marked(0, 1)], lane.membership)
    assert written() == ["1"]
    assert producer.committed([0]) == {0: None}


def test_a_client_that_hangs_at_the_markers_is_found_out(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_module, "_MARK_SECONDS", 0.05)
    ended = threading.Event()

    class Hanging:
        """librdkafka's issues 5456 and 5511."""

        def begin_transaction(self) -> None:
            pass

        def send_offsets_to_transaction(self, *_: Any) -> None:
            ended.wait(60)

    producer = lane.producer()
    real = producer._producer
    monkeypatch.setattr(producer, "_producer", Hanging())
    with pytest.raises(ProducerStuck):
        producer.commit([lane.marked(0, 1)], lane.membership)
    ended.set()
    monkeypatch.setattr(producer, "_producer", real)


def test_a_broker_that_is_away_is_waited_for_and_a_refusal_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "_AGAIN_SECONDS", 0.0)
    answers: list[KafkaException | str] = [KafkaException(KafkaError(KafkaError._TRANSPORT))] * 2
    answers += ["there", KafkaException(KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))]

    def ask() -> str:
        answer = answers.pop(0)
        if isinstance(answer, KafkaException):
            raise answer
        return answer

    assert patiently("begin transactions", ask) == "there"
    with pytest.raises(MillstreamError):
        patiently("begin transactions", ask)
    assert answers == []
