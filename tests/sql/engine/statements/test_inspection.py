"""SHOW, DESCRIBE, EXPLAIN and PRINT, as entities and as the server would send them."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.engine.api import Ksql
from millstream.sql.errors import StatementError


@pytest.fixture
def ksql() -> Ksql:
    ksql = Ksql.in_memory()
    ksql.execute(
        "CREATE STREAM s (id INT KEY, a DECIMAL(4, 1), h BYTES HEADER('x')) WITH (kafka_topic='s',"
        " value_format='JSON');"
        "CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY id;"
        "CREATE TYPE place AS STRUCT<x INT, y ARRAY<STRING>>;"
        "DEFINE shop = 'north';"
        "SET 'auto.offset.reset' = 'earliest';"
    )
    return ksql


def ask(ksql: Ksql, statement: str) -> dict[str, Any]:
    (entity,) = ksql.execute(statement)
    return entity.to_json()


def test_streams_and_tables(ksql: Ksql) -> None:
    streams = ask(ksql, "LIST STREAMS;")
    assert streams["@type"] == "streams"
    assert streams["statementText"] == "LIST STREAMS;"
    assert streams["streams"] == [
        {
            "type": "STREAM",
            "name": "S",
            "topic": "s",
            "keyFormat": "KAFKA",
            "valueFormat": "JSON",
            "isWindowed": False,
        }
    ]
    (table,) = ask(ksql, "SHOW TABLES;")["tables"]
    assert (table["name"], table["isWindowed"]) == ("N", True)


def test_extended_lists_describe(ksql: Ksql) -> None:
    described = ask(ksql, "SHOW STREAMS EXTENDED;")
    assert described["@type"] == "source_descriptions"
    assert [source["name"] for source in described["sourceDescriptions"]] == ["S"]
    assert ask(ksql, "DESCRIBE TABLES;")["sourceDescriptions"][0]["name"] == "N"


def test_describe(ksql: Ksql) -> None:
    described = ask(ksql, "DESCRIBE s EXTENDED;")["sourceDescription"]
    assert [(field["name"], field.get("type")) for field in described["fields"]] == [
        ("ID", "KEY"),
        ("A", None),
        ("H", "HEADER"),
    ]
    assert described["fields"][1]["schema"]["parameters"] == {"precision": 4, "scale": 1}
    assert described["partitions"] == 1
    assert [query["id"] for query in described["readQueries"]] == ["CTAS_N_0"]
    assert described["sourceConstraints"] == ["N"]
    written = ask(ksql, "DESCRIBE n;")["sourceDescription"]
    assert written["windowType"] == "TUMBLING"
    assert [query["id"] for query in written["writeQueries"]] == ["CTAS_N_0"]
    with pytest.raises(StatementError, match="Could not find STREAM/TABLE 'X' in the Metastore"):
        ksql.execute("DESCRIBE x;")


def test_queries(ksql: Ksql) -> None:
    (query,) = ask(ksql, "SHOW QUERIES;")["queries"]
    assert query["id"] == "CTAS_N_0"
    assert (query["sinks"], query["sinkKafkaTopics"], query["state"]) == (["N"], ["N"], "RUNNING")
    (described,) = ask(ksql, "SHOW QUERIES EXTENDED;")["queryDescriptions"]
    assert described["sources"] == ["S"]


def test_explain_a_select(ksql: Ksql) -> None:
    described = ask(ksql, "EXPLAIN SELECT id, a + 1 AS b FROM s EMIT CHANGES;")["queryDescription"]
    assert [field["name"] for field in described["fields"]] == ["ID", "B"]
    assert "Sub-topology: 0" in described["topology"]
    assert not described["sinks"]


def test_explain_shows_steps_and_topology(ksql: Ksql) -> None:
    described = ask(ksql, "EXPLAIN CTAS_N_0;")["queryDescription"]
    assert "Sub-topology: 0" in described["topology"]
    assert described["executionPlan"].splitlines()[0].startswith(" > [ TABLE_SINK ] | Schema: `ID` INTEGER KEY")
    assert described["consumerGroupId"].endswith("query_CTAS_N_0")
    planned = ask(ksql, "EXPLAIN CREATE STREAM c AS SELECT * FROM s;")["queryDescription"]
    assert planned["sinks"] == ["C"]
    assert len(ksql.queries) == 1
    with pytest.raises(StatementError, match="Query with id:X does not exist"):
        ksql.execute("EXPLAIN x;")
    with pytest.raises(StatementError, match="does not run a ksql query"):
        ksql.execute("EXPLAIN SHOW STREAMS;")


def test_functions(ksql: Ksql) -> None:
    listed = {function["name"]: function["type"] for function in ask(ksql, "SHOW FUNCTIONS;")["functions"]}
    assert (listed["ABS"], listed["COUNT"], listed["EXPLODE"]) == ("SCALAR", "AGGREGATE", "TABLE")
    described = ask(ksql, "DESCRIBE FUNCTION abs;")
    assert (described["@type"], described["type"], described["name"]) == ("describe_function", "SCALAR", "ABS")
    assert described["functions"][0]["arguments"]
    with pytest.raises(StatementError, match="Can't find any functions with the name 'nothing'"):
        ksql.execute("DESCRIBE FUNCTION nothing;")


def test_types_variables_and_properties(ksql: Ksql) -> None:
    (kind,) = ask(ksql, "SHOW TYPES;")["types"].values()
    assert kind["type"] == "STRUCT"
    assert kind["fields"][1]["schema"]["memberSchema"]["type"] == "STRING"
    assert ask(ksql, "SHOW VARIABLES;")["variables"] == [{"name": "shop", "value": "north"}]
    properties = ask(ksql, "SHOW PROPERTIES;")
    assert properties["overwrittenProperties"] == ["auto.offset.reset"]
    found = {item["name"]: item for item in properties["properties"]}
    assert found["auto.offset.reset"]["value"] == "earliest"
    assert found["ksql.service.id"]["editable"] is False


def test_topics_and_their_records(ksql: Ksql) -> None:
    assert {"name": "s", "replicaInfo": [1]} in ask(ksql, "SHOW TOPICS;")["topics"]
    ksql.execute("CREATE STREAM p (k INT KEY, v INT) WITH (kafka_topic='p', value_format='JSON');")
    ksql.execute("INSERT INTO p (ROWTIME, k, v) VALUES (5, 1, 2); INSERT INTO p (ROWTIME, v) VALUES (6, 3);")
    printed = ask(ksql, "PRINT 'p' FROM BEGINNING;")
    assert (printed["keyFormat"], printed["valueFormat"]) == ("KAFKA_INT", "JSON")
    assert [(one["rowtime"], one["key"], one["value"]) for one in printed["records"]] == [
        (5, "1", '{"V":2}'),
        (6, "<null>", '{"V":3}'),
    ]
    assert len(ask(ksql, "PRINT 'p' FROM BEGINNING LIMIT 1;")["records"]) == 1
    assert len(ask(ksql, "PRINT 'p' FROM BEGINNING INTERVAL 2;")["records"]) == 1
    assert ask(ksql, "PRINT 'p';")["records"] == []


def test_connectors_are_refused_without_kafka_connect(ksql: Ksql) -> None:
    for statement in ("SHOW CONNECTORS;", "DESCRIBE CONNECTOR c;", "DROP CONNECTOR c;"):
        with pytest.raises(StatementError, match="none is configured"):
            ksql.execute(statement)
