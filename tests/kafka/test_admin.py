"""Topics, offsets and groups on a real broker."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined] # not marked as exported
    AdminClient,
    ConfigResource,
    ResourceType,
)

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_producer
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.errors import BrokerUnavailable, KafkaError, TopicMissing
from millstream.kafka.topics import (
    NewTopic,
    changelog_topic,
    repartition_topic,
    versioned_changelog_topic,
    window_changelog_topic,
)


def _settings(broker: DetachedBroker, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    (future,) = client.describe_configs([resource]).values()
    return {name: entry.value for name, entry in future.result().items()}


def test_partition_counts(admin: Admin, make_topic: Callable[..., str]) -> None:
    one, three = make_topic(), make_topic(3)
    assert admin.partition_counts([one, three, "nothing"]) == {one: 1, three: 3}
    assert admin.require_topics([three]) == {three: 3}
    with pytest.raises(TopicMissing, match=r"^missing topics nothing, void") as caught:
        admin.require_topics(["void", three, "nothing"])
    assert "millstream topics create" in str(caught.value.hint)


def test_matching(admin: Admin, make_topic: Callable[..., str]) -> None:
    first, second = make_topic(2, name="orders-eu"), make_topic(name="orders-us")
    make_topic(name="old-orders-eu")
    found = admin.matching(re.compile("orders-.*"))
    assert found[first] == 2
    assert found[second] == 1
    assert all(name.startswith("orders-") for name in found)


def test_creating_again(admin: Admin, make_topic: Callable[..., str]) -> None:
    topic = make_topic(2)
    assert admin.create_topics([NewTopic(topic, 2), NewTopic(topic + "-new")]) == {topic + "-new"}
    with pytest.raises(KafkaError, match=rf"^topic {topic} has 2 partitions"):
        admin.create_topics([NewTopic(topic, 3)])
    assert admin.create_topics([]) == set()


def test_a_topic_that_cannot_be(admin: Admin) -> None:
    with pytest.raises(KafkaError, match=r"^cannot create topic a b"):
        admin.create_topics([NewTopic("a b", 1)])
    with pytest.raises(KafkaError, match=r"^cannot create topic unset"):
        admin.create_topics([NewTopic("unset", 1, {"no.such.setting": "1"})])


def test_deleting(admin: Admin, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    admin.delete_topics([topic])
    assert admin.partition_counts([topic]) == {}
    with pytest.raises(TopicMissing, match=rf"^cannot delete topic {topic}: the topic does not exist"):
        admin.delete_topics([topic])


def test_waiting_for_topics(admin: Admin, make_topic: Callable[..., str]) -> None:
    topic = make_topic(4)
    assert admin.wait_for_topics([topic]) == {topic: 4}
    with pytest.raises(TopicMissing, match=r"^missing topics nothing"):
        admin.wait_for_topics([topic, "nothing"], timedelta(milliseconds=200))


def test_internal_topics(broker: DetachedBroker, make_topic: Callable[..., str]) -> None:
    config = StreamsConfig(
        bootstrap_servers=broker.bootstrap_servers,
        client={"topic.segment.ms": 600000, "topic.segment.bytes": 2000000, "linger.ms": 1},
        replication_factor=1,
    )
    base = make_topic()
    names = [f"{base}-{name}" for name in ("repartition", "kv", "window", "join", "versioned")]
    topics = [
        repartition_topic(names[0], 2),
        changelog_topic(names[1], 2, {"segment.ms": "700000"}),
        window_changelog_topic(names[2], 2, retention_ms=1000),
        window_changelog_topic(names[3], 2, retention_ms=1000, additional_ms=5, duplicates=True),
        versioned_changelog_topic(names[4], 2, history_ms=1000),
    ]
    assert Admin(config).create_topics(topics) == set(names)
    repartition, key_value, window, join, versioned = (_settings(broker, name) for name in names)
    assert (repartition["cleanup.policy"], repartition["retention.ms"]) == ("delete", "-1")
    assert (repartition["segment.bytes"], repartition["segment.ms"]) == ("2000000", "600000")
    assert (key_value["cleanup.policy"], key_value["segment.ms"]) == ("compact", "700000")
    assert (window["cleanup.policy"], window["retention.ms"]) == ("compact,delete", "86401000")
    assert (join["cleanup.policy"], join["retention.ms"]) == ("delete", "1005")
    assert (versioned["cleanup.policy"], versioned["min.compaction.lag.ms"]) == ("compact", "86401000")
    assert versioned["message.timestamp.type"] == "CreateTime"


def test_offsets(admin: Admin, make_topic: Callable[..., str], produce: Callable[..., None]) -> None:
    topic = make_topic(2)
    produce(topic, [("k", "v", 1000), ("k", "v", 2000), ("k", "v", 3000)], partition=1)
    both = [(topic, 0), (topic, 1)]
    assert admin.begin_offsets(both) == {(topic, 0): 0, (topic, 1): 0}
    assert admin.end_offsets(both) == {(topic, 0): 0, (topic, 1): 3}
    assert admin.offsets_for_times({(topic, 1): 1500}) == {(topic, 1): 1}
    assert admin.offsets_for_times({(topic, 0): 0, (topic, 1): 3001}) == {(topic, 0): None, (topic, 1): None}
    assert admin.end_offsets([]) == {}
    with pytest.raises(TopicMissing):
        admin.end_offsets([("nothing", 0)])


def test_the_end_of_what_is_committed(broker: DetachedBroker, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    config = StreamsConfig(
        application_id=topic, bootstrap_servers=broker.bootstrap_servers, processing_guarantee="exactly_once_v2"
    )
    admin = Admin(config)
    producer = make_producer(config, f"{topic}-1")
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"v")
    producer.flush(30)
    assert admin.end_offsets([(topic, 0)]) == {(topic, 0): 0}
    assert admin.end_offsets([(topic, 0)], committed=False) == {(topic, 0): 1}
    producer.commit_transaction(30)
    while (end := admin.end_offsets([(topic, 0)])) != {(topic, 0): 2}:  # the record and its marker, a little later
        assert end == {(topic, 0): 0}


def test_group_offsets(broker: DetachedBroker, make_topic: Callable[..., str]) -> None:
    topic = make_topic(2)
    admin = Admin(StreamsConfig(application_id=f"app-{topic}", bootstrap_servers=broker.bootstrap_servers))
    both = [(topic, 0), (topic, 1)]
    assert admin.committed_offsets(both) == {}
    admin.commit_offsets({(topic, 1): 5})
    admin.commit_offsets({(topic, 0): 2})
    admin.commit_offsets({})
    assert admin.committed_offsets(both) == {(topic, 0): 2, (topic, 1): 5}
    assert admin.committed_offsets(both, f"other-{topic}") == {}
    assert admin.committed_offsets([]) == {}
    with pytest.raises(TopicMissing, match=r"^cannot commit offsets of group"):
        admin.commit_offsets({("nothing", 0): 1})
    admin.close()


def test_no_broker() -> None:
    admin = Admin(StreamsConfig(bootstrap_servers="127.0.0.1:1"), timeout=timedelta(milliseconds=300))
    with pytest.raises(BrokerUnavailable, match=r"^cannot reach Kafka: no broker answers") as caught:
        admin.wait_until_available()
    assert "127.0.0.1:1" in str(caught.value.detail)
    assert "refused" in str(caught.value.detail)
    with pytest.raises(BrokerUnavailable):
        admin.create_topics([NewTopic("t", 1)])
    with pytest.raises(BrokerUnavailable):
        admin.committed_offsets([("t", 0)])
