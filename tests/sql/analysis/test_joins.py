"""Joins of streams and tables."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import (
    ForeignKeyJoin,
    StreamSelectKey,
    StreamStreamJoin,
    StreamTableJoin,
    TableSelectKey,
    TableTableJoin,
)
from millstream.sql.schema.types import BIGINT, INTEGER, STRING
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import JoinKind


def test_star_prefixes_the_columns_of_each_source(world: Any) -> None:
    text = "CREATE STREAM X AS SELECT * FROM CLICKS C JOIN CUSTOMERS U ON C.ID = U.ID;"
    assert world.columns(text) == (
        "C_ID BIGINT KEY, C_PAGE STRING, C_AMOUNT INTEGER, U_ID BIGINT, U_NAME STRING, U_REGION INTEGER"
    )


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("C.ID, NAME", "C_ID BIGINT KEY, NAME STRING"),
        ("U.ID, NAME", "U_ID BIGINT KEY, NAME STRING"),
        ("C.ID AS K, U.*", "K BIGINT KEY, U_ID BIGINT, U_NAME STRING, U_REGION INTEGER"),
        ("C.ID, C.ROWTIME AS T", "C_ID BIGINT KEY, T BIGINT"),
        ("C.ID, LEN(NAME)", "C_ID BIGINT KEY, KSQL_COL_0 INTEGER"),
    ],
)
def test_the_key_is_the_column_that_is_selected(world: Any, select: str, columns: str) -> None:
    assert (
        world.columns(f"CREATE STREAM X AS SELECT {select} FROM CLICKS C JOIN CUSTOMERS U ON C.ID = U.ID;") == columns
    )


def test_streams_are_joined_within_a_time(world: Any) -> None:
    text = (
        "CREATE STREAM X AS SELECT O.ID, PAGE FROM ORDERS O LEFT JOIN CLICKS C "
        "WITHIN (1 SECOND, 2 SECONDS) GRACE PERIOD 3 SECONDS ON O.ID = C.ID;"
    )
    join = world.step(StreamStreamJoin, text)
    assert (join.kind, join.before_ms, join.after_ms, join.grace_ms) == (JoinKind.LEFT, 1000, 2000, 3000)
    assert join.key_column == "O_ID"
    assert join.context == ("Join",)
    assert [join.left.context, join.right.context] == [("PrependAliasLeft",), ("PrependAliasRight",)]
    assert [join.left.source.context, join.right.source.context] == [
        ("KafkaTopic_Left", "Source"),
        ("KafkaTopic_Right", "Source"),
    ]


def test_a_side_with_another_key_is_repartitioned(world: Any) -> None:
    text = "CREATE STREAM X AS SELECT CUSTOMER, NAME FROM ORDERS O LEFT JOIN CUSTOMERS U ON O.CUSTOMER = U.ID;"
    join = world.step(StreamTableJoin, text)
    assert join.kind is JoinKind.LEFT
    rekeyed = world.step(StreamSelectKey, text)
    assert rekeyed.context == ("LeftSourceKeyed",)
    assert [format_expression(key) for key in rekeyed.keys] == ["CUSTOMER"]


def test_sides_with_other_key_formats_are_repartitioned(world: Any) -> None:
    world.stream("OTHERS", {"ID": BIGINT}, {"V": STRING}, key_format="JSON")
    text = "CREATE STREAM X AS SELECT C.ID, V FROM CLICKS C JOIN OTHERS O WITHIN 1 DAY ON C.ID = O.ID;"
    rekeyed = world.step(StreamSelectKey, text)
    assert rekeyed.context == ("RightSourceKeyed",)
    assert rekeyed.formats.key.format.name == "KAFKA"
    world.table("NAMES", {"ID": BIGINT}, {"N": STRING}, key_format="JSON")
    table = "CREATE STREAM X AS SELECT C.ID, N FROM CLICKS C JOIN NAMES N ON C.ID = N.ID;"
    assert world.step(TableSelectKey, table).context == ("RightSourceKeyed",)


def test_the_side_that_is_not_repartitioned_chooses_the_key_format(world: Any) -> None:
    world.stream("OTHERS", {"ID": BIGINT}, {"V": STRING}, key_format="JSON")
    text = "CREATE STREAM X AS SELECT O.ID, V FROM ORDERS R JOIN OTHERS O WITHIN 1 DAY ON R.CUSTOMER = O.ID;"
    assert world.step(StreamSelectKey, text).formats.key.format.name == "JSON"
    assert world.step(StreamStreamJoin, text).left_formats.key.format.name == "JSON"


def test_full_joins_have_a_key_of_their_own(world: Any) -> None:
    text = "CREATE STREAM X AS SELECT {} FROM ORDERS O FULL OUTER JOIN CLICKS C WITHIN 1 DAY ON O.ID = C.ID;"
    assert world.columns(text.format("ROWKEY, O.ID, C.ID")) == "ROWKEY BIGINT KEY, O_ID BIGINT, C_ID BIGINT"
    assert world.columns(text.format("*")).startswith("ROWKEY BIGINT KEY, O_ID BIGINT, O_CUSTOMER BIGINT")
    join = world.step(StreamStreamJoin, text.format("ROWKEY AS K, PAGE"))
    assert join.key_column == "ROWKEY"
    assert join.schema.value[-1].name == "ROWKEY"
    with pytest.raises(SqlError, match="ROWKEY was added as a synthetic key column"):
        world.plan(text.format("O.ID, PAGE"))
    with pytest.raises(SqlError, match="Unknown column ROWKEY_9"):
        world.plan(text.format("ROWKEY, ROWKEY_9, PAGE"))


def test_keys_made_inside_several_joins_cannot_be_selected(world: Any) -> None:
    with pytest.raises(SqlError, match="Column 'ROWKEY' cannot be resolved"):
        world.plan(
            "CREATE STREAM X AS SELECT U.ID, ROWKEY FROM ORDERS O FULL OUTER JOIN CLICKS C WITHIN 1 DAY ON O.ID = C.ID "
            "LEFT JOIN CUSTOMERS U ON O.CUSTOMER = U.ID;"
        )


def test_joins_on_expressions_have_a_key_of_their_own(world: Any) -> None:
    text = "CREATE STREAM X AS SELECT ROWKEY, PAGE FROM ORDERS O JOIN CLICKS C WITHIN 1 DAY ON ABS(O.ID) = C.ID + 1;"
    assert world.columns(text) == "ROWKEY BIGINT KEY, PAGE STRING"


def test_tables_are_joined_on_their_keys(world: Any) -> None:
    world.table("SCORES", {"ID": BIGINT}, {"S": INTEGER})
    join = world.step(TableTableJoin, "CREATE TABLE X AS SELECT U.ID, S FROM CUSTOMERS U JOIN SCORES S ON U.ID = S.ID;")
    assert join.key_column == "U_ID"


@pytest.mark.parametrize("criteria", ["U.REGION = R.RID", "R.RID = U.REGION"])
def test_tables_are_joined_on_foreign_keys(world: Any, criteria: str) -> None:
    text = f"CREATE TABLE X AS SELECT ID, TITLE FROM CUSTOMERS U JOIN REGIONS R ON {criteria};"
    assert world.columns(text) == "ID BIGINT KEY, TITLE STRING"
    assert format_expression(world.step(ForeignKeyJoin, text).foreign_key) == "U_REGION"


def test_foreign_keys_may_be_expressions(world: Any) -> None:
    text = "CREATE TABLE X AS SELECT ID, TITLE FROM CUSTOMERS U LEFT JOIN REGIONS R ON U.REGION + 1 = R.RID;"
    assert format_expression(world.step(ForeignKeyJoin, text).foreign_key) == "(U_REGION + 1)"


def test_a_foreign_key_join_can_be_joined_on(world: Any) -> None:
    world.table("SCORES", {"ID": BIGINT}, {"S": INTEGER})
    text = (
        "CREATE TABLE X AS SELECT U.ID, TITLE, S FROM CUSTOMERS U "
        "JOIN REGIONS R ON U.REGION = R.RID LEFT JOIN SCORES S ON U.ID = S.ID;"
    )
    assert world.columns(text) == "U_ID BIGINT KEY, TITLE STRING, S INTEGER"
    assert world.step(ForeignKeyJoin, text).context == ("L_Join",)
    assert world.step(TableTableJoin, text).context == ("Join",)


def test_several_joins(world: Any) -> None:
    world.table("SCORES", {"ID": BIGINT}, {"S": INTEGER})
    text = (
        "CREATE STREAM X AS SELECT {} FROM CLICKS C JOIN CUSTOMERS U ON C.ID = U.ID "
        "JOIN SCORES S ON {} LEFT JOIN REGIONS R ON R.RID = U.REGION;"
    )
    columns = world.columns(text.format("R.RID, NAME, S, TITLE", "S.ID = U.ID"))
    assert columns == "RID INTEGER KEY, NAME STRING, S INTEGER, TITLE STRING"
    joins = [
        step for step in world.steps(text.format("R.RID, NAME", "C.ID = S.ID")) if isinstance(step, StreamTableJoin)
    ]
    assert [join.context for join in joins] == [("Join",), ("L_Join",), ("L_L_Join",)]
    rekeyed = world.step(StreamSelectKey, text.format("U.REGION, NAME", "C.ID = S.ID"))
    assert [format_expression(key) for key in rekeyed.keys] == ["U_REGION"]


def test_windowed_sources_are_joined_as_they_are(world: Any) -> None:
    world.stream("MORE", {"ID": BIGINT}, {"M": INTEGER}, window=world.catalogue.get("VISITS").window)
    planned = world.plan("CREATE STREAM X AS SELECT V.ID, M FROM VISITS V JOIN MORE M WITHIN 1 DAY ON V.ID = M.ID;")
    assert planned.sink.window == world.catalogue.get("VISITS").window


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "* FROM CLICKS JOIN CLICKS C ON CLICKS.ID = C.ID",
            "Can not join 'CLICKS' to 'CLICKS': self joins are not yet",
        ),
        (
            "* FROM CLICKS C JOIN CUSTOMERS U ON C.ID = U.ID JOIN CUSTOMERS V ON C.ID = V.ID",
            "N-way joins do not support multiple occurrences of the same source. Source: 'CUSTOMERS'.",
        ),
        ("* FROM CLICKS C JOIN CUSTOMERS C ON C.ID = C.ID", "The name `C` stands for more than one source."),
        ("PAGE FROM CLICKS C JOIN CUSTOMERS U ON C.ID = U.ID", "must include the join expressions C.ID or U.ID in its"),
        ("ID FROM CLICKS C JOIN CUSTOMERS U ON C.ID = U.ID", "Column 'ID' is ambiguous. Could be C.ID or U.ID."),
        ("* FROM CLICKS C JOIN CUSTOMERS U ON C.ID > U.ID", "Only equality join criteria is supported."),
        ("* FROM CLICKS C JOIN CUSTOMERS U ON C.ID", "Unsupported join expression: C.ID"),
        (
            "* FROM CLICKS C JOIN CUSTOMERS U ON C.ID = U.ID AND C.PAGE = U.NAME",
            "Invalid join condition: joins on multiple conditions are not yet supported. Got ((C.ID = U.ID) AND",
        ),
        ("* FROM CLICKS C JOIN CUSTOMERS U ON C.ID = 0", "Invalid comparison expression '0' in join '(C.ID = 0)'."),
        ("* FROM CLICKS C JOIN CUSTOMERS U ON C.ID = C.AMOUNT", "and not the same source. Left side references `C`"),
        ("* FROM CLICKS C JOIN CUSTOMERS U ON C.NOPE = U.ID", "JOIN ON column 'C.NOPE' cannot be resolved."),
        ("* FROM CLICKS C JOIN CUSTOMERS U ON C.PAGE = U.ID", "Invalid join. Key types differ: STRING vs BIGINT"),
        (
            "* FROM CLICKS C JOIN CUSTOMERS U ON C.PAGE = U.NAME",
            "require to join on the table's primary key. Got C.PAGE =",
        ),
        (
            "* FROM CLICKS C FULL JOIN CUSTOMERS U ON C.ID = U.ID",
            "full-outer join not supported for stream-table join. Got CL",
        ),
        ("* FROM CLICKS C RIGHT JOIN CUSTOMERS U ON C.ID = U.ID", "Invalid join type encountered: RIGHT [OUTER] JOIN"),
        ("* FROM CLICKS C JOIN ORDERS O ON C.ID = O.ID", "Stream-Stream joins must have a WITHIN clause specified."),
        (
            "* FROM CLICKS C JOIN CUSTOMERS U WITHIN 1 DAY ON C.ID = U.ID",
            "A window definition was provided for a Stream-Table",
        ),
        (
            "* FROM CUSTOMERS U JOIN CLICKS C ON C.ID = U.ID",
            "table-stream joins are not supported; only stream-table joins. Got CUS",
        ),
        (
            "* FROM CUSTOMERS U JOIN REGIONS R ON U.NAME = R.TITLE",
            "the primary key of the right input table. Got U.NAME = R.TITLE.",
        ),
        (
            "* FROM CUSTOMERS U JOIN REGIONS R ON U.NAME = R.RID",
            "types don't match. Got U.NAME{STRING} = R.RID{INTEGER}.",
        ),
        (
            "* FROM CUSTOMERS U JOIN REGIONS R ON R.RID = U.NAME",
            "types don't match. Got R.RID{INTEGER} = U.NAME{STRING}.",
        ),
        ("* FROM CUSTOMERS U FULL JOIN REGIONS R ON U.REGION = R.RID", "full-outer join not supported for foreign-key"),
        (
            "* FROM CUSTOMERS U RIGHT JOIN REGIONS R ON U.REGION = R.RID",
            "RIGHT OUTER JOIN on a foreign key is not supported",
        ),
        ("TITLE FROM CUSTOMERS U JOIN REGIONS R ON U.REGION = R.RID", "Primary key column missing in projection."),
        ("* FROM PAIRS P JOIN REGIONS R ON P.K1 = R.RID WHERE X = 1", "WHERE column 'X' cannot be resolved."),
        (
            "* FROM CLICKS C JOIN VISITS V WITHIN 1 DAY ON C.ID = V.ID",
            "Can not join windowed source to non-windowed source.\n`C` is not",
        ),
        (
            "* FROM STAYS S JOIN VISITS V WITHIN 1 DAY ON S.ID = V.ID",
            "Incompatible windowed sources.\nLeft source: SESSION",
        ),
        ("* FROM STAYS S JOIN VISITS V WITHIN 1 DAY ON S.N = V.N", "Incompatible windowed sources."),
    ],
)
def test_what_is_refused(world: Any, query: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        world.plan(f"CREATE STREAM X AS SELECT {query};")
    assert message in caught.value.primary


def test_foreign_keys_come_first(world: Any) -> None:
    world.table("SCORES", {"ID": BIGINT}, {"S": INTEGER})
    with pytest.raises(SqlError, match="foreign-key table-table joins are not supported as part of n-way joins"):
        world.plan(
            "CREATE TABLE X AS SELECT * FROM CUSTOMERS U JOIN SCORES S ON U.ID = S.ID "
            "JOIN REGIONS R ON U.REGION = R.RID;"
        )


def test_partitions_must_match_unless_the_key_is_foreign(world: Any) -> None:
    world.partitions = {"customers": 2}
    with pytest.raises(SqlError, match="Can't join `C` with `U` since the number of partitions don't match"):
        world.plan("CREATE STREAM X AS SELECT * FROM CLICKS C JOIN CUSTOMERS U ON C.ID = U.ID;")
    world.plan("CREATE TABLE X AS SELECT * FROM CUSTOMERS U JOIN REGIONS R ON U.REGION = R.RID;")
