"""Input topics that are uneven, come, grow or go while an application runs."""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import cloudpickle
import pytest
from confluent_kafka import Message

from millstream import Consumed, JoinWindows, Produced, Serdes, StreamsBuilder, StreamsError, Topology
from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic
from millstream.spark.client import KafkaStreams
from millstream.spark.life import State
from millstream.testing import TopologyTestDriver

from .conftest import PATIENCE, Apps
from .crashes import wait_until

cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = pytest.mark.usefixtures("no_lane_is_left")

Make = Callable[..., str]
Produce = Callable[..., None]
Consume = Callable[..., list[Message]]
Build = Callable[..., Topology]

MINUTE = 60_000
TEXT = Consumed(Serdes.string, Serdes.string)


def _joined(clicks: str, views: str, out: str) -> Topology:
    builder = StreamsBuilder()
    windows = JoinWindows.of_time_difference(timedelta(minutes=1), grace=timedelta(0))
    left, right = builder.stream(clicks, TEXT), builder.stream(views, TEXT)
    left.join(right, lambda click, view: f"{click} {view}", windows).to(out, Produced(Serdes.string, Serdes.string))
    return builder.build()


def test_batches_keep_topics_in_step(batches: Apps, make_topic: Make, produce: Produce, consume: Consume) -> None:
    """All of one topic is from the last minutes of the other: taken by count, most of the other would be late."""
    clicks, views, out = make_topic(1), make_topic(1), make_topic(1)
    early = [("k", f"click-{n}", 1_700_000_000_000 + n * MINUTE) for n in range(300)]
    late = [("k", f"view-{n}", 1_700_000_000_000 + 250 * MINUTE + n * 10_000) for n in range(300)]
    produce(clicks, early)
    produce(views, late)
    topology = _joined(clicks, views, out)
    streams = batches.run_once(topology, batches.config(max_batch_records=60))
    assert streams.metrics()["commit-total"] >= 10
    with TopologyTestDriver(topology) as driver:
        inputs = {topic: driver.input_topic(topic, Serdes.string, Serdes.string) for topic in (clicks, views)}
        records = [(time, topic, key, value) for topic, found in ((clicks, early), (views, late))
                   for key, value, time in found]  # fmt: skip
        for time, topic, key, value in sorted(records):
            inputs[topic].pipe(key, value, timestamp=time)
        expected = driver.output_topic(out, Serdes.string, Serdes.string).read_values()
    found = [(message.value() or b"").decode() for message in consume(out)]
    assert len(expected) > 500
    assert sorted(found) == sorted(expected)


def test_topics_of_a_pattern_come_and_go(
    either: Apps, produce: Produce, consume: Consume, make_topic: Make, admin: Admin
) -> None:
    prefix, out = f"sensor-{uuid.uuid4().hex[:6]}", make_topic(1)
    first, second = f"{prefix}-a", f"{prefix}-b"
    admin.create_topics([NewTopic(first, 1)])
    builder = StreamsBuilder()
    builder.stream(re.compile(f"{prefix}-.*"), TEXT).map_values(str.upper).to(out)
    streams = KafkaStreams(builder.build(), either.config())
    states: list[State] = []
    streams.add_state_listener(lambda new, old: states.append(new))
    streams.start()
    try:
        produce(first, [("k", "one")])
        assert _values(consume(out, 1, timeout=PATIENCE.total_seconds())) == ["ONE"]
        admin.create_topics([NewTopic(second, 3)])
        produce(second, [("k", "two"), ("l", "three")])
        assert sorted(_values(consume(out, 3, timeout=PATIENCE.total_seconds()))) == ["ONE", "THREE", "TWO"]
        assert states == [State.REBALANCING, State.RUNNING, State.REBALANCING, State.RUNNING]
        admin.delete_topics([first])
        wait_until(lambda: len(states) == 6, "the plan without the topic")
        produce(second, [("m", "four")])
        assert _values(consume(out, 4, timeout=PATIENCE.total_seconds()))[-1] == "FOUR"
    finally:
        streams.close()


def test_more_partitions_are_taken_without_state_and_refused_with_it(
    either: Apps, counting: Build, produce: Produce, consume: Consume, make_topic: Make, admin: Admin
) -> None:
    topic, out, other = make_topic(1), make_topic(1), make_topic(1)
    builder = StreamsBuilder()
    builder.stream(topic, TEXT).map_values(str.upper).to(out)
    stateless, stateful = (
        KafkaStreams(builder.build(), either.config()),
        KafkaStreams(counting(topic, other), either.config()),
    )
    stateless.start()
    stateful.start()
    try:
        produce(topic, [("k", "one")])
        for results in (out, other):
            consume(results, 1, timeout=PATIENCE.total_seconds())
        admin.ensure_topic(NewTopic(topic, 3))
        produce(topic, [(key, key) for key in "abcdefgh"])
        found = _values(consume(out, 9, timeout=PATIENCE.total_seconds()))
        assert sorted(found) == [*"ABCDEFGH", "ONE"]
        with pytest.raises(StreamsError, match="sub-topology 0 had 1 partitions and has 3"):
            stateful.wait(PATIENCE)
    finally:
        stateless.close()
        stateful.close()


def _values(messages: list[Any]) -> list[str]:
    return [message.value().decode() for message in messages]
