"""SQL and the DSL together."""

from __future__ import annotations

import json
from typing import Any

import cloudpickle
import pytest

from millstream import Consumed, Produced, Serdes, StreamsBuilder
from millstream.sql.engine.api import Ksql
from millstream.sql.errors import SqlError
from millstream.testing import TopologyTestDriver


@pytest.fixture
def ksql() -> Ksql:
    return Ksql.in_memory()


def run(builder: StreamsBuilder, topic: str, *records: tuple[bytes | None, Any, int]) -> list[Any]:
    """Pipe records into a topology that was sent to another process, and take what it wrote."""
    topology = cloudpickle.loads(cloudpickle.dumps(builder.build()))
    with TopologyTestDriver(topology, wall_clock_start=0) as driver:
        for key, value, timestamp in records:
            driver.pipe(topic, key, json.dumps(value).encode(), timestamp)
        return [(sent.key, sent.value, sent.timestamp) for sent in driver.take_outputs()]


def test_a_stream_of_sql_in_the_dsl(ksql: Ksql) -> None:
    ksql.execute(
        "CREATE STREAM s (id INT KEY, total INT, place STRUCT<x INT, y ARRAY<STRUCT<z INT>>>)"
        " WITH (kafka_topic='s', value_format='JSON');"
    )
    builder = StreamsBuilder()
    stream = ksql.stream("s", builder)
    large = stream.filter(lambda key, value: key > 0 and value["PLACE"]["Y"][0]["Z"] > 1)
    large.map_values(lambda value: value["TOTAL"]).to("out", Produced(value=Serdes.json))
    rows = [
        ((1).to_bytes(4), {"total": 5, "place": {"x": 1, "y": [{"z": 2}]}}, 0),
        ((2).to_bytes(4), {"total": 6, "place": {"x": 1, "y": [{"z": 0}]}}, 0),
    ]
    assert run(builder, "s", *rows) == [((1).to_bytes(4), b"5", 0)]


def test_the_time_of_a_source_counts_in_the_dsl_too(ksql: Ksql) -> None:
    ksql.execute(
        "CREATE STREAM s (a STRING KEY, b STRING KEY, seen BIGINT)"
        " WITH (kafka_topic='s', format='JSON', timestamp='seen');"
    )
    builder = StreamsBuilder()
    ksql.stream("S", builder).map_values(lambda key, value: key[1]).to("out", Produced(value=Serdes.string))
    sent = run(builder, "s", (b'{"A":"x","B":"y"}', {"SEEN": 77}, 5))
    assert [(value, timestamp) for _, value, timestamp in sent] == [(b"y", 77)]


def test_a_table_of_sql_in_the_dsl(ksql: Ksql) -> None:
    ksql.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');")
    builder = StreamsBuilder()
    ksql.table("t", builder).map_values(lambda value: value["V"] * 2).to_stream().to("out", Produced(value=Serdes.json))
    assert run(builder, "t", ((1).to_bytes(4), {"V": 4}, 0)) == [((1).to_bytes(4), b"8", 0)]


def test_a_stream_of_the_dsl_in_sql(ksql: Ksql) -> None:
    builder = StreamsBuilder()
    words = builder.stream("lines", Consumed(Serdes.string, Serdes.string)).map_values(
        lambda line: {"WORD": line.upper(), "AT_PLACE": {"X": len(line)}}
    )
    ksql.register_stream("words", words, "id STRING KEY, word STRING, at_place STRUCT<x INT>, more INT", topic="w")
    ksql.execute("CREATE STREAM long AS SELECT * FROM words WHERE at_place->x > 3;")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("lines", Serdes.string, Serdes.string).pipe("k", "tree")
        (sent,) = driver.take_outputs()
    assert (sent.topic, sent.key) == ("w", b"k")
    assert sent.value == b'{"WORD":"TREE","AT_PLACE":{"X":4},"MORE":null}'


def test_what_is_not_there_is_told(ksql: Ksql) -> None:
    ksql.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');")
    with pytest.raises(SqlError, match="there is no stream or table `nothing`"):
        ksql.stream("nothing", StreamsBuilder())
    with pytest.raises(SqlError, match="`T` is a table"):
        ksql.stream("t", StreamsBuilder())
