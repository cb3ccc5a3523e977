"""Entities have the fields that ksqlDB's server sends, and no others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millstream.sql.engine.api import Ksql

ENTITY = {"@type", "statementText", "warnings"}
QUERY = {"queryString", "sinks", "sinkKafkaTopics", "id", "statusCount", "queryType", "state"}
SOURCE = {
    "name", "windowType", "readQueries", "writeQueries", "fields", "type", "timestamp", "statistics", "errorStats",
    "extended", "keyFormat", "valueFormat", "topic", "partitions", "replication", "statement", "queryOffsetSummaries",
    "sourceConstraints", "clusterStatistics", "clusterErrorStats",
}  # fmt: skip
DESCRIBED_QUERY = {
    "id", "statementText", "windowType", "fields", "sources", "sinks", "topology", "executionPlan",
    "overriddenProperties", "ksqlHostQueryStatus", "queryType", "queryErrors", "tasksMetadata", "consumerGroupId",
    "state",
}  # fmt: skip


@pytest.fixture
def ksql() -> Ksql:
    ksql = Ksql.in_memory()
    ksql.execute(
        "CREATE STREAM s (id INT KEY, a DECIMAL(4, 1), h BYTES HEADER('x'))"
        " WITH (kafka_topic='s', value_format='JSON');"
        "CREATE STREAM d AS SELECT id, a FROM s;"
        "CREATE TYPE place AS STRUCT<x INT, y ARRAY<STRING>>;"
        "DEFINE shop = 'north';"
    )
    return ksql


@pytest.mark.parametrize(
    ("statement", "kind", "field", "inner"),
    [
        ("LIST STREAMS;", "streams", "streams", {"type", "name", "topic", "keyFormat", "valueFormat", "isWindowed"}),
        ("LIST TABLES;", "tables", "tables", set()),
        ("LIST TOPICS;", "kafka_topics", "topics", {"name", "replicaInfo"}),
        ("LIST QUERIES;", "queries", "queries", QUERY),
        ("LIST FUNCTIONS;", "function_names", "functions", {"name", "type", "category"}),
        ("LIST VARIABLES;", "variables", "variables", {"name", "value"}),
        ("DESCRIBE s EXTENDED;", "sourceDescription", "sourceDescription", SOURCE),
        ("LIST STREAMS EXTENDED;", "source_descriptions", "sourceDescriptions", SOURCE),
        ("EXPLAIN SELECT * FROM s EMIT CHANGES;", "queryDescription", "queryDescription", DESCRIBED_QUERY),
        ("LIST QUERIES EXTENDED;", "query_descriptions", "queryDescriptions", DESCRIBED_QUERY),
    ],
)
def test_lists_and_descriptions(ksql: Ksql, statement: str, kind: str, field: str, inner: set[str]) -> None:
    answer = ask(ksql, statement)
    assert answer["@type"] == kind
    assert set(answer) == {*ENTITY, field}
    found = answer[field][0] if isinstance(answer[field], list) and answer[field] else answer[field]
    assert set(found) == inner


def test_properties(ksql: Ksql) -> None:
    answer = ask(ksql, "LIST PROPERTIES;")
    assert set(answer) == {*ENTITY, "properties", "overwrittenProperties", "defaultProperties"}
    assert set(answer["properties"][0]) == {"name", "scope", "value", "editable", "level"}


def test_functions(ksql: Ksql) -> None:
    answer = ask(ksql, "DESCRIBE FUNCTION len;")
    assert set(answer) == {*ENTITY, "name", "description", "author", "version", "path", "type", "functions"}
    variant = answer["functions"][0]
    assert set(variant) == {"arguments", "returnType", "description"}
    assert set(variant["arguments"][0]) == {"name", "type", "description", "isVariadic"}


def test_columns_say_what_they_are_only_if_they_are_not_of_the_value(ksql: Ksql) -> None:
    plain = {"fields": None, "memberSchema": None}
    assert ask(ksql, "DESCRIBE s;")["sourceDescription"]["fields"] == [
        {"name": "ID", "schema": {"type": "INTEGER", **plain}, "type": "KEY"},
        {"name": "A", "schema": {"type": "DECIMAL", **plain, "parameters": {"precision": 4, "scale": 1}}},
        {"name": "H", "schema": {"type": "BYTES", **plain}, "type": "HEADER", "headerKey": "x"},
    ]
    array = {"type": "ARRAY", "fields": None, "memberSchema": {"type": "STRING", **plain}}
    assert ask(ksql, "LIST TYPES;")["types"]["PLACE"] == {
        "type": "STRUCT",
        "fields": [{"name": "X", "schema": {"type": "INTEGER", **plain}}, {"name": "Y", "schema": array}],
        "memberSchema": None,
    }


@pytest.mark.parametrize("action", ["pause", "resume", "terminate"])
def test_commands_on_queries(ksql: Ksql, action: str) -> None:
    (query,) = ask(ksql, "LIST QUERIES;")["queries"]
    answer = ask(ksql, f"{action} {query['id']};")
    assert answer["commandId"] == f"{action}/{query['id']}/execute"
    assert set(answer) == {*ENTITY, "commandId", "commandStatus", "commandSequenceNumber"}
    assert answer["commandSequenceNumber"] == -1
    assert set(answer["commandStatus"]) == {"status", "message", "queryId"}


def ask(ksql: Ksql, statement: str) -> dict[str, Any]:
    (entity,) = ksql.execute(statement)
    shown: dict[str, Any] = json.loads(json.dumps(entity.to_json()))  # and nothing in it that JSON has not
    return shown
