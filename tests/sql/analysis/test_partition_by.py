"""PARTITION BY: new keys."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import StreamSelectKey
from millstream.sql.tree.format import format_expression


@pytest.mark.parametrize(
    ("select", "keys", "columns"),
    [
        ("*", "AMOUNT", "AMOUNT INTEGER KEY, PAGE STRING, ID BIGINT"),
        ("*", "ID", "ID BIGINT KEY, PAGE STRING, AMOUNT INTEGER"),
        ("*", "AMOUNT + 1", "KSQL_COL_0 INTEGER KEY, PAGE STRING, AMOUNT INTEGER, ID BIGINT"),
        ("AMOUNT + 1 AS N, PAGE", "AMOUNT + 1", "N INTEGER KEY, PAGE STRING"),
        ("PAGE AS P, ID", "PAGE", "P STRING KEY, ID BIGINT"),
        ("*", "NULL", "PAGE STRING, AMOUNT INTEGER, ID BIGINT"),
    ],
)
def test_columns_of_the_result(world: Any, select: str, keys: str, columns: str) -> None:
    assert world.columns(f"CREATE STREAM X AS SELECT {select} FROM CLICKS PARTITION BY {keys};") == columns


def test_several_columns(world: Any) -> None:
    text = "CREATE STREAM X AS SELECT AMOUNT, PAGE, ID FROM CLICKS PARTITION BY PAGE, AMOUNT;"
    assert world.columns(text, key_format="JSON") == "PAGE STRING KEY, AMOUNT INTEGER KEY, ID BIGINT"


def test_the_row_gets_keys_it_did_not_have(world: Any) -> None:
    step = world.step(StreamSelectKey, "CREATE STREAM X AS SELECT * FROM CLICKS PARTITION BY AMOUNT + 1;")
    assert step.context == ("PartitionBy",)
    assert [format_expression(key) for key in step.keys] == ["(AMOUNT + 1)"]
    assert [column.name for column in step.schema.value][-2:] == ["ID", "KSQL_COL_0"]


def test_nothing_is_done_for_the_key_that_is_there(world: Any) -> None:
    steps = world.steps("CREATE STREAM X AS SELECT * FROM CLICKS PARTITION BY ID;")
    assert not any(isinstance(step, StreamSelectKey) for step in steps)


def test_formats_that_cannot_hold_the_key_change_on_the_way(world: Any) -> None:
    text = "CREATE STREAM X AS SELECT * FROM ORDERS PARTITION BY ADDRESS;"
    step = world.step(StreamSelectKey, text, key_format="JSON")
    assert step.formats.key.format.name == "JSON"


def test_streams_without_key_have_no_key_format(world: Any) -> None:
    planned = world.plan("CREATE STREAM X AS SELECT * FROM CLICKS PARTITION BY NULL;")
    assert planned.sink.formats.key.format.name == "NONE"
    assert planned.sink.schema.key == ()


def test_streams_that_get_a_key_have_the_default_format(world: Any) -> None:
    planned = world.plan("CREATE STREAM X AS SELECT * FROM PLAIN PARTITION BY A;")
    assert planned.sink.formats.key.format.name == "KAFKA"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ID FROM CLICKS PARTITION BY PAGE", "must include the partitioning expression CLICKS.PAGE in its"),
        ("SELECT * FROM CLICKS PARTITION BY PAGE, NULL", "Cannot PARTITION BY multiple columns including NULL"),
        (
            "SELECT ID AS X, PAGE FROM CLICKS PARTITION BY X",
            "'X' must be a column in the source schema since PARTITION",
        ),
        (
            "SELECT PAGE, PAGE AS P2, ID FROM CLICKS PARTITION BY PAGE",
            "(`PAGE`) more than once, aliased as: P2 and PAGE.",
        ),
        ("SELECT * FROM PLAIN PARTITION BY M", "Map keys, including types that contain maps, are not supported"),
        ("SELECT * FROM CLICKS PARTITION BY PAGE, AMOUNT", "The 'KAFKA' format only supports a single field."),
        ("SELECT * FROM ORDERS PARTITION BY ADDRESS", "The 'KAFKA' format does not support type 'STRUCT'"),
        ("SELECT * FROM VISITS PARTITION BY N", "Implicit repartitioning of windowed sources is not supported."),
        ("SELECT * FROM CUSTOMERS PARTITION BY NAME", "Cannot repartition a TABLE source."),
    ],
)
def test_what_is_refused(world: Any, text: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        world.plan(f"CREATE STREAM X AS {text};")
    assert message in caught.value.primary


def test_no_format_for_no_key(world: Any) -> None:
    with pytest.raises(SqlError, match="Key format specified for stream without key columns"):
        world.plan("CREATE STREAM X AS SELECT * FROM CLICKS PARTITION BY NULL;", key_format="JSON")
