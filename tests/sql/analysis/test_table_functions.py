"""Table functions in a projection."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import StreamFlatMap, StreamSelect
from millstream.sql.tree.format import format_expression


def test_results_are_columns_of_the_row(world: Any) -> None:
    text = "CREATE STREAM X AS SELECT ID, EXPLODE(ITEMS) AS I, LEN(EXPLODE(ITEMS)) AS L FROM ORDERS;"
    assert world.columns(text) == "ID BIGINT KEY, I STRING, L INTEGER"
    step = world.step(StreamFlatMap, text)
    assert step.context == ("FlatMap",)
    assert [column.name for column in step.schema.value][-2:] == ["KSQL_SYNTH_0", "KSQL_SYNTH_1"]
    selected = [format_expression(column.expression) for column in world.step(StreamSelect, text).selected]
    assert selected == ["KSQL_SYNTH_0", "LEN(KSQL_SYNTH_1)"]


def test_star_leaves_them_out(world: Any) -> None:
    text = "CREATE STREAM X AS SELECT *, EXPLODE(ITEMS) AS I FROM ORDERS;"
    assert world.columns(text).endswith("ADDRESS STRUCT<STREET STRING, ZIP INTEGER>, I STRING")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("ID, EXPLODE(EXPLODE(ITEMS)) FROM ORDERS", "Table functions cannot be nested: `EXPLODE`(`EXPLODE`())"),
        ("ID, EXPLODE(ITEMS), COUNT(*) FROM ORDERS GROUP BY ID", "Table functions cannot be used with aggregations."),
        (
            "ID, CASE WHEN TRUE THEN EXPLODE(ITEMS) END FROM ORDERS",
            "Table functions cannot be used in CASE: (CASE WHEN",
        ),
        ("ID, EXPLODE(ARRAY[1]) FROM CUSTOMERS", "Table source is not supported with table functions"),
    ],
)
def test_what_is_refused(world: Any, query: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        world.plan(f"CREATE STREAM X AS SELECT {query};")
    assert message in caught.value.primary
