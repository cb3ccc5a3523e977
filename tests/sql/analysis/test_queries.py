"""Pull and push queries."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.errors import SqlError


def test_all_that_is_selected_is_part_of_the_row(world: Any) -> None:
    planned = world.plan("SELECT PAGE, ID FROM CLICKS EMIT CHANGES LIMIT 3;")
    assert str(planned.schema) == "`ID` BIGINT KEY, `PAGE` STRING, `ID` BIGINT"
    assert planned.limit == 3
    assert planned.plan.sink is planned.sink is None


def test_push_queries_need_neither_keys_nor_groups(world: Any) -> None:
    assert world.columns("SELECT PAGE FROM CLICKS EMIT CHANGES;") == "ID BIGINT KEY, PAGE STRING"
    assert world.columns("SELECT COUNT(*) AS N FROM CLICKS EMIT CHANGES;") == "KSQL_COL_0 BYTES KEY, N BIGINT"
    assert world.columns("SELECT ROWTIME FROM CLICKS EMIT CHANGES;") == "ID BIGINT KEY, ROWTIME BIGINT"


def test_windowed_tables_can_be_looked_at(world: Any) -> None:
    assert world.columns("SELECT * FROM COUNTS;") == (
        "ID BIGINT KEY, ID BIGINT, WINDOWSTART BIGINT, WINDOWEND BIGINT, N INTEGER"
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM CLICKS C JOIN CUSTOMERS U ON C.ID = U.ID;", "Pull queries don't support JOIN clauses."),
        ("SELECT PAGE, COUNT(*) FROM CLICKS GROUP BY PAGE;", "Pull queries don't support GROUP BY clauses."),
        ("SELECT * FROM CLICKS PARTITION BY PAGE;", "Pull queries don't support PARTITION BY clauses."),
        (
            "SELECT ROWOFFSET FROM CLICKS;",
            "Pull queries don't support the following columns in SELECT clauses: `ROWOFFSET`",
        ),
        (
            "SELECT * FROM CLICKS WHERE ROWPARTITION = 1;",
            "don't support the following columns in WHERE clauses: `ROWPARTITION`",
        ),
        ("SELECT NOPE FROM CLICKS;", "SELECT column 'NOPE' cannot be resolved."),
    ],
)
def test_what_pull_queries_may_not_do(world: Any, query: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        world.plan(query)
    assert message in caught.value.primary


def test_limits_can_be_turned_off(world: Any) -> None:
    world.settings = world.settings.with_override("ksql.query.pull.limit.clause.enabled", "false")
    with pytest.raises(SqlError, match="LIMIT clause in pull queries is currently disabled"):
        world.plan("SELECT * FROM CUSTOMERS LIMIT 1;")
