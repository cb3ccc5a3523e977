"""Agents, the DSL and SQL in one application."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

import millstream.agents as faust
from millstream import Consumed, Materialized, Produced, Repartitioned, Serdes, StreamsConfig, TopologyError
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.topics import TopicRecord
from millstream.task.task import Task
from millstream.testing import TopologyTestDriver
from millstream.topology.partitions import resolve_partitions


def test_an_agent_over_a_stream_of_the_dsl_and_the_dsl_over_an_agent() -> None:
    app = faust.App("mixed")
    lines = app.builder.stream("lines", Consumed(Serdes.string, Serdes.string))
    words = lines.flat_map_values(str.split).select_key(lambda _, word: word)
    seen = app.Table("seen", key_type=str, value_type=int, default=int)

    @app.agent(words.repartition(Repartitioned(Serdes.string, Serdes.string, "words")))
    async def count(stream: faust.Stream) -> AsyncIterator[int]:
        async for word, _ in stream.items():
            seen[word] += 1
            yield seen[word]

    counts = app.results(count)
    counts.filter(lambda word, count: count == 2).to("twice", Produced(value=Serdes.json))
    table = counts.to_table(Materialized("counted", value=Serdes.json))
    questions = app.builder.stream("questions", Consumed(Serdes.string, Serdes.string))
    questions.join(table, lambda question, count: f"{question} {count}").to("answers", Produced(value=Serdes.string))
    with TopologyTestDriver(app.topology()) as driver:
        driver.input_topic("lines", Serdes.string, Serdes.string).pipe("k", "to be or not to be")
        driver.input_topic("questions", Serdes.string, Serdes.string).pipe("to", "how often?")
        assert driver.output_topic("twice", Serdes.string, Serdes.json).read_key_values() == [("to", 2), ("be", 2)]
        assert driver.output_topic("answers", Serdes.string, Serdes.string).read_value() == "how often? 2"


def test_agents_that_share_a_table_need_topics_with_equally_many_partitions() -> None:
    app = faust.App("shared")
    orders, users = app.topic("orders", key_type=str, value_type=int), app.topic("users", key_type=str, value_type=str)
    names = app.Table("names", key_type=str, value_type=str, default=str)
    greeted: list[str] = []

    @app.agent(users)
    async def learn(stream: faust.Stream) -> None:
        async for user, name in stream.items():
            names[user] = name

    @app.agent(orders)
    async def greet(stream: faust.Stream) -> None:
        async for user, amount in stream.items():
            greeted.append(f"{names[user]}: {amount}")

    with app.test_context() as test:
        test.put(users, "Ann", key="u1")
        test.put(orders, 3, key="u1")
    assert greeted == ["Ann: 3"]
    topology = app.topology()
    assert len(topology.sub_topologies()) == 1
    with pytest.raises(TopologyError, match="partitions"):
        resolve_partitions(topology, {"orders": 2, "users": 3})


def test_a_stream_of_sql_is_read_by_an_agent_whose_table_is_joined_in_sql() -> None:
    ksql = Ksql.in_memory()
    ksql.execute("CREATE STREAM orders (id STRING KEY, amount INT) WITH (kafka_topic='orders', value_format='JSON');")
    app = faust.App("sql")
    totals = app.Table("totals", key_type=str, default=dict)

    @app.agent(ksql.stream("orders", app.builder))
    async def add(stream: faust.Stream) -> None:
        async for account, order in stream.items():
            totals[account] = {"TOTAL": totals[account].get("TOTAL", 0) + order["AMOUNT"]}

    rows = [(b"a", json.dumps({"AMOUNT": amount}).encode(), 0, None, amount) for amount in (3, 4)]
    changelog = changes_of(app, "totals", "orders", rows)
    ksql.execute(
        "CREATE TABLE totals (id STRING PRIMARY KEY, total INT)"
        " WITH (kafka_topic='sql-totals-changelog', value_format='JSON');"
        "CREATE STREAM known AS SELECT orders.id, amount, total FROM orders JOIN totals ON orders.id = totals.id;"
    )
    for key, value, timestamp in changelog:
        ksql.topics.write(TopicRecord("sql-totals-changelog", key, value, timestamp))
    ksql.execute("INSERT INTO orders VALUES ('a', 1);")
    (joined,) = ksql.topics.read("KNOWN", from_beginning=True)
    assert json.loads(joined.value or b"") == {"AMOUNT": 1, "TOTAL": 7}


def changes_of(app: faust.App, table: str, topic: str, records: list[Any]) -> list[tuple[bytes, bytes | None, int]]:
    """What a table's changelog gets for some records."""
    task = Task(app.topology(), StreamsConfig(application_id=app.id))
    task.add_records(topic, 0, records)
    task.process_all()
    task.commit()
    changes = task.take_changes()[table]
    found = list(task.state_stores[table].log_records(changes, 0))
    task.close()
    return found
