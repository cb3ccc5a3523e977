"""Outputs of a wave on their way to the producer. What Kafka refuses is in test_refused_outputs.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from millstream import Consumed, Produced, Serdes, StreamsBuilder
from millstream.spark.lanes.writing import Writing
from millstream.spark.plan import TaskId
from millstream.spark.program import Program
from millstream.spark.state.markers import Marker
from millstream.task.records import OutputRecord

from .memory import MEMBERSHIP, Kafka, MemoryProducer, program_of

FIRST, SECOND = TaskId(0, 0), TaskId(0, 1)
MARKERS = {0: Marker("c1", "0_0/0", 7, "content", None)}


def record(key: bytes) -> OutputRecord:
    return ("out", None, key, b"x", 1_000, None)


def offsets() -> list[TopicPartition]:
    return [marker.at("app-progress", partition) for partition, marker in MARKERS.items()]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    builder = StreamsBuilder()
    strings = Serdes.string, Serdes.string
    builder.stream("in", Consumed(*strings)).to("out", Produced(*strings))
    return program_of(builder.build(), {"in": 2, "out": 1}, tmp_path)


@pytest.fixture
def kafka() -> Kafka:
    return Kafka()


@pytest.fixture
def producer(kafka: Kafka, program: Program) -> MemoryProducer:
    return MemoryProducer(kafka, program, 0)


@pytest.mark.parametrize("at_once", [True, False])
def test_outputs_are_written_as_they_come_or_all_in_the_end(
    program: Program, kafka: Kafka, producer: MemoryProducer, at_once: bool
) -> None:
    writing = Writing(program, producer, set(), at_once=at_once)
    writing.add(SECOND, [record(b"a"), record(b"b")])
    writing.add(FIRST, [record(b"c")])
    assert len(producer.pending) == (3 if at_once else 0)
    assert producer.used == at_once  # a slow wave has no long transaction
    assert (kafka.outputs, kafka.markers) == ([], {})
    writing.commit(offsets(), MEMBERSHIP)
    assert [output[2] for output in kafka.outputs] == [b"a", b"b", b"c"]
    assert (kafka.markers, kafka.memberships, writing.count) == (MARKERS, [MEMBERSHIP], 3)


@pytest.mark.parametrize("at_once", [True, False])
def test_what_is_out_is_kept_back(program: Program, kafka: Kafka, producer: MemoryProducer, at_once: bool) -> None:
    writing = Writing(program, producer, {FIRST}, at_once=at_once)
    writing.add(FIRST, [record(b"a")])
    writing.add(SECOND, [record(b"b")])
    writing.commit(offsets(), MEMBERSHIP)
    assert [output[2] for output in kafka.outputs] == [b"b"]
    assert writing.count == 1


def test_a_wave_without_outputs_has_its_markers(program: Program, kafka: Kafka, producer: MemoryProducer) -> None:
    writing = Writing(program, producer, set(), at_once=True)
    writing.add(FIRST, [])
    assert not producer.used
    writing.commit(offsets(), MEMBERSHIP)
    assert (kafka.outputs, kafka.markers, writing.count) == ([], MARKERS, 0)
