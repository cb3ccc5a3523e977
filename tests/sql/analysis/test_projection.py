"""What is selected: names, order, and the rules of the key."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import StreamFilter, StreamSelect, StreamSource, TableSelect, TableSource
from millstream.sql.tree.format import format_expression


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("ID, AMOUNT", "ID BIGINT KEY, AMOUNT INTEGER"),
        ("AMOUNT, ID", "ID BIGINT KEY, AMOUNT INTEGER"),
        ("ID AS K, AMOUNT * 2, AMOUNT + 1", "K BIGINT KEY, KSQL_COL_0 INTEGER, KSQL_COL_1 INTEGER"),
        ("ID, AS_VALUE(ID) AS COPY", "ID BIGINT KEY, COPY BIGINT"),
        ("ID, ADDRESS->ZIP, ADDRESS->STREET", "ID BIGINT KEY, ZIP INTEGER, STREET STRING"),
        ("ID, ADDRESS->ZIP, ADDRESS->ZIP", "ID BIGINT KEY, ZIP INTEGER, ZIP_1 INTEGER"),
        ("ID, ADDRESS->*", "ID BIGINT KEY, STREET STRING, ZIP INTEGER"),
        ("ID, ROWTIME AS T, ROWPARTITION AS P", "ID BIGINT KEY, T BIGINT, P INTEGER"),
        ("O.ID, O.AMOUNT", "ID BIGINT KEY, AMOUNT INTEGER"),
    ],
)
def test_columns_of_the_result(world: Any, select: str, columns: str) -> None:
    assert world.columns(f"CREATE STREAM X AS SELECT {select} FROM ORDERS O;") == columns


def test_star_has_the_key_first(world: Any) -> None:
    assert world.columns("CREATE STREAM X AS SELECT * FROM CLICKS;") == "ID BIGINT KEY, PAGE STRING, AMOUNT INTEGER"


def test_star_has_headers_last(world: Any) -> None:
    assert world.columns("CREATE STREAM X AS SELECT * FROM HEADED;") == "ID BIGINT KEY, A INTEGER, H BYTES"


def test_generated_names_avoid_those_of_the_source(world: Any) -> None:
    world.stream("TAKEN", {}, {"KSQL_COL_0": world.catalogue.get("CLICKS").schema.find("PAGE").type}, key_format="NONE")
    assert (
        world.columns("CREATE STREAM X AS SELECT KSQL_COL_0, 1 FROM TAKEN;") == "KSQL_COL_0 STRING, KSQL_COL_1 INTEGER"
    )


def test_rows_of_sources_hold_all_that_expressions_may_use(world: Any) -> None:
    source = world.step(StreamSource, "CREATE STREAM X AS SELECT * FROM HEADED;")
    assert [column.name for column in source.schema.value] == ["A", "H", "ROWTIME", "ROWPARTITION", "ROWOFFSET", "ID"]
    windowed = world.step(StreamSource, "CREATE STREAM X AS SELECT * FROM VISITS;")
    assert [column.name for column in windowed.schema.value][-2:] == ["WINDOWSTART", "WINDOWEND"]


def test_steps_of_a_filtered_stream(world: Any) -> None:
    steps = world.steps("CREATE STREAM X AS SELECT ID, PAGE FROM CLICKS WHERE AMOUNT > 3;")
    assert [step.context for step in steps] == [("X",), ("Project",), ("WhereFilter",), ("KsqlTopic", "Source")]
    condition = world.step(StreamFilter, "CREATE STREAM X AS SELECT * FROM CLICKS WHERE CLICKS.AMOUNT > 3;").condition
    assert format_expression(condition) == "(AMOUNT > 3)"


def test_times_are_compared_with_text(world: Any) -> None:
    text = "CREATE STREAM X AS SELECT * FROM CLICKS WHERE ROWTIME > '1970-01-01T00:00:01';"
    assert format_expression(world.step(StreamFilter, text).condition) == "(ROWTIME > 1000)"


def test_tables_stay_tables(world: Any) -> None:
    text = "CREATE TABLE X AS SELECT ID, NAME FROM CUSTOMERS;"
    assert world.step(TableSource, text).topic == "customers"
    assert world.step(TableSelect, text).formats.value.format.name == "JSON"


def test_selects_do_not_hold_the_key(world: Any) -> None:
    select = world.step(StreamSelect, "CREATE STREAM X AS SELECT PAGE AS P, ID AS K FROM CLICKS;")
    assert [column.name for column in select.selected] == ["P"]
    assert str(select.schema) == "`K` BIGINT KEY, `P` STRING"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT PAGE FROM CLICKS", "must include the key column ID in its projection (eg, SELECT ID...)."),
        ("SELECT V FROM PAIRS", "must include the key columns K1 and K2 in its projection (eg, SELECT K1, K2...)."),
        ("SELECT ID FROM CLICKS", "The projection contains no value columns."),
        ("SELECT ID, ID AS I2, PAGE FROM CLICKS", "a key column (`ID`) more than once, aliased as: I2 and ID."),
        ("SELECT ID, PAGE, AMOUNT AS PAGE FROM CLICKS", "Duplicate value columns found in schema: `PAGE` INTEGER"),
        ("SELECT ID, NULL FROM CLICKS", "Can't infer a type of null. Please explicitly cast it"),
        ("SELECT ID, BOB FROM CLICKS", "Line: 1, Col: 31: SELECT column 'BOB' cannot be resolved."),
        ("SELECT ID, C.BOB FROM CLICKS C", "SELECT column 'C.BOB' cannot be resolved."),
        ("SELECT ID, D.BOB FROM CLICKS C", "'D' is not a valid stream/table name or alias."),
        ("SELECT ID, D.* FROM CLICKS C", "'D' is not a valid stream/table name or alias."),
        ("SELECT ID, PAGE FROM NOWHERE", "NOWHERE does not exist."),
        ("SELECT ID, ROWTIME FROM CLICKS", "Reserved column name in select: `ROWTIME`. Please remove or alias"),
        (
            "SELECT ID, PAGE AS ROWTIME FROM CLICKS",
            "`ROWTIME` is a reserved column name. You cannot use it as an alias",
        ),
        ("SELECT ID, PAGE->* FROM CLICKS", "Column `PAGE` is not a STRUCT type."),
        ("SELECT ID, ADDRESS->NONE->* FROM ORDERS", "Field NONE was not found on STRUCT."),
        ("SELECT ID, ADDRESS->ZIP->* FROM ORDERS", "Field ZIP is not a STRUCT type."),
        (
            "SELECT ID, PAGE FROM CLICKS WHERE PAGE",
            "Type error in WHERE expression: Should evaluate to boolean but is PAGE",
        ),
        (
            "SELECT ID, PAGE FROM CLICKS WHERE PAGE > 3",
            "Error in WHERE expression: Cannot compare PAGE (STRING) to 3 (INT",
        ),
        ("SELECT ID, PAGE FROM CLICKS WHERE NOPE = 3", "WHERE column 'NOPE' cannot be resolved."),
        ("SELECT * FROM CLICKS WINDOW TUMBLING (SIZE 1 SECOND)", "WINDOW clause requires a GROUP BY clause."),
        ("SELECT * FROM CLICKS EMIT FINAL", "EMIT FINAL is only supported for windowed aggregations."),
        ("SELECT * FROM COUNTS", "KSQL does not support persistent queries on windowed tables."),
        ("SELECT ID, TRANSFORM(ITEMS, AMOUNT => 1) AS T FROM ORDERS", "argument can't be a column name: AMOUNT"),
    ],
)
def test_what_is_refused(world: Any, text: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        world.plan(f"CREATE STREAM X AS {text};")
    assert message in caught.value.primary


def test_what_a_query_makes_must_be_what_was_asked_for(world: Any) -> None:
    with pytest.raises(SqlError, match=r"produces a TABLE\. Please use CREATE TABLE AS SELECT statement instead"):
        world.plan("CREATE STREAM X AS SELECT * FROM CUSTOMERS;")
    with pytest.raises(SqlError, match=r"produces a STREAM\. Please use CREATE STREAM AS SELECT statement instead"):
        world.plan("CREATE TABLE X AS SELECT * FROM CLICKS;")


def test_the_new_planner_takes_the_key_as_it_is_selected(world: Any) -> None:
    world.settings = world.settings.with_override("ksql.new.query.planner.enabled", "true")
    assert world.columns("CREATE STREAM X AS SELECT PAGE FROM CLICKS;") == "PAGE STRING"
    assert world.columns("CREATE STREAM X AS SELECT PAGE, ID FROM CLICKS;") == "ID BIGINT KEY, PAGE STRING"
