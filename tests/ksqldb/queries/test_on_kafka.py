"""Queries over the topics of a real broker."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_producer
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.errors import TopicMissing
from millstream.ksqldb.queries import QueryDesk
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.runners.kafka_topics import KafkaTopics

from .clients import Client, context_of

Produce = Callable[..., None]


class World:
    """Statements over real topics, and the desk."""

    def __init__(self, config: StreamsConfig) -> None:
        self.config = config
        self.ksql = Ksql.in_memory()
        self.topics = KafkaTopics(config)
        self.desk = QueryDesk(config)

    def create(self, statement: str) -> None:
        self.ksql.execute(statement)

    def ask(self, text: str, **properties: Any) -> Client:
        context = dataclasses.replace(context_of(self.ksql, **properties), topics=self.topics)
        return Client(self.desk.answer(context, text))


@pytest.fixture(scope="module")
def config(broker: DetachedBroker) -> StreamsConfig:
    return StreamsConfig(application_id="queries", bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture
def world(config: StreamsConfig) -> Iterator[World]:
    world = World(config)
    yield world
    world.desk.stop()
    world.topics.close()


def rows(*found: tuple[str, int], start: int = 1, region: str = "eu") -> list[tuple[str, str, int]]:
    return [
        (key, json.dumps({"REGION": region, "TOTAL": total}), start + number)
        for number, (key, total) in enumerate(found)
    ]


@pytest.fixture
def orders(world: World, make_topic: Callable[..., str]) -> str:
    topic = make_topic(4, name="orders")
    world.create(
        f"CREATE STREAM orders (id STRING KEY, region STRING, total INT) "
        f"WITH (kafka_topic='{topic}', value_format='JSON');"
    )
    return topic


def test_a_stream_from_now_on_and_from_the_beginning(world: World, orders: str, produce: Produce) -> None:
    produce(orders, rows(("before", 1)))
    latest = world.ask("SELECT id, total FROM orders EMIT CHANGES;")
    shared = world.ask("SELECT id, total FROM orders EMIT CHANGES;")
    earliest = world.ask("SELECT id, total FROM orders EMIT CHANGES LIMIT 2;", auto_offset_reset="earliest")
    produce(orders, rows(("after", 2)))
    assert latest.wait_for(1) == shared.wait_for(1) == [("after", 2)]
    assert sorted(earliest.wait_for(2)) == [("after", 2), ("before", 1)]
    assert earliest.wait_for_end().message == "Limit Reached"
    shared.answer.close()
    produce(orders, rows(("more", 3)))
    assert latest.wait_for(2)[1] == ("more", 3)


def test_committed_records_only(world: World, orders: str, config: StreamsConfig) -> None:
    client = world.ask("SELECT id FROM orders EMIT CHANGES;")
    producer = make_producer(config, "some-writer")
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(orders, b"{}", b"aborted")
    producer.flush(30)
    producer.abort_transaction(30)
    producer.begin_transaction()
    producer.produce(orders, b"{}", b"committed")
    producer.commit_transaction(30)
    assert client.wait_for(1) == [("committed",)]
    # A partition that ends with the marks of transactions has an end all the same.
    pulled = world.ask("SELECT id FROM orders;")
    assert pulled.wait_for_end().message == "Query Completed"
    assert [row.values for row in pulled.rows] == [("committed",)]


def test_a_table(world: World, make_topic: Callable[..., str], produce: Produce) -> None:
    topic = make_topic(2, name="users")
    world.create(f"CREATE TABLE users (id STRING PRIMARY KEY, n INT) WITH (kafka_topic='{topic}', format='JSON');")
    client = world.ask("SELECT * FROM users EMIT CHANGES;")
    produce(topic, [('"a"', '{"N": 1}'), ('"a"', '{"N": 2}'), ('"a"', None)])
    assert client.wait_for(3) == [("a", 1), ("a", 2), ("a", None)]
    assert client.rows[2].is_tombstone


def test_windowed_counts_over_several_partitions(world: World, orders: str, produce: Produce) -> None:
    text = (
        "SELECT region, COUNT(*) AS n, SUM(total) AS total FROM orders "
        "WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 0 SECONDS) GROUP BY region EMIT CHANGES;"
    )
    hour = 3_600_000
    for number in range(3):  # later hours are written to other partitions: nothing may be too late for its window
        produce(orders, rows(("a", 1), ("b", 2), start=number * hour + 1), partition=number)
    client = world.ask(text, auto_offset_reset="earliest")
    assert client.wait_for(6) == [("eu", 1, 1), ("eu", 2, 3)] * 3
    produce(orders, rows(("c", 5), start=2 * hour + 10), partition=3)
    assert client.wait_for(7)[6] == ("eu", 3, 8)


def test_two_streams_are_joined_by_time(
    world: World, orders: str, make_topic: Callable[..., str], produce: Produce
) -> None:
    topic = make_topic(4, name="payments")
    world.create(f"CREATE STREAM payments (id STRING KEY, paid INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    text = (
        "SELECT o.id AS id, total, paid FROM orders o JOIN payments p "
        "WITHIN 1 SECOND GRACE PERIOD 0 SECONDS ON o.id = p.id EMIT CHANGES;"
    )
    for number in range(200):
        produce(orders, rows((f"k{number % 7}", number), start=number * 10_000 + 1))
        produce(topic, [(f"k{number % 7}", json.dumps({"PAID": number}), number * 10_000 + 5)])
    client = world.ask(text, auto_offset_reset="earliest")
    assert sorted(client.wait_for(200), key=lambda row: row[1]) == [(f"k{n % 7}", n, n) for n in range(200)]
    produce(orders, rows(("k1", 1000), start=10_000_000))
    produce(topic, [("k1", '{"PAID": 1000}', 10_000_001)])
    assert client.wait_for(201)[200] == ("k1", 1000, 1000)


def test_a_pull_query_of_a_stream(world: World, orders: str, produce: Produce) -> None:
    produce(orders, rows(*((str(number), number) for number in range(500))))
    client = world.ask("SELECT id FROM orders WHERE total < 400;")
    assert client.wait_for_end().message == "Query Completed"
    assert len(client.rows) == 400


def test_a_topic_that_is_dropped_ends_the_answer(world: World, orders: str, admin: Admin) -> None:
    client = world.ask("SELECT id FROM orders EMIT CHANGES;")
    admin.delete_topics([orders])
    assert isinstance(client.wait_for_end().error, TopicMissing)


def test_print(world: World, make_topic: Callable[..., str], produce: Produce) -> None:
    topic = make_topic(2, name="printed")
    produce(topic, [("k", '{"A": 1}', 5)])
    first = world.ask(f"PRINT '{topic}' FROM BEGINNING LIMIT 1;")
    assert first.wait_for_end().error is None
    assert [row.values[0].split(",")[0] for row in first.rows] == [
        "Key format: KAFKA_STRING",
        "Value format: JSON",
        "rowtime: 1970/01/01 00:00:00.005 Z",
    ]
    client = world.ask(f"PRINT '{topic}';")
    produce(topic, [("k", "later", 6)])
    assert "value: later" in client.wait_for(3)[2][0]
    client.answer.close()
