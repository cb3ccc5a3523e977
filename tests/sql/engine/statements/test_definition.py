"""DROP, ALTER and types."""

from __future__ import annotations

import pytest

from millstream.sql.engine.answers.entities import CurrentStatus, WarningEntity
from millstream.sql.engine.api import Ksql
from millstream.sql.errors import StatementError

CREATE = "CREATE STREAM s (id INT KEY, a INT) WITH (kafka_topic='s', value_format='JSON');"


@pytest.fixture
def ksql() -> Ksql:
    ksql = Ksql.in_memory()
    ksql.execute(CREATE)
    return ksql


def test_drop_forgets_a_source(ksql: Ksql) -> None:
    (answer,) = ksql.execute("DROP STREAM s;")
    assert isinstance(answer, CurrentStatus)
    assert answer.message == "Source `S` (topic: s) was dropped."
    assert not ksql.catalogue.sources
    assert ksql.topics.describe("s") is not None


def test_drop_can_delete_the_topic(ksql: Ksql) -> None:
    ksql.execute("DROP STREAM s DELETE TOPIC;")
    assert ksql.topics.names() == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DROP STREAM x;", "Stream X does not exist."),
        ("DROP TABLE s;", "Incompatible data source type is stream, but statement was DROP table"),
        ("DROP STREAM `s`;", "Did you mean S?"),
    ],
)
def test_what_cannot_be_dropped(ksql: Ksql, statement: str, message: str) -> None:
    with pytest.raises(StatementError) as caught:
        ksql.execute(statement)
    assert message in caught.value.primary


def test_if_exists_is_content_with_nothing(ksql: Ksql) -> None:
    (answer,) = ksql.execute("DROP TABLE IF EXISTS x;")
    assert isinstance(answer, WarningEntity)
    assert answer.message == "Source `X` does not exist."


def test_a_source_that_others_were_derived_from_stays(ksql: Ksql) -> None:
    ksql.execute("CREATE STREAM c AS SELECT * FROM s;")
    with pytest.raises(StatementError) as caught:
        ksql.execute("DROP STREAM s;")
    assert caught.value.primary == (
        "Cannot drop S.\nThe following streams and/or tables read from this source: [C].\n"
        "You need to drop them before dropping S."
    )
    ksql.execute("DROP STREAM c; DROP STREAM s;")
    assert not ksql.queries


def test_insert_queries_hold_both_ends(ksql: Ksql) -> None:
    ksql.execute("CREATE STREAM d (id INT KEY, a INT) WITH (kafka_topic='d', value_format='JSON');")
    ksql.execute("INSERT INTO d SELECT * FROM s;")
    with pytest.raises(StatementError) as caught:
        ksql.execute("DROP STREAM s;")
    assert "The following queries read from this source: [INSERTQUERY_0]." in caught.value.primary
    with pytest.raises(StatementError) as caught:
        ksql.execute("DROP STREAM d;")
    assert "The following queries write into this source: [INSERTQUERY_0]." in caught.value.primary
    ksql.execute("TERMINATE ALL; DROP STREAM d; DROP STREAM s;")


def test_a_topic_that_others_use_is_not_deleted(ksql: Ksql) -> None:
    ksql.execute(CREATE.replace("STREAM s", "STREAM other"))
    with pytest.raises(StatementError, match=r"Refusing to delete topic. Found other data sources \(OTHER\)"):
        ksql.execute("DROP STREAM s DELETE TOPIC;")


def test_alter_adds_columns(ksql: Ksql) -> None:
    (answer,) = ksql.execute("ALTER STREAM s ADD COLUMN b STRING, ADD c INT;")
    assert isinstance(answer, CurrentStatus)
    assert answer.message == "Stream S altered."
    assert str(ksql.catalogue.sources["S"].schema) == "`ID` INTEGER KEY, `A` INTEGER, `B` STRING, `C` INTEGER"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER STREAM x ADD COLUMN b INT;", "Source X does not exist."),
        ("ALTER TABLE s ADD COLUMN b INT;", "Incompatible data source type is STREAM, but statement was ALTER TABLE"),
        ("ALTER STREAM s ADD COLUMN a INT;", "Cannot add column `A` to schema."),
        ("ALTER STREAM s ADD COLUMN id INT;", "Cannot add column `ID` to schema."),
        ("ALTER STREAM c ADD COLUMN b INT;", "ALTER command is not supported for CREATE ... AS statements."),
    ],
)
def test_what_cannot_be_altered(ksql: Ksql, statement: str, message: str) -> None:
    ksql.execute("CREATE STREAM c AS SELECT * FROM s;")
    with pytest.raises(StatementError) as caught:
        ksql.execute(statement)
    assert message in caught.value.primary


def test_types_have_names(ksql: Ksql) -> None:
    ksql.execute("CREATE TYPE place AS STRUCT<x INT, y INT>;")
    ksql.execute("CREATE STREAM p (at_place place) WITH (kafka_topic='p', value_format='JSON');")
    assert str(ksql.catalogue.sources["P"].schema) == "`AT_PLACE` STRUCT<`X` INTEGER, `Y` INTEGER>"
    with pytest.raises(StatementError, match="already registered with type"):
        ksql.execute("CREATE TYPE place AS INT;")
    (answer,) = ksql.execute("CREATE TYPE IF NOT EXISTS place AS INT;")
    assert isinstance(answer, WarningEntity)
    ksql.execute("DROP TYPE place;")
    with pytest.raises(StatementError, match="Type PLACE does not exist"):
        ksql.execute("DROP TYPE place;")
    (answer,) = ksql.execute("DROP TYPE IF EXISTS place;")
    assert isinstance(answer, WarningEntity)
