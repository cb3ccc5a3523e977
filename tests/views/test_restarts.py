"""What a view does when it, its topics or their records have been away."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from millstream import Consumed, Materialized, Serdes, StreamsBuilder, StreamsConfig
from millstream.errors import NotReady, StateStoreError
from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic
from millstream.views.api import Views
from millstream.views.instance import server
from millstream.views.queries import KeyQuery, KeysQuery
from millstream.views.readonly import read_only

from .world import counting, wait_until

Produce = Callable[..., None]


def applied(views: Views) -> int:
    return sum(copy.applied for copy in views.local_copies().values())


def number(value: int) -> bytes:
    return struct.pack(">q", value)


@pytest.fixture
def topic(app_config: Callable[..., StreamsConfig]) -> str:
    return f"{app_config().application_id}-counts-changelog"


def test_a_restart_reads_only_what_is_new(
    app_config: Callable[..., StreamsConfig], admin: Admin, topic: str, start: Callable[..., Views], produce: Produce
) -> None:
    config = app_config()
    views = start(counting(), config, wait=False)
    with pytest.raises(StateStoreError, match="in use"):
        Views(counting(), config).start()
    with pytest.raises(NotReady):
        views.wait_until_ready(timeout=timedelta(milliseconds=10))
    wait_until(lambda: topic in views._server.waiting_for, what="the topic is missed")  # type: ignore[union-attr]
    with pytest.raises(NotReady, match=topic):
        views.ask("counts", KeyQuery("a"))
    assert views.stores()["counts"].partitions is None
    admin.create_topics([NewTopic(topic, 2, {"cleanup.policy": "compact"})])
    produce(topic, [(f"k{at}", number(at)) for at in range(50)])
    views.wait_until_ready()
    counts = read_only(views, "counts")
    wait_until(lambda: counts.get("k49") == 49)
    assert views.stores()["counts"].partitions == 2
    assert applied(views) == 50
    views.close()
    views.close()
    with pytest.raises(NotReady, match="not running"):
        views.ask("counts", KeyQuery("a"))
    with pytest.raises(NotReady):
        counts.get("k1")

    produce(topic, [("k7", number(700)), ("k8", None)])
    again = start(counting(), config)
    wait_until(lambda: applied(again) >= 2)
    assert [row.value for row in again.ask("counts", KeysQuery(("k6", "k7", "k8", "k9"))).rows] == [6, 700, 9]
    assert applied(again) == 2
    assert again.instance == views.instance


def test_topics_that_are_made_again_and_records_that_are_deleted(
    app_config: Callable[..., StreamsConfig],
    admin: Admin,
    topic: str,
    start: Callable[..., Views],
    produce: Produce,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "_TOPICS_SECONDS", 0.3)
    config = app_config()
    plain = NewTopic(topic, 1)
    admin.create_topics([plain])
    produce(topic, [("a", number(1)), ("b", number(2))])
    views = start(counting(), config)
    wait_until(lambda: value(views, "b") == 2)
    # Made again while views run. Nobody reads from a topic that is not there.
    admin.delete_topics([topic])
    admin.create_topics([plain])
    produce(topic, [("a", number(10)), ("c", number(3)), ("d", number(4))])
    with caplog.at_level(logging.WARNING, "millstream.views"):
        wait_until(lambda: "made anew" in caplog.text, what="the new topic is noticed")
        wait_until(lambda: value(views, "d") == 4, what="the new topic is read")
    assert [value(views, key) for key in "abc"] == [10, None, 3]
    views.close()
    # Made again while they do not.
    admin.delete_topics([topic])
    admin.create_topics([plain])
    produce(topic, [("a", number(100)) for _ in range(9)])
    again = start(counting(), config)
    wait_until(lambda: value(again, "a") == 100)
    assert [value(again, key) for key in "cd"] == [None, None]
    again.close()
    # Records are deleted that it has not read.
    produce(topic, [("x", number(5)), ("y", number(6)), ("z", number(7))])
    client = AdminClient({"bootstrap.servers": config.bootstrap_servers or ""})
    for future in client.delete_records([TopicPartition(topic, 0, 11)]).values():
        future.result()
    caplog.clear()
    last = start(counting(), config)
    wait_until(lambda: value(last, "z") == 7)
    assert [value(last, key) for key in "axy"] == [None, None, None]
    assert "has lost the records that come next" in caplog.text


def value(views: Views, key: str) -> Any:
    try:
        rows = views.ask("counts", KeyQuery(key)).rows
    except NotReady:
        return NotReady
    return rows[0].value if rows else None


def test_a_table_that_is_its_own_changelog(
    app_config: Callable[..., StreamsConfig], make_topic: Callable[..., str], start: Callable[..., Views]
) -> None:
    """Others wrote the topic, with another partitioner than Kafka's."""
    people = make_topic(3, name="people")
    builder = StreamsBuilder()
    builder.table(people, Consumed(Serdes.string, Serdes.string), Materialized("people"))
    config = app_config(topology_optimization="all")
    producer = Producer({"bootstrap.servers": config.bootstrap_servers, "partitioner": "consistent_random"})
    names = [f"n{at}" for at in range(30)]
    for name in names:
        producer.produce(people, name.upper(), name)
    producer.produce(people, "no key")
    producer.flush()
    views = start(builder.build(config), config)
    assert views.stores()["people"].topic == people
    view = read_only(views, "people")
    wait_until(lambda: len(list(view.all())) == 30)
    assert [view.get(name) for name in names] == [name.upper() for name in names]
    assert view.get_many(names) == {name: name.upper() for name in names}
    assert view.get("nobody") is None
