"""What users of ksqlDB do with a server, from a statement to its result in Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Message

from millstream.kafka.group_admin import GroupAdmin

from .server_process import Refused, ServerProcess, until

STREAM = """
CREATE STREAM {name} (id STRING KEY, amount BIGINT) WITH (kafka_topic='{name}', partitions=2, value_format='JSON');
"""


def one(entities: list[Any]) -> Any:
    (entity,) = entities
    return entity


def query_of(entities: list[Any]) -> str:
    status = entities[-1]["commandStatus"]
    assert status["status"] == "SUCCESS", status
    return str(status["queryId"])


def values(messages: list[Message]) -> list[Any]:
    return [json.loads(message.value() or b"null") for message in messages]


def test_a_query_that_fails_does_not_disturb_the_others(running: ServerProcess, name: str) -> None:
    running.ksql(STREAM.format(name=name))
    well = query_of(running.ksql(f"CREATE TABLE {name}_well AS SELECT id, SUM(amount) AS s FROM {name} GROUP BY id;"))
    wary = query_of(
        running.ksql(f"CREATE TABLE {name}_wary AS SELECT id, wary_sum(amount) AS s FROM {name} GROUP BY id;")
    )
    running.ksql(f"INSERT INTO {name} VALUES ('a', 1); INSERT INTO {name} VALUES ('a', 2);")
    until(lambda: running.rows(f"SELECT * FROM {name}_well WHERE id = 'a';") == [["a", 3]])
    until(lambda: running.rows(f"SELECT * FROM {name}_wary WHERE id = 'a';") == [["a", 3]])
    running.ksql(f"INSERT INTO {name} VALUES ('a', -1);")
    until(lambda: running.rows(f"SELECT * FROM {name}_well WHERE id = 'a';") == [["a", 2]])
    until(lambda: running.queries()[wary] == "ERROR")
    running.ksql(f"INSERT INTO {name} VALUES ('a', 5);")
    until(lambda: running.rows(f"SELECT * FROM {name}_well WHERE id = 'a';") == [["a", 7]])
    assert running.queries()[well] == "RUNNING"
    explained = one(running.ksql(f"EXPLAIN {wary};"))["queryDescription"]
    assert explained["state"] == "ERROR"
    assert "negative values are refused" in explained["queryErrors"][-1]["errorMessage"]
    assert one(running.ksql(f"EXPLAIN {well};"))["queryDescription"]["queryErrors"] == []
    running.ksql(f"DROP TABLE {name}_wary;")
    assert wary not in running.queries()


def test_pause_resume_replace_insert_terminate(
    running: ServerProcess, name: str, groups: GroupAdmin, consume: Callable[..., list[Message]]
) -> None:
    running.ksql(STREAM.format(name=name))
    query = query_of(running.ksql(f"CREATE STREAM {name}_out AS SELECT id, amount AS n FROM {name};"))
    topic = f"{name}_out".upper()
    running.ksql(f"INSERT INTO {name} VALUES ('a', 1);")
    assert values(consume(topic, 1)) == [{"N": 1}]
    running.ksql(f"PAUSE {query};")
    assert running.queries()[query] == "PAUSED"
    running.ksql(f"INSERT INTO {name} VALUES ('a', 2);")
    running.ksql(f"RESUME {query};")
    assert running.queries()[query] == "RUNNING"
    assert values(consume(topic, 2)) == [{"N": 1}, {"N": 2}]
    replaced = query_of(
        running.ksql(f"CREATE OR REPLACE STREAM {name}_out AS SELECT id, amount AS n FROM {name} WHERE amount > 10;")
    )
    assert replaced == query
    running.ksql(f"INSERT INTO {name} VALUES ('a', 3); INSERT INTO {name} VALUES ('a', 30);")
    assert values(consume(topic, 3)) == [{"N": 1}, {"N": 2}, {"N": 30}]
    inserting = query_of(running.ksql(f"INSERT INTO {name}_out SELECT id, amount * 100 AS n FROM {name};"))
    assert sorted(value["N"] for value in values(consume(topic, 7))) == [1, 2, 30, 100, 200, 300, 3000]
    with pytest.raises(Refused) as refused:
        running.ksql(f"DROP STREAM {name};")
    assert refused.value.status == 400
    assert inserting in refused.value.body["message"]
    running.ksql(f"TERMINATE {inserting}; TERMINATE {query};")
    assert {query, inserting}.isdisjoint(running.queries())
    running.ksql(f"DROP STREAM {name}_out DELETE TOPIC; DROP STREAM {name} DELETE TOPIC;")
    until(lambda: not [topic for topic in groups.topics() if name.lower() in topic.lower()], 10)


def test_live_figures(running: ServerProcess, name: str, produce: Callable[..., None]) -> None:
    running.ksql(STREAM.format(name=name))
    query = query_of(running.ksql(f"CREATE TABLE {name}_sums AS SELECT id, SUM(amount) AS s FROM {name} GROUP BY id;"))
    produce(name, [(f"k{number % 10}", json.dumps({"AMOUNT": number})) for number in range(100)])

    def summary() -> Any:
        described = one(running.ksql(f"DESCRIBE {name}_sums EXTENDED;"))["sourceDescription"]
        (query_summary,) = described["queryOffsetSummaries"]
        for topic in query_summary["topicSummaries"]:  # none before lanes have told of it
            if sum(offset["consumerOffset"] for offset in topic["offsets"]) == 100:
                return topic
        return None

    found = until(summary)
    assert found["kafkaTopic"] == name
    assert sum(offset["logEndOffset"] for offset in found["offsets"]) == 100
    described = one(running.ksql(f"DESCRIBE {name} EXTENDED;"))["sourceDescription"]
    assert "consumer-total-messages:       100" in described["statistics"]
    status, told = running.request("GET", "/metrics")
    assert status == 200
    lines = told.decode().splitlines()
    assert f'millstream_ksqldb_query_processed_records_total{{query="{query}"}} 100.0' in lines
    assert f'millstream_ksqldb_query_lag{{query="{query}"}} 0.0' in lines
    assert f'millstream_ksqldb_query_state{{query="{query}",state="RUNNING"}} 1.0' in lines
