"""Joined topics whose keys lie elsewhere than the partitioner puts them are told, once."""

from __future__ import annotations

import logging
import sys
import zlib
from collections.abc import Callable
from datetime import timedelta

import cloudpickle
import pytest
from confluent_kafka import Message, Producer

from millstream import Consumed, JoinWindows, Produced, Serdes, StreamsBuilder, Topology
from millstream.hosting.copartitioning import Judge, KeyPlaces
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.partitioner import partition_for
from millstream.spark.plan import Plan
from millstream.task.records import RawRecord

from .conftest import Apps

cloudpickle.register_pickle_by_value(sys.modules[__name__])

Make = Callable[..., str]
Place = Callable[[bytes, int], int]

TEXT = Consumed(Serdes.string, Serdes.string)
KEYS = [f"user-{number}".encode() for number in range(400)]


def joined(payments: str, orders: str, out: str, *, rekeyed: bool = False) -> Topology:
    builder = StreamsBuilder()
    left, right = builder.stream(payments, TEXT), builder.stream(orders, TEXT)
    if rekeyed:
        right = right.select_key(lambda key, value: value)
    windows = JoinWindows.of_time_difference(timedelta(minutes=5), grace=timedelta(0))
    left.join(right, lambda one, other: f"{one} {other}", windows).to(out, Produced(Serdes.string, Serdes.string))
    return builder.build()


def by_crc(key: bytes, count: int) -> int:
    return zlib.crc32(key) % count


def warnings(
    caplog: pytest.LogCaptureFixture, places: dict[str, Place], topology: Topology, partitions: int = 4
) -> list[str]:
    """What is said after two lanes have read topics whose keys lie so, twice."""
    plan = Plan(topology, {**dict.fromkeys(places, partitions), "out": 1})
    judge = Judge()
    for lane in [KeyPlaces(topology, plan.topics_of, plan.external, plan.internal) for _ in range(2)]:
        for topic, place in places.items():
            for number in range(partitions):
                records: list[RawRecord] = [
                    (key, b"v", 0, None, at)
                    for at, key in enumerate([None, b"", *KEYS])
                    if not key or place(key, partitions) == number
                ]
                lane.look((topic, number), records)
                lane.look((topic, number), records)
        judge.add(lane.take())
        assert lane.take() is None
        judge.add(None)
    return [record.getMessage() for record in caplog.records]


def test_keys_where_they_belong_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    topology = joined("payments", "orders", "out")
    assert warnings(caplog, {"payments": partition_for, "orders": partition_for}, topology) == []


def test_keys_by_librdkafkas_default(caplog: pytest.LogCaptureFixture) -> None:
    topology = joined("payments", "orders", "out")
    (warning,) = warnings(caplog, {"payments": by_crc, "orders": partition_for}, topology)
    assert "sampled keys of 'payments' are not where murmur2 puts them" in warning
    assert "sampled keys of 'orders' are where murmur2 puts them" in warning
    assert "The keys of 'payments' are where librdkafka's default partitioner puts them" in warning
    assert "Set partitioner=murmur2_random in the producers of 'payments' and" in warning


def test_two_topics_that_go_the_same_other_way_are_fine_unless_a_key_is_new(caplog: pytest.LogCaptureFixture) -> None:
    places: dict[str, Place] = {"payments": by_crc, "orders": by_crc}
    assert warnings(caplog, places, joined("payments", "orders", "out")) == []
    (warning,) = warnings(caplog, places, joined("payments", "orders", "out", rekeyed=True))
    assert "'payments'" in warning
    assert "records that get a new key in this application are" in warning
    assert "'orders'" not in warning


def test_any_other_way_is_told_without_a_guess(caplog: pytest.LogCaptureFixture) -> None:
    places: dict[str, Place] = {"payments": lambda key, count: len(key) % count, "orders": partition_for}
    (warning,) = warnings(caplog, places, joined("payments", "orders", "out"))
    assert "'payments'" in warning
    assert "librdkafka" not in warning


def test_one_partition_and_topics_that_are_not_joined_are_not_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    places: dict[str, Place] = {"payments": by_crc, "orders": partition_for}
    assert warnings(caplog, places, joined("payments", "orders", "out"), partitions=1) == []
    builder = StreamsBuilder()
    builder.stream("payments", TEXT).merge(builder.stream("orders", TEXT)).to("out")
    assert warnings(caplog, places, builder.build()) == []


@pytest.mark.usefixtures("no_lane_is_left")
def test_on_spark_a_producer_with_the_default_partitioner_is_told(
    either: Apps, broker: DetachedBroker, make_topic: Make, caplog: pytest.LogCaptureFixture,
    consume: Callable[..., list[Message]],
) -> None:  # fmt: skip
    payments, orders, out = make_topic(2), make_topic(2), make_topic(1)
    for topic, settings in ((payments, {}), (orders, {"partitioner": "murmur2_random"})):
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **settings})
        for key in KEYS[:50]:
            producer.produce(topic, b"v", key)
        assert producer.flush(30) == 0
    with caplog.at_level(logging.WARNING, "millstream.client"):
        either.run_once(joined(payments, orders, out), either.config())
    (warning,) = [record.getMessage() for record in caplog.records if "partitioned alike" in record.getMessage()]
    assert f"'{payments}' are not where murmur2 puts them" in warning
    assert f"'{orders}' are where murmur2 puts them" in warning
    assert "partitioner=murmur2_random" in warning
    assert len(consume(out)) < 50  # which is why
