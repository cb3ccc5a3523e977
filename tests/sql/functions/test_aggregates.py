"""Aggregates: what they give, what they keep, and that they change nothing they were given."""

from __future__ import annotations

import copy
import math
from decimal import Decimal
from typing import Any

import cloudpickle
import pytest

from millstream.sql.errors import FunctionError, SqlError
from millstream.sql.functions.model import AggregateCall
from millstream.sql.functions.registry import default_registry
from millstream.sql.schema.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    SqlArray,
    SqlDecimal,
    SqlType,
)

REGISTRY = default_registry()
Rows = list[tuple[Any, ...]]


def call(name: str, *types: SqlType, constants: tuple[Any, ...] = (), **config: Any) -> AggregateCall:
    """An aggregate, settled."""
    factory = REGISTRY.aggregate(name)
    assert factory is not None
    of_constants = [BOOLEAN if isinstance(constant, bool) else INTEGER for constant in constants]
    return factory.resolve([*types, *of_constants], constants, config.get("config", {}))


def result(aggregate: AggregateCall, state: Any) -> Any:
    return state if aggregate.result is None else aggregate.result(state)


def steps(aggregate: AggregateCall, rows: Rows) -> list[Any]:
    """The aggregates after each row, the first of nothing; none may have been changed later."""
    states = [aggregate.initialize()]
    copies = [copy.deepcopy(states[0])]
    for row in rows:
        states.append(aggregate.aggregate(states[-1], *row))
        copies.append(copy.deepcopy(states[-1]))
    assert states == copies
    return states


CASES: list[tuple[AggregateCall, Rows, Any]] = [
    (call("count", STRING), [("a",), (None,), ("b",)], 2),
    (call("count"), [(), ()], 2),
    (call("sum", INTEGER), [(1,), (None,), (2,)], 3),
    (call("sum", INTEGER), [(2**31 - 1,), (1,)], -(2**31)),
    (call("sum", BIGINT), [(2**63 - 1,), (1,)], -(2**63)),
    (call("sum", DOUBLE), [(0.5,), (1.0,)], 1.5),
    (call("sum", SqlDecimal(4, 2)), [(Decimal("1.10"),), (None,), (Decimal("2.25"),)], Decimal("3.35")),
    (call("sum_list", SqlArray(BIGINT)), [([1, None, 2],), (None,), ([3],)], 6),
    (call("sum_list", SqlArray(DOUBLE)), [([0.5],), ([],)], 0.5),
    (call("avg", INTEGER), [(1,), (None,), (4,)], 2.5),
    (call("avg", DOUBLE), [], 0.0),
    (call("max", STRING), [("b",), ("a",), (None,)], "b"),
    (call("min", DATE), [(3,), (None,), (2,)], 2),
    (call("max", DOUBLE), [(1.0,), (math.nan,), (2.0,)], math.nan),
    (call("min", BYTES), [(b"\x01",), (b"\xff",)], b"\xff"),
    (call("min", INTEGER), [], None),
    (call("collect_list", INTEGER), [(1,), (None,), (1,)], [1, None, 1]),
    (call("collect_set", INTEGER), [(1,), (None,), (1,), (2,)], [1, None, 2]),
    (call("collect_set", SqlArray(INTEGER)), [([1],), ([1],)], [[1]]),
    (call("histogram", STRING), [("a",), ("b",), ("a",)], {"a": 2, "b": 1}),
    (call("attr", STRING), [("a",), ("a",)], "a"),
    (call("attr", STRING), [("a",), ("b",)], None),
    (call("earliest_by_offset", STRING), [(None,), ("a",), ("b",)], "a"),
    (call("earliest_by_offset", STRING, constants=(False,)), [(None,), ("a",)], None),
    (call("earliest_by_offset", STRING, constants=(2,)), [(None,), ("a",), ("b",), ("c",)], ["a", "b"]),
    (call("earliest_by_offset", STRING, constants=(2, False)), [(None,), ("a",), ("b",)], [None, "a"]),
    (call("latest_by_offset", STRING), [("a",), ("b",), (None,)], "b"),
    (call("latest_by_offset", STRING, constants=(False,)), [("a",), (None,)], None),
    (call("latest_by_offset", STRING, constants=(2,)), [("a",), ("b",), ("c",), (None,)], ["b", "c"]),
    (call("latest_by_offset", STRING, constants=(2, False)), [("a",), ("b",), (None,)], ["b", None]),
    (call("topk", INTEGER, constants=(2,)), [(1,), (3,), (None,), (2,), (3,)], [3, 3]),
    (call("topkdistinct", STRING, constants=(2,)), [("a",), ("c",), ("c",), ("b",)], ["c", "b"]),
    (
        call("topk", INTEGER, STRING, constants=(2,)),
        [(1, "a"), (3, "b"), (3, None), (None, "x")],
        [(3, "b"), (3, None)],
    ),
    (call("stddev_sample", INTEGER), [(2,), (None,), (4,)], math.sqrt(2)),
    (call("stddev_samp", DOUBLE), [(10.0,), (12.0,), (13.0,)], 7 / 3),
    (call("stddev_sample", BIGINT), [(5,)], 0.0),
    (call("correlation", INTEGER, INTEGER), [(1, 2), (2, 4), (None, 1), (3, 6)], 1.0),
    (call("correlation", DOUBLE, DOUBLE), [(1.0, 2.0)], math.nan),
    (call("count_distinct", STRING), [("a",), ("b",), (None,), ("a",)], 2),
    (call("count_distinct", DOUBLE), [(1.5,), (-1.5,)], 2),
]


@pytest.mark.parametrize(("aggregate", "rows", "expected"), CASES)
def test_results(aggregate: AggregateCall, rows: Rows, expected: Any) -> None:
    assert (
        result(aggregate, steps(aggregate, rows)[-1]) == pytest.approx(expected, nan_ok=True)
        if isinstance(expected, float)
        else result(aggregate, steps(aggregate, rows)[-1]) == expected
    )


@pytest.mark.parametrize(("aggregate", "rows", "expected"), CASES)
def test_what_is_aggregated_apart_is_merged(aggregate: AggregateCall, rows: Rows, expected: Any) -> None:
    for cut in range(len(rows) + 1):
        one = steps(aggregate, rows[:cut])[-1]
        other = steps(aggregate, rows[cut:])[-1]
        kept = copy.deepcopy((one, other))
        merged = result(aggregate, aggregate.merge(one, other))
        assert (one, other) == kept
        assert merged == pytest.approx(expected, nan_ok=True) if isinstance(expected, float) else merged == expected


UNDOABLE = [
    "count",
    "sum",
    "sum_list",
    "avg",
    "collect_list",
    "histogram",
    "attr",
    "stddev_sample",
    "stddev_samp",
    "correlation",
]


def test_which_can_be_taken_back() -> None:
    found = {
        description.name.lower()
        for description in REGISTRY.describe()
        if description.kind == "AGGREGATE" and _undo_of(description.name) is not None
    }
    assert found == set(UNDOABLE)


def _undo_of(name: str) -> Any:
    arguments: dict[str, tuple[Any, ...]] = {
        "SUM_LIST": (SqlArray(INTEGER),),
        "HISTOGRAM": (STRING,),
        "CORRELATION": (INTEGER, INTEGER),
    }
    constants = (2,) if name.startswith("TOPK") else ()
    return call(name, *arguments.get(name, (INTEGER,)), constants=constants).undo


@pytest.mark.parametrize(("aggregate", "rows", "expected"), [case for case in CASES if case[0].undo is not None])
def test_what_is_taken_back_was_never_there(aggregate: AggregateCall, rows: Rows, expected: Any) -> None:
    assert aggregate.undo is not None
    state = aggregate.initialize()
    extra = rows[:1] or [(1,) * aggregate.columns]
    for row in [*extra, *rows]:
        state = aggregate.aggregate(state, *row)
    kept = copy.deepcopy(state)
    undone = aggregate.undo(state, *extra[0])
    assert state == kept
    got, wanted = result(aggregate, undone), result(aggregate, steps(aggregate, rows)[-1])
    if isinstance(wanted, list):
        got, wanted = sorted(got, key=str), sorted(wanted, key=str)
    assert got == pytest.approx(wanted, nan_ok=True) if isinstance(wanted, float) else got == wanted


@pytest.mark.parametrize(
    ("aggregate", "state", "returns"),
    [
        (call("avg", INTEGER), "STRUCT<`SUM` INTEGER, `COUNT` BIGINT>", "DOUBLE"),
        (call("stddev_sample", BIGINT), "STRUCT<`SUM` BIGINT, `COUNT` BIGINT, `M2` DOUBLE>", "DOUBLE"),
        (call("count_distinct", STRING), "ARRAY<INTEGER>", "BIGINT"),
        (call("attr", STRING), "ARRAY<STRUCT<`VALUE` STRING, `COUNT` INTEGER>>", "STRING"),
        (call("latest_by_offset", STRING), "STRUCT<`SEQ` BIGINT, `VAL` STRING>", "STRING"),
        (
            call("earliest_by_offset", STRING, constants=(1,)),
            "ARRAY<STRUCT<`SEQ` BIGINT, `VAL` STRING>>",
            "ARRAY<STRING>",
        ),
        (call("histogram", STRING), "MAP<STRING, BIGINT>", "MAP<STRING, BIGINT>"),
        (call("sum", SqlDecimal(4, 2)), "DECIMAL(4, 2)", "DECIMAL(4, 2)"),
        (call("topkdistinct", SqlDecimal(4, 2), constants=(1,)), "ARRAY<DECIMAL(4, 2)>", "ARRAY<DECIMAL(4, 2)>"),
        (
            call("topk", BIGINT, STRING, DATE, constants=(1,)),
            "ARRAY<STRUCT<`sort_col` BIGINT, `col0` STRING, `col1` DATE>>",
            "ARRAY<STRUCT<`sort_col` BIGINT, `col0` STRING, `col1` DATE>>",
        ),
    ],
)
def test_types(aggregate: AggregateCall, state: str, returns: str) -> None:
    assert (str(aggregate.state), str(aggregate.returns)) == (state, returns)


@pytest.mark.parametrize("name", ["collect_list", "collect_set"])
@pytest.mark.parametrize(("limit", "expected"), [(2, [1, 2]), ("2", [1, 2]), (0, []), (-1, [1, 2, 3])])
def test_limits(name: str, limit: Any, expected: list[int]) -> None:
    aggregate = call(name, INTEGER, config={f"ksql.functions.{name}.limit": limit})
    state = steps(aggregate, [(1,), (2,), (3,)])[-1]
    assert state == expected
    assert aggregate.merge([1, 2, 3][: len(expected)], [4])[: len(expected)] == expected
    if aggregate.undo is not None:
        assert aggregate.undo(expected, 9) == expected


def test_a_histogram_stops_at_a_thousand() -> None:
    aggregate = call("histogram", STRING)
    full = {str(number): 1 for number in range(1000)}
    assert aggregate.aggregate(full, "new") == full
    assert aggregate.aggregate(full, "5")["5"] == 2
    assert len(aggregate.merge(full, {"new": 1, "5": 1})) == 1000
    assert aggregate.undo is not None
    assert "5" not in aggregate.undo(full, "5")


def test_a_sum_beyond_its_type() -> None:
    aggregate = call("sum", SqlDecimal(4, 2))
    with pytest.raises(FunctionError, match="Numeric field overflow"):
        aggregate.aggregate(Decimal("99.99"), Decimal("0.01"))


def test_decimals_of_many_digits_are_exact() -> None:
    aggregate = call("sum", SqlDecimal(38, 10))
    large = Decimal("1234567890123456789012345678.0000000001")
    assert aggregate.aggregate(large, Decimal("0.0000000001")) == Decimal("1234567890123456789012345678.0000000002")


@pytest.mark.parametrize("name", ["earliest_by_offset", "latest_by_offset"])
def test_how_many_must_be_one_at_least(name: str) -> None:
    with pytest.raises(SqlError, match="must be 1 or greater"):
        call(name, STRING, constants=(0,))


@pytest.mark.parametrize("values", [range(1000), [f"value {number}" for number in range(20_000)]])
def test_many_distinct_values_are_counted_roughly(values: Any) -> None:
    aggregate = call("count_distinct", STRING)
    state = aggregate.initialize()
    for value in values:
        state = aggregate.aggregate(state, value)
    assert result(aggregate, state) == pytest.approx(len(values), rel=0.03)
    assert aggregate.merge(state, state) == state
    assert all(0 <= word < 2**30 for word in state)


def test_aggregates_travel() -> None:
    for aggregate, rows, expected in CASES[:5]:
        sent: AggregateCall = cloudpickle.loads(cloudpickle.dumps(aggregate))
        assert result(sent, steps(sent, rows)[-1]) == expected
