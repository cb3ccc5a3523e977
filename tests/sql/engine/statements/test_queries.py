"""Persistent queries: their ids, what CREATE OR REPLACE may change, and how they end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from millstream.sql.engine.answers.entities import CurrentStatus, WarningEntity
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.errors import ParseError, StatementError

CREATE = "CREATE STREAM s (id INT KEY, a INT, b INT) WITH (kafka_topic='s', value_format='JSON');"


@pytest.fixture
def ksql() -> Ksql:
    ksql = Ksql.in_memory()
    ksql.execute(CREATE)
    return ksql


def values(ksql: Ksql, topic: str) -> list[Any]:
    records = ksql.topics.read(topic, from_beginning=True)
    return [None if record.value is None else json.loads(record.value) for record in records]


def test_ids_are_numbered_in_order(ksql: Ksql) -> None:
    ksql.execute(
        "CREATE STREAM copy AS SELECT * FROM s;"
        "CREATE TABLE counts AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;"
        "INSERT INTO copy SELECT * FROM s WHERE a > 1;"
        "INSERT INTO copy WITH (query_id='mine') SELECT * FROM s;"
        "INSERT INTO copy SELECT * FROM s;"
    )
    assert [query.id for query in ksql.queries] == [
        "CSAS_COPY_0",
        "CTAS_COUNTS_1",
        "INSERTQUERY_2",
        "MINE",
        "INSERTQUERY_3",
    ]


def test_the_answer_tells_the_id(ksql: Ksql) -> None:
    (answer,) = ksql.execute("CREATE STREAM copy AS SELECT * FROM s;")
    assert isinstance(answer, CurrentStatus)
    assert answer.command_status.query_id == "CSAS_COPY_0"
    assert answer.message == "Created query with ID CSAS_COPY_0"


def test_a_statement_that_fails_uses_no_number(ksql: Ksql) -> None:
    with pytest.raises(StatementError):
        ksql.execute("CREATE STREAM bad AS SELECT nothing FROM s;")
    ksql.execute("CREATE STREAM good AS SELECT * FROM s;")
    assert [query.id for query in ksql.queries] == ["CSAS_GOOD_0"]


@pytest.mark.parametrize(
    ("query_id", "message"),
    [
        ("CSAS_X", "Query IDs must not start with a reserved query ID prefix (INSERTQUERY_, CTAS_, CSAS_, CST_)."),
        ("with-dash", "Query IDs may contain only alphanumeric characters and '_'. Got: 'WITH-DASH'"),
        ("taken", "Query ID 'TAKEN' already exists."),
    ],
)
def test_ids_that_cannot_be_asked_for(ksql: Ksql, query_id: str, message: str) -> None:
    ksql.execute("CREATE STREAM copy AS SELECT * FROM s; INSERT INTO copy WITH (query_id='taken') SELECT * FROM s;")
    with pytest.raises(StatementError) as caught:
        ksql.execute(f"INSERT INTO copy WITH (query_id='{query_id}') SELECT * FROM s;")
    assert message in caught.value.primary


def test_queries_run_one_after_the_other(ksql: Ksql) -> None:
    ksql.execute(
        "CREATE STREAM large AS SELECT * FROM s WHERE a > 10;"
        "CREATE TABLE totals AS SELECT id, SUM(a) AS total FROM large GROUP BY id;"
        "INSERT INTO s VALUES (1, 20, 0); INSERT INTO s VALUES (1, 5, 0); INSERT INTO s VALUES (1, 30, 0);"
    )
    assert values(ksql, "TOTALS") == [{"TOTAL": 20}, {"TOTAL": 50}]


def test_a_query_is_replaced_and_its_state_kept(ksql: Ksql) -> None:
    ksql.execute("CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s WHERE a > 0 GROUP BY id;")
    ksql.execute("INSERT INTO s VALUES (1, 1, 0); INSERT INTO s VALUES (1, 2, 0);")
    ksql.execute("CREATE OR REPLACE TABLE n AS SELECT id, COUNT(*) AS n FROM s WHERE a > 1 GROUP BY id;")
    assert [query.id for query in ksql.queries] == ["CTAS_N_0"]
    ksql.execute("INSERT INTO s VALUES (1, 1, 0); INSERT INTO s VALUES (1, 2, 0);")
    assert values(ksql, "N") == [{"N": 1}, {"N": 2}, {"N": 3}]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "CREATE STREAM c AS SELECT id, a, b FROM s;",
            "CREATE OR REPLACE STREAM c AS SELECT id, a FROM s;",
            "(The following columns are changed, missing or reordered: [`B` INTEGER])",
        ),
        (
            "CREATE STREAM c AS SELECT * FROM s PARTITION BY a;",
            "CREATE OR REPLACE STREAM c AS SELECT * FROM s PARTITION BY b;",
            "The following key columns are changed, missing or reordered: [`A` INTEGER KEY])",
        ),
        (
            "CREATE TABLE c AS SELECT id, COUNT(*) FROM s GROUP BY id;",
            "CREATE OR REPLACE TABLE c AS SELECT id, COUNT(a) FROM s GROUP BY id;",
            "matching columns not part of aggregate. Values differ: [`ID`, `ROWTIME`] vs. [`ID`, `A`]",
        ),
        (
            "CREATE TABLE c AS SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id;",
            "CREATE OR REPLACE TABLE c AS SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id;",
            "Upgrades not yet supported for StreamWindowedAggregate",
        ),
        (
            "CREATE TABLE c AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;",
            "CREATE OR REPLACE TABLE c AS SELECT id, COUNT(*) AS n FROM s GROUP BY id HAVING COUNT(*) > 1;",
            "StreamAggregate must have matching class. Values differ: class io.confluent.ksql.execution.plan.StreamAgg",
        ),
        (
            "CREATE STREAM c AS SELECT id, a, b FROM s;",
            "CREATE OR REPLACE STREAM c AS SELECT s.id AS id, s.a AS a, r.b AS b FROM s JOIN r WITHIN 1 DAY "
            "ON s.id = r.id;",
            "Cannot change a non-join source into a join source.",
        ),
        (
            "CREATE STREAM c AS SELECT id, a AS a, b FROM s;",
            "CREATE OR REPLACE STREAM c AS SELECT id, EXPLODE(ARRAY[a]) AS a, b FROM s;",
            "Upgrades not yet supported for StreamFlatMap",
        ),
        (
            "CREATE STREAM c AS SELECT * FROM s;",
            "CREATE OR REPLACE STREAM c AS SELECT * FROM r;",
            "StreamSource must have matching topicName. Values differ: `s` vs. `r`",
        ),
        (
            "CREATE STREAM c AS SELECT * FROM s;",
            "CREATE OR REPLACE STREAM c WITH (kafka_topic='other') AS SELECT * FROM s;",
            "Cannot upgrade data source: DataSource '`C`' has topic =",
        ),
    ],
)
def test_what_a_replacement_may_not_change(ksql: Ksql, before: str, after: str, message: str) -> None:
    ksql.execute(CREATE.replace("STREAM s", "STREAM r").replace("'s'", "'r'"))
    ksql.execute(before)
    with pytest.raises(StatementError) as caught:
        ksql.execute(after)
    assert message in caught.value.primary
    assert [query.sql for query in ksql.queries] == [before]


def test_filters_and_projections_may_come_and_go(ksql: Ksql) -> None:
    ksql.execute("CREATE STREAM c AS SELECT id, a FROM s;")
    ksql.execute("CREATE OR REPLACE STREAM c AS SELECT id, a, b FROM s WHERE a > 0;")
    ksql.execute("CREATE OR REPLACE STREAM c AS SELECT id, a, b, a + b AS both FROM s;")
    ksql.execute("INSERT INTO s VALUES (1, 0, 2);")
    assert values(ksql, "C") == [{"A": 0, "B": 2, "BOTH": 2}]


def test_replacing_can_be_switched_off(ksql: Ksql) -> None:
    ksql.execute("CREATE STREAM c AS SELECT * FROM s; SET 'ksql.create.or.replace.enabled' = 'false';")
    with pytest.raises(StatementError, match="A stream with the same name already exists"):
        ksql.execute("CREATE OR REPLACE STREAM c AS SELECT * FROM s;")


def test_if_not_exists_leaves_the_query_alone(ksql: Ksql) -> None:
    ksql.execute("CREATE STREAM c AS SELECT * FROM s;")
    (answer,) = ksql.execute("CREATE STREAM IF NOT EXISTS c AS SELECT id, a FROM s;")
    assert isinstance(answer, WarningEntity)
    with pytest.raises(StatementError, match="Cannot add stream 'C': A stream with the same name already exists"):
        ksql.execute("CREATE STREAM c AS SELECT * FROM s;")


def test_errors_of_the_planner_show_the_statement_as_understood(ksql: Ksql) -> None:
    with pytest.raises(StatementError) as caught:
        ksql.execute("CREATE TABLE t WITH (key_format='KAFKA') AS SELECT a, b, COUNT(*) FROM s GROUP BY a, b;")
    assert caught.value.statement == (
        "CREATE TABLE T WITH (KEY_FORMAT='KAFKA') AS SELECT\n  S.A A,\n  S.B B,\n  COUNT(*) KSQL_COL_0\n"
        "FROM S S\nGROUP BY S.A, S.B\nEMIT CHANGES"
    )


def test_an_unknown_property_of_a_query_is_found_while_parsing(ksql: Ksql) -> None:
    with pytest.raises(ParseError, match="Invalid config variable"):
        ksql.execute("CREATE STREAM c WITH (window_type='SESSION') AS SELECT * FROM s;")
    with pytest.raises(ParseError, match="Invalid config variable"):
        ksql.execute("INSERT INTO s WITH (format='JSON') SELECT * FROM s;")


def test_terminate_ends_a_query_and_leaves_its_sink(ksql: Ksql) -> None:
    ksql.execute("CREATE STREAM c AS SELECT * FROM s; TERMINATE csas_c_0;")
    assert not ksql.queries
    assert "C" in ksql.catalogue.sources
    with pytest.raises(StatementError, match="Unknown queryId: CSAS_C_0"):
        ksql.execute("TERMINATE CSAS_C_0;")


def test_paused_queries_get_nothing(ksql: Ksql) -> None:
    ksql.execute("CREATE STREAM c AS SELECT * FROM s; PAUSE CSAS_C_0; INSERT INTO s VALUES (1, 1, 1);")
    ksql.execute("RESUME ALL; INSERT INTO s VALUES (1, 2, 2);")
    assert values(ksql, "C") == [{"A": 2, "B": 2}]


def test_results_of_unknown_sources(ksql: Ksql) -> None:
    with pytest.raises(StatementError, match="Exception while preparing statement: NOWHERE does not exist"):
        ksql.execute("CREATE STREAM c AS SELECT * FROM nowhere;")


def test_records_that_cannot_be_read_are_told_and_skipped() -> None:
    told = []

    class Log:
        def error(self, logger: str, message: Mapping[str, Any]) -> None:
            told.append((logger, message))

    ksql = Ksql.in_memory(log=Log())
    ksql.execute(CREATE)
    ksql.execute("CREATE STREAM c AS SELECT * FROM s;")
    ksql.topics.write(TopicRecord("s", None, b"{no json", 0))
    ksql.execute("INSERT INTO s VALUES (1, 2, 3);")
    assert values(ksql, "C") == [{"A": 2, "B": 3}]
    ((logger, message),) = told
    assert logger == "processing.CSAS_C_0.deserializer"
    assert message["type"] == 0
    assert message["deserializationError"]["topic"] == "s"
