"""GROUP BY, aggregates, HAVING and windows."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import (
    StreamAggregate,
    StreamGroupBy,
    StreamSelect,
    TableAggregate,
    TableFilter,
    TableGroupBy,
    TableSelect,
)
from millstream.sql.schema.formats import Feature, WindowInfo, WindowType
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import Emit

_COUNT = "CREATE TABLE X AS SELECT PAGE, COUNT(*) AS N FROM CLICKS {window} GROUP BY PAGE {emit};"


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("PAGE, COUNT(*) FROM CLICKS GROUP BY PAGE", "PAGE STRING KEY, KSQL_COL_0 BIGINT"),
        ("PAGE AS P, SUM(AMOUNT) AS S FROM CLICKS GROUP BY PAGE", "P STRING KEY, S INTEGER"),
        ("ID, SUM(AMOUNT) AS S FROM CLICKS GROUP BY ID", "ID BIGINT KEY, S INTEGER"),
        ("AMOUNT + 1 AS G, MAX(ID) AS M FROM CLICKS GROUP BY AMOUNT + 1", "G INTEGER KEY, M BIGINT"),
        ("ADDRESS->ZIP, COUNT(*) AS N FROM ORDERS GROUP BY ADDRESS->ZIP", "ZIP INTEGER KEY, N BIGINT"),
        ("REGION, COUNT(NAME) AS N FROM CUSTOMERS GROUP BY REGION", "REGION INTEGER KEY, N BIGINT"),
    ],
)
def test_columns_of_the_result(world: Any, query: str, columns: str) -> None:
    assert world.columns(f"CREATE TABLE X AS SELECT {query};") == columns


def test_steps_of_an_aggregation(world: Any) -> None:
    text = (
        "CREATE TABLE X AS SELECT PAGE, SUM(AMOUNT + 1) AS S, COUNT(*) FROM CLICKS GROUP BY PAGE HAVING COUNT(*) > 1;"
    )
    contexts = [step.context for step in world.steps(text)]
    assert contexts[1:-1] == [
        ("Aggregate", step) for step in ("Project", "HavingFilter", "Aggregate", "GroupBy", "Prepare")
    ]
    prepared = world.step(StreamSelect, text)
    assert [column.name for column in prepared.selected] == ["PAGE", "AMOUNT", "ROWTIME", "KSQL_INTERNAL_COL_3"]
    aggregate = world.step(StreamAggregate, text)
    assert aggregate.required == ("PAGE", "AMOUNT", "ROWTIME")
    calls = [format_expression(call) for call in aggregate.aggregates]
    assert calls == ["SUM(KSQL_INTERNAL_COL_3)", "COUNT(ROWTIME)", "COUNT(ROWTIME)"]
    assert [column.name for column in aggregate.schema.value][3:] == [f"KSQL_AGG_VARIABLE_{n}" for n in range(3)]
    assert format_expression(world.step(TableFilter, text).condition) == "(KSQL_AGG_VARIABLE_2 > 1)"
    selected = {column.name: format_expression(column.expression) for column in world.step(TableSelect, text).selected}
    assert selected == {"S": "KSQL_AGG_VARIABLE_0", "KSQL_COL_0": "KSQL_AGG_VARIABLE_1"}


def test_constants_of_aggregates_stay_literals(world: Any) -> None:
    text = "CREATE TABLE X AS SELECT PAGE, TOPK(AMOUNT, 3) AS T FROM CLICKS GROUP BY PAGE;"
    (call,) = world.step(StreamAggregate, text).aggregates
    assert format_expression(call) == "TOPK(AMOUNT, 3)"


def test_the_key_that_is_there_needs_no_new_one(world: Any) -> None:
    group = world.step(StreamGroupBy, "CREATE TABLE X AS SELECT ID, COUNT(*) FROM CLICKS GROUP BY ID;")
    assert group.keys == ()
    assert group.formats.key.format.name == "KAFKA"


def test_keys_of_several_columns_are_json_on_the_way(world: Any) -> None:
    text = "CREATE TABLE X AS SELECT ID, PAGE, COUNT(*) AS N FROM CLICKS GROUP BY ID, PAGE;"
    formats = world.step(StreamGroupBy, text, key_format="JSON").formats
    assert formats.key.format.name == "JSON"
    assert formats.key.features == frozenset()
    one = "CREATE TABLE X AS SELECT ADDRESS, COUNT(*) AS N FROM ORDERS GROUP BY ADDRESS;"
    assert world.step(StreamGroupBy, one, key_format="JSON").formats.key.features == {Feature.UNWRAP_SINGLES}


def test_tables_are_grouped_and_undone(world: Any) -> None:
    text = "CREATE TABLE X AS SELECT REGION, COUNT(*) AS N FROM CUSTOMERS GROUP BY REGION;"
    assert [format_expression(key) for key in world.step(TableGroupBy, text).keys] == ["REGION"]
    assert world.step(TableAggregate, text).required == ("REGION", "ROWTIME")


@pytest.mark.parametrize(
    ("window", "info"),
    [
        ("TUMBLING (SIZE 1 SECOND)", WindowInfo(WindowType.TUMBLING, 1000)),
        ("HOPPING (SIZE 2 SECONDS, ADVANCE BY 1 SECOND)", WindowInfo(WindowType.HOPPING, 2000)),
        ("SESSION (5 SECONDS)", WindowInfo(WindowType.SESSION)),
    ],
)
def test_windows_are_part_of_the_key(world: Any, window: str, info: WindowInfo) -> None:
    planned = world.plan(_COUNT.format(window=f"WINDOW {window}", emit=""))
    assert planned.sink.window == planned.plan.window == info
    aggregate = world.step(StreamAggregate, _COUNT.format(window=f"WINDOW {window}", emit=""))
    assert [column.name for column in aggregate.schema.value][-2:] == ["WINDOWSTART", "WINDOWEND"]
    assert aggregate.emit is None


def test_final_results_wait_for_the_end_of_windows(world: Any) -> None:
    text = _COUNT.format(window="WINDOW TUMBLING (SIZE 1 SECOND)", emit="EMIT FINAL")
    aggregate = world.step(StreamAggregate, text)
    assert aggregate.emit is Emit.FINAL
    assert aggregate.window.grace.milliseconds == 0
    late = _COUNT.format(window="WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 3 SECONDS)", emit="EMIT FINAL")
    assert world.step(StreamAggregate, late).window.grace.milliseconds == 3000


def test_bounds_can_be_selected(world: Any) -> None:
    text = (
        "CREATE TABLE X AS SELECT PAGE, WINDOWSTART AS S, COUNT(*) AS N FROM CLICKS "
        "WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY PAGE;"
    )
    assert world.columns(text) == "PAGE STRING KEY, S BIGINT, N BIGINT"


def test_grouping_windowed_records_leaves_their_window(world: Any) -> None:
    planned = world.plan("CREATE TABLE X AS SELECT ID, COUNT(*) AS N FROM VISITS GROUP BY ID;")
    assert planned.sink.window is None
    assert world.step(StreamGroupBy, "CREATE TABLE X AS SELECT ID, COUNT(*) AS N FROM VISITS GROUP BY ID;").keys


def test_bounds_of_windowed_sources_are_columns(world: Any) -> None:
    text = "CREATE TABLE X AS SELECT WINDOWSTART AS S, MAX(WINDOWEND) AS E FROM VISITS GROUP BY WINDOWSTART;"
    assert world.columns(text) == "S BIGINT KEY, E BIGINT"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "PAGE FROM CLICKS GROUP BY PAGE",
            "GROUP BY requires aggregate functions in either the SELECT or HAVING clause.",
        ),
        (
            "PAGE, AMOUNT, COUNT(*) FROM CLICKS GROUP BY PAGE",
            "Non-aggregate SELECT expression(s) not part of GROUP BY: AMOUNT",
        ),
        ("PAGE, AMOUNT + COUNT(*) FROM CLICKS GROUP BY PAGE", "not part of GROUP BY: (AMOUNT + COUNT(*))"),
        (
            "PAGE, COUNT(*) FROM CLICKS GROUP BY PAGE HAVING AMOUNT > 1",
            "Non-aggregate HAVING expression not part of GROUP BY: AMOUNT",
        ),
        ("COUNT(*) FROM CLICKS GROUP BY PAGE", "must include the grouping expression PAGE in its projection"),
        (
            "COUNT(*) FROM CLICKS GROUP BY PAGE, ID",
            "must include the grouping expressions PAGE and ID in its projection",
        ),
        ("PAGE, PAGE AS P2, COUNT(*) FROM CLICKS GROUP BY PAGE", "a key column more than once: `PAGE` and `P2`."),
        ("PAGE, COUNT(*) FROM CLICKS GROUP BY PAGE, CLICKS.PAGE", "Duplicate GROUP BY expression: CLICKS.PAGE"),
        (
            "SUM(AMOUNT), COUNT(*) FROM CLICKS GROUP BY SUM(AMOUNT)",
            "does not support aggregate functions: SUM is an aggregate",
        ),
        ("PAGE, SUM(COUNT(*)) FROM CLICKS GROUP BY PAGE", "Aggregate functions can not be nested: SUM(COUNT())"),
        ("PAGE, WONT(ID) FROM CLICKS GROUP BY PAGE", "Can't find any functions with the name 'WONT'"),
        ("PAGE, COUNT(*) FROM CLICKS GROUP BY PAGE HAVING COUNT(*)", "Type error in HAVING expression"),
        ("PAGE, COUNT(*) FROM CLICKS GROUP BY PAGE HAVING NOPE = 1", "HAVING column 'NOPE' cannot be resolved."),
        ("COUNT(*) FROM CLICKS", "does not support aggregate function [COUNT(ROWTIME)] without a GROUP BY clause."),
        (
            "REGION, MIN(ID), MAX(ID) FROM CUSTOMERS GROUP BY REGION",
            "The aggregation functions MIN and MAX cannot be applied to a table",
        ),
        (
            "REGION, COUNT(*) FROM CUSTOMERS WINDOW TUMBLING (SIZE 1 DAY) GROUP BY REGION",
            "Windowing not supported for table aggregations.",
        ),
        (
            "PAGE, MAX(WINDOWSTART) FROM CLICKS WINDOW TUMBLING (SIZE 1 DAY) GROUP BY PAGE",
            "Window bounds column WINDOWSTART can only be used",
        ),
        (
            "PAGE, COUNT(*) FROM CLICKS WINDOW TUMBLING (SIZE 1 DAY) WHERE WINDOWEND > 1 GROUP BY PAGE",
            "Unknown column WINDOWEND.",
        ),
    ],
)
def test_what_is_refused(world: Any, query: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        world.plan(f"CREATE TABLE X AS SELECT {query};")
    assert message in caught.value.primary


def test_values_must_hold_what_aggregates_keep(world: Any) -> None:
    world.stream(
        "CSV",
        {"ID": world.catalogue.get("CLICKS").schema.find("ID").type},
        {"A": world.catalogue.get("CLICKS").schema.find("AMOUNT").type},
        value_format="DELIMITED",
    )
    with pytest.raises(SqlError, match="has an intermediate type that the value format can not handle"):
        world.plan("CREATE TABLE X AS SELECT ID, AVG(A) AS A FROM CSV GROUP BY ID;")


def test_kafka_values_cannot_be_grouped(world: Any) -> None:
    kind = world.catalogue.get("CLICKS").schema.find("ID").type
    world.stream("BARE", {"ID": kind}, {"A": kind}, value_format="KAFKA")
    with pytest.raises(SqlError, match="This format does not yet support GROUP BY"):
        world.plan("CREATE TABLE X AS SELECT ID, COUNT(*) FROM BARE GROUP BY ID;")
