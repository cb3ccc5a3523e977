"""Topics that an application writes are there before it starts, or it says which are not."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

import pytest

from millstream import Produced, StreamsBuilder, StreamsConfig, StreamsError, Topology
from millstream.hosting.producing.written import made_topics, written_topics
from millstream.kafka.admin import Admin
from millstream.kafka.errors import AuthenticationFailed
from millstream.spark.client import KafkaStreams

from .conftest import Apps

Make = Callable[..., str]


class Broker(Admin):
    """Stands in for a broker that creates topics by itself, or not, or does not say."""

    def __init__(self, creates: bool | None) -> None:
        self.creates = creates
        self.created: list[tuple[str, int]] = []

    def creates_topics(self) -> bool:
        if self.creates is None:
            raise AuthenticationFailed("not allowed to ask")
        return self.creates

    def create_topics(self, topics, *, replication_factor=None):  # type: ignore[no-untyped-def]
        self.created += [(topic.name, topic.partitions) for topic in topics]
        return {topic.name for topic in topics}

    def partition_counts(self, topics):  # type: ignore[no-untyped-def]
        return dict.fromkeys(topics, 3)


def _topology() -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.to("out", Produced(name="writes-out"))
    stream.to(lambda key, value, context: value)
    stream.repartition().to("again", Produced(name="writes-again"))
    return builder.build()


def test_all_topics_with_fixed_names_are_known() -> None:
    config = StreamsConfig(dead_letter_queue_topic="dead")
    assert written_topics(_topology(), config) == {
        "out": "'writes-out'",
        "again": "'writes-again'",
        "dead": "dead_letter_queue_topic",
    }


def test_missing_ones_are_made_only_where_the_broker_would_do_so_too() -> None:
    written = {"out": "'writes-out'", "dead": "dead_letter_queue_topic"}
    with pytest.raises(StreamsError) as raised:
        made_topics(written, {"in": 1}, Broker(False))
    assert "'out' (written by 'writes-out')" in str(raised.value)
    assert "'dead' (written by dead_letter_queue_topic)" in str(raised.value)

    broker = Broker(True)
    assert made_topics(written, {"in": 1, "out": 2}, broker) == {"dead": 3}
    assert broker.created == [("dead", -1)]  # as the broker's defaults are

    silent = Broker(None)
    assert made_topics(written, {"in": 1}, silent) == {}  # the first record tells, if it is not made then
    assert made_topics(written, dict.fromkeys(("out", "dead"), 1), Broker(False)) == {}


def test_the_broker_of_the_tests_creates_none_and_knows_its_topics_settings(admin: Admin, make_topic: Make) -> None:
    assert admin.creates_topics() is False
    assert admin.topic_settings(make_topic(1, max_message_bytes="12345"))["max.message.bytes"] == "12345"


def test_a_missing_sink_is_an_error_before_anything_runs(either: Apps, make_topic: Make) -> None:
    missing = f"missing-{uuid.uuid4().hex[:8]}"
    builder = StreamsBuilder()
    builder.stream(make_topic(1)).to(missing, Produced(name="copies"))
    streams = KafkaStreams(builder.build(), either.config(dead_letter_queue_topic=f"{missing}-dead"))
    begun = time.monotonic()
    with pytest.raises(StreamsError, match="topics that are to be written are missing") as raised:
        streams.start()
    assert time.monotonic() - begun < 20
    assert f"'{missing}' (written by 'copies')" in str(raised.value)
    assert f"'{missing}-dead' (written by dead_letter_queue_topic)" in str(raised.value)
