"""Every kind of answer has a form for people."""

from __future__ import annotations

import pytest

from millstream.sql.engine.api import Ksql

from .conftest import Shown


@pytest.fixture(scope="module")
def ksql() -> Ksql:
    ksql = Ksql.in_memory()
    ksql.execute("CREATE TYPE address AS STRUCT<street STRING, numbers ARRAY<INT>>;")
    ksql.execute(
        "CREATE STREAM s (id INT KEY, v DECIMAL(4, 2), a address, h BYTES HEADER('x'))"
        " WITH (kafka_topic='s', value_format='JSON');"
    )
    ksql.execute("CREATE TABLE c AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;")
    ksql.execute("DEFINE colour = 'red';")
    return ksql


def shown(ksql: Ksql, statement: str) -> list[str]:
    found = Shown()
    for entity in ksql.run(statement):
        found.screen.entity(entity.to_json())
    return found.lines


def test_lists(ksql: Ksql) -> None:
    assert shown(ksql, "SHOW TABLES;")[1].split() == ["C", "C", "KAFKA", "JSON", "false"]
    topics = [line.split() for line in shown(ksql, "SHOW TOPICS;")]
    assert topics[0] == ["Kafka", "Topic", "Partitions", "Partition", "Replicas"]
    assert ["s", "1", "1"] in topics
    (head, query) = shown(ksql, "SHOW QUERIES;")
    assert head.split("  ")[0] == "Query ID"
    assert query.startswith("CTAS_C_")
    assert "PERSISTENT" in query
    assert shown(ksql, "SHOW VARIABLES;")[1].split() == ["colour", "red"]
    assert shown(ksql, "SHOW TYPES;")[1].split(maxsplit=1) == [
        "ADDRESS",
        "STRUCT<`STREET` STRING, `NUMBERS` ARRAY<INTEGER>>",
    ]
    assert any(line.startswith("ABS ") for line in shown(ksql, "SHOW FUNCTIONS;"))


def test_properties_that_the_session_has_set(ksql: Ksql) -> None:
    ksql.execute("SET 'auto.offset.reset' = 'earliest';")
    (line,) = [line for line in shown(ksql, "SHOW PROPERTIES;") if "auto.offset.reset" in line]
    assert line.split()[-2:] == ["SESSION", "earliest"]


def test_descriptions(ksql: Ksql) -> None:
    lines = shown(ksql, "DESCRIBE s;")
    assert lines[0] == "Name              : S"
    fields = [line.split(maxsplit=1) for line in lines[3:]]
    assert fields[:2] == [["ID", "INTEGER (key)"], ["V", "DECIMAL(4, 2)"]]
    assert fields[-1] == ["H", "BYTES (header('x'))"]
    assert any("INTEGER (primary key)" in line for line in shown(ksql, "DESCRIBE c;"))
    extended = shown(ksql, "DESCRIBE s EXTENDED;")
    assert "Kafka topic       : s (partitions: 1, replication: 1)" in extended
    assert "Queries that read from this" in extended
    assert shown(ksql, "SHOW STREAMS EXTENDED;")[0] == "Name              : S"
    explained = shown(ksql, "EXPLAIN SELECT * FROM s EMIT CHANGES;")
    assert "Execution plan" in explained
    assert any(
        line.startswith("Consumer Group") or line.startswith("Sources")
        for line in shown(ksql, "SHOW QUERIES EXTENDED;")
    )
    function = shown(ksql, "DESCRIBE FUNCTION abs;")
    assert function[0] == "Name              : ABS"
    assert any(line.startswith("  ABS(") for line in function)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ({"@type": "warning_entity", "message": "was there"}, ["was there"]),
        ({"@type": "terminate_query", "queryId": "q", "wasTerminated": True}, ["Query terminated."]),
        ({"@type": "assert_topic", "topicName": "t", "exists": True}, ["Topic t exists."]),
        (
            {"@type": "assert_schema", "subject": "t", "id": 3, "exists": False},
            ["Schema with subject name t id 3 does not exist."],
        ),
        ({"@type": "connector_info", "info": {"name": "c"}}, ["Created connector c"]),
        ({"@type": "drop_connector", "connectorName": "c"}, ['Dropped connector "c"']),
        (
            {
                "@type": "connector_list",
                "connectors": [{"name": "c", "type": "SINK", "className": "k", "state": "RUNNING"}],
            },
            ["Connector Name  Type  Class  Status", "c               SINK  k      RUNNING"],
        ),
        (
            {"@type": "connector_list", "connectors": [{"name": "c", "type": "unknown"}]},
            ["Connector Name  Type     Class  Status", "c               unknown"],
        ),
        (
            {
                "@type": "connector_plugins_list",
                "connectorsPlugins": [{"className": "k", "type": "sink", "version": "4.3"}],
            },
            ["Class  Type  Version", "k      sink  4.3"],
        ),
        (
            {
                "@type": "connector_description",
                "connectorClass": "k",
                "status": {
                    "name": "c",
                    "connector": {"state": "FAILED", "worker_id": "w:1", "trace": "why"},
                    "tasks": [
                        {"id": 0, "state": "FAILED", "worker_id": "w:1", "trace": "no disk"},
                        {"id": 1, "state": "RUNNING", "worker_id": "w:1"},
                    ],
                    "type": "source",
                },
                "sources": [{"name": "S", "topic": "t", "type": "STREAM"}],
                "topics": ["t"],
            },
            [
                "Name              : c",
                "Class             : k",
                "Type              : source",
                "State             : FAILED",
                "WorkerId          : w:1",
                "Trace             : why",
                "",
                "Task ID  State    Error Trace",
                "0        FAILED   no disk",
                "1        RUNNING",
                "",
                "KSQL Source Name  Kafka Topic  Type",
                "S                 t            STREAM",
                "",
                "Related Topics",
                "t",
            ],
        ),
        (
            {
                "@type": "kafka_topics_extended",
                "topics": [{"name": "t", "replicaInfo": [1, 2], "consumerCount": 1, "consumerGroupCount": 2}],
            },
            [
                "Kafka Topic  Partitions  Partition Replicas  Consumers  Consumer Groups",
                "t            2           1, 2                1          2",
            ],
        ),
        ({"@type": "of tomorrow", "answer": 42, "none": None}, ["answer            : 42"]),
        ({"@type": "of tomorrow", "rows": [{"a": 1}, {"b": [2]}]}, ["", "rows", "a  b", "1", "   [2]"]),
        (
            {"@type": "warning_entity", "message": "\x1b[2Jgone", "warnings": [{"message": "degraded"}]},
            ["\\x1b[2Jgone", "WARNING: degraded"],
        ),
    ],
)
def test_others(content: dict[str, object], lines: list[str]) -> None:
    found = Shown()
    found.screen.entity(content)
    assert found.lines == lines
