"""Starting, pausing, closing and starting again, also with another topology."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import cloudpickle
import pytest
from confluent_kafka import Message

from millstream import (
    Consumed,
    Grouped,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)
from millstream.kafka.admin import Admin
from millstream.spark.client import KafkaStreams
from millstream.spark.life import State, UncaughtAction
from millstream.spark.runtimes.batches import BatchRuntime

from .conftest import PATIENCE, Apps
from .crashes import wait_until

cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = pytest.mark.usefixtures("no_lane_is_left")

KEYS = [f"k{number}" for number in range(10)]

Build = Callable[..., Topology]
Make = Callable[..., str]
Produce = Callable[..., None]
Counts = Callable[..., dict[str, list[int]]]


def finished_batches(config: StreamsConfig) -> tuple[set[str], set[str]]:
    """The batches that Spark began, and those it finished."""
    spark = Path(str(config.checkpoint_location), "spark")
    began, finished = ({path.name for path in (spark / log).glob("[0-9]*")} for log in ("offsets", "commits"))
    return began, finished


def test_close_finishes_the_batch_and_the_next_start_goes_on(
    batches: Apps, counting: Build, make_topic: Make, produce: Produce, counts: Counts, admin: Admin
) -> None:
    topic, out = make_topic(4), make_topic(4)
    config = batches.config(max_batch_records=20)
    produce(topic, [(key, "x") for _ in range(20) for key in KEYS])
    streams = KafkaStreams(counting(topic, out), config)
    states: list[State] = []
    streams.add_state_listener(lambda new, old: states.append(new))
    streams.start()
    wait_until(lambda: streams.metrics()["commit-total"] > 1, "some batches")
    assert streams.close(timedelta(seconds=60))  # at any moment of a batch
    assert states == [State.REBALANCING, State.RUNNING, State.PENDING_SHUTDOWN, State.NOT_RUNNING]
    began, finished = finished_batches(config)
    assert began == finished
    assert streams.close()  # again
    produce(topic, [("last", "x")])
    batches.run_once(counting(topic, out), config)
    assert counts(out) == {**{key: list(range(1, 21)) for key in KEYS}, "last": [1]}
    places = [(topic, number) for number in range(4)]
    assert admin.committed_offsets(places, config.application_id) == admin.end_offsets(places)


def test_pause_and_resume(batches: Apps, counting: Build, make_topic: Make, produce: Produce, counts: Counts) -> None:
    topic, out = make_topic(2), make_topic(2)
    streams = KafkaStreams(counting(topic, out), batches.config())
    streams.start()
    try:
        produce(topic, [("a", "x")])
        assert counts(out, 1) == {"a": [1]}
        streams.pause()
        assert streams.is_paused
        assert isinstance(streams._runtime, BatchRuntime)
        assert streams._runtime._launched is not None
        control = streams._runtime._launched.control
        wait_until(lambda: control.rests, "the pause")
        produce(topic, [("a", "y")])
        control.pause()  # have it say once more that it rests: it has seen the record
        wait_until(lambda: control.rests, "another look at the topic")
        assert counts(out) == {"a": [1]}
        streams.resume()
        assert not streams.is_paused
        assert counts(out, 2) == {"a": [1, 2]}
    finally:
        streams.close()


def test_a_handler_can_replace_the_query(
    batches: Apps, make_topic: Make, produce: Produce, consume: Callable[..., list[Message]], tmp_path: Path
) -> None:
    topic, out = make_topic(1), make_topic(1)
    mended = tmp_path / "mended"

    def careful(value: str) -> str:
        if value == "bad" and not mended.exists():
            raise RuntimeError("not yet")
        return value

    builder = StreamsBuilder()
    builder.stream(topic).map_values(careful).to(out)
    errors: list[str] = []

    def handle(error: Exception) -> UncaughtAction:
        errors.append(str(error))
        mended.touch()
        return UncaughtAction.REPLACE_THREAD

    streams = KafkaStreams(builder.build(), batches.config())
    streams.set_uncaught_exception_handler(handle)
    streams.start()
    try:
        produce(topic, [("a", "good"), ("a", "bad"), ("a", "good")])
        assert [message.value() for message in consume(out, 3, timeout=PATIENCE.total_seconds())] == [
            b"good", b"bad", b"good",
        ]  # fmt: skip
        assert len(errors) == 1
        assert "not yet" in errors[0]
        assert streams.state is State.RUNNING
    finally:
        streams.close()


def _two_counts(topic: str, out: str, other: str, *, names: tuple[str, str]) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream(topic).group_by_key(Grouped(Serdes.string, Serdes.string))
    numbers = Produced(Serdes.string, Serdes.long)
    grouped.count(materialized=Materialized(names[0])).to_stream().to(out, numbers)
    (
        grouped.count(materialized=Materialized(names[1]))
        .to_stream()
        .filter(lambda key, count: True)
        .select_key(lambda key, count: key.upper())
        .repartition()
        .to(other, numbers)
    )
    return builder.build()


def test_a_topology_may_grow(either: Apps, counting: Build, make_topic: Make, produce: Produce, counts: Counts) -> None:
    topic, out, other = make_topic(4), make_topic(4), make_topic(4)
    config = either.config()
    produce(topic, [(key, "x") for key in KEYS])
    either.run_once(counting(topic, out), config)
    produce(topic, [(key, "x") for key in KEYS])
    either.run_once(_two_counts(topic, out, other, names=("counts", "more")), config)
    assert counts(out) == {key: [1, 2] for key in KEYS}
    assert counts(other) == {key.upper(): [1] for key in KEYS}


def test_a_new_source_topic_is_read_from_where_it_should(
    either: Apps, make_topic: Make, produce: Produce, counts: Counts
) -> None:
    topic, new, out = make_topic(4), make_topic(4), make_topic(4)

    def build(*topics: str) -> Topology:
        builder = StreamsBuilder()
        (
            builder.stream(list(topics), Consumed(Serdes.string, Serdes.string))
            .group_by_key(Grouped(Serdes.string, Serdes.string))
            .count(materialized=Materialized("counts"))
            .to_stream()
            .to(out, Produced(Serdes.string, Serdes.long))
        )
        return builder.build()

    config = either.config()
    produce(topic, [(key, "x") for key in KEYS])
    either.run_once(build(topic), config)
    produce(new, [(key, "x") for key in KEYS])
    either.run_once(build(topic, new), config)
    assert counts(out) == {key: [1, 2] for key in KEYS}
