"""Functions of ARRAY and MAP, with and without lambdas, of NULL, and table functions."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.errors import FunctionError, SqlError
from millstream.sql.functions.model import LambdaArgument
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.schema.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)

Evaluate = Callable[..., Any]
INTS = SqlArray(INTEGER)
STRINGS = SqlArray(STRING)
LISTS = SqlArray(INTS)
MAP = SqlMap(STRING, INTEGER)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("array_length", [(INTS, [1, None])], 2),
        ("array_contains", [(INTS, [1, None]), (INTEGER, None)], True),
        ("array_contains", [(INTS, None), (INTEGER, 1)], False),
        ("array_contains", [(LISTS, [[1], [2]]), (INTS, [2])], True),
        ("array_distinct", [(INTS, [3, 1, None, 3, None])], [3, 1, None]),
        ("array_distinct", [(LISTS, [[1], [1], [2]])], [[1], [2]]),
        ("array_distinct", [(SqlArray(MAP), [{"a": 1}, {"a": 1}])], [{"a": 1}]),
        ("array_distinct", [(SqlArray(DOUBLE), [0.0, -0.0, 0.0])], [0.0, -0.0]),
        ("array_concat", [(INTS, [1]), (INTS, [1, 2])], [1, 1, 2]),
        ("array_concat", [(INTS, None), (INTS, [2])], [2]),
        ("array_concat", [(INTS, None), (INTS, None)], None),
        ("array_union", [(INTS, [2, 1, 2]), (INTS, [3, 1])], [2, 1, 3]),
        ("array_union", [(INTS, [2]), (INTS, None)], None),
        ("array_intersect", [(INTS, [3, 2, 1, 3]), (INTS, [1, 3])], [3, 1]),
        ("array_except", [(INTS, [3, 2, 1, 3]), (INTS, [1])], [3, 2]),
        ("array_remove", [(INTS, [1, None, 2, 1]), (INTEGER, 1)], [None, 2]),
        ("array_remove", [(INTS, [1, None]), (INTEGER, None)], [1]),
        ("array_join", [(SqlArray(DOUBLE), [1.0, None, 1e10])], "1.0,null,1.0E10"),
        ("array_join", [(SqlArray(BOOLEAN), [True, False]), (STRING, " + ")], "true + false"),
        ("array_join", [(STRINGS, ["a", "b"]), (STRING, None)], "ab"),
        ("array_max", [(INTS, [1, None, 3])], 3),
        ("array_max", [(INTS, [None])], None),
        ("array_min", [(STRINGS, ["b", "a"])], "a"),
        ("array_min", [(SqlArray(SqlDecimal(3, 1)), [Decimal("2.5"), Decimal("1.5")])], Decimal("1.5")),
        ("array_sort", [(INTS, [2, None, 1])], [1, 2, None]),
        ("array_sort", [(INTS, [2, None, 3]), (STRING, "descending")], [3, 2, None]),
        ("array_sort", [(INTS, [2]), (STRING, "sideways")], None),
        ("array_sort", [(SqlArray(BYTES), [b"\x01", b"\xff"])], [b"\xff", b"\x01"]),
        ("slice", [(INTS, [1, 2, 3]), (INTEGER, 2), (INTEGER, 3)], [2, 3]),
        ("slice", [(INTS, [1, 2, 3]), (INTEGER, None), (INTEGER, 1)], [1]),
        ("slice", [(INTS, [1, 2, 3]), (INTEGER, 2), (INTEGER, None)], [2, 3]),
        ("slice", [(INTS, [1, 2, 3]), (INTEGER, 2), (INTEGER, 4)], None),
        ("slice", [(INTS, [1, 2, 3]), (INTEGER, 0), (INTEGER, 1)], None),
        ("generate_series", [(INTEGER, 1), (INTEGER, 3)], [1, 2, 3]),
        ("generate_series", [(INTEGER, 3), (INTEGER, 1)], [3, 2, 1]),
        ("generate_series", [(BIGINT, 0), (BIGINT, 5), (INTEGER, 2)], [0, 2, 4]),
        ("as_map", [(STRINGS, ["a", "b"]), (INTS, [1])], {"a": 1, "b": None}),
        ("map_keys", [(MAP, {"a": 1, "b": 2})], ["a", "b"]),
        ("map_values", [(MAP, {"a": 1, "b": None})], [1, None]),
        ("map_union", [(MAP, {"a": 1, "b": 2}), (MAP, {"b": 3})], {"a": 1, "b": 3}),
        ("map_union", [(MAP, None), (MAP, {"b": 3})], {"b": 3}),
        ("map_union", [(MAP, None), (MAP, None)], None),
        ("entries", [(MAP, {"b": 2, "a": 1}), (BOOLEAN, True)], [("a", 1), ("b", 2)]),
        ("entries", [(MAP, {"one": 1, "two": 2}), (BOOLEAN, False)], [("two", 2), ("one", 1)]),
        ("coalesce", [(INTEGER, None), (INTEGER, 2), (INTEGER, 3)], 2),
        ("coalesce", [(INTEGER, None)], None),
        ("ifnull", [(STRING, None), (STRING, "x")], "x"),
        ("nullif", [(INTEGER, 1), (INTEGER, 1)], None),
        ("nullif", [(INTS, [1]), (INTS, [2])], [1]),
        ("as_value", [(STRING, "k")], "k"),
    ],
)
def test_collections(evaluate: Evaluate, name: str, arguments: list[Any], expected: Any) -> None:
    assert evaluate(name, *arguments) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("array_join", [(SqlArray(DATE), [1])], "currently not supported"),
        ("array_sort", [(LISTS, [[1], [2]])], "cannot be compared"),
        ("generate_series", [(INTEGER, 1), (INTEGER, 3), (INTEGER, 0)], "step cannot be zero"),
        ("generate_series", [(INTEGER, 1), (INTEGER, 3), (INTEGER, -1)], "step has wrong sign"),
        ("generate_series", [(BIGINT, 0), (BIGINT, 2**40)], "too long"),
    ],
)
def test_what_cannot_be(evaluate: Evaluate, name: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(FunctionError, match=message):
        evaluate(name, *arguments)


def test_arguments_stay_what_they_are(evaluate: Evaluate) -> None:
    array = [3, 1, 2]
    evaluate("array_sort", (INTS, array))
    evaluate("array_concat", (INTS, array), (INTS, [9]))
    assert array == [3, 1, 2]


def lambda_of(function: Callable[..., Any], returns: SqlType) -> tuple[Any, Any]:
    return LambdaArgument(function.__code__.co_argcount, lambda _: returns), function


def evaluate_lambda(registry: Registry, name: str, arguments: list[Any]) -> Any:
    call = registry.require_scalar(name).resolve([type_ for type_, _ in arguments], {})
    values = [value for _, value in arguments]
    return None if None in values and not call.pass_null else call.function(*values)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("transform", [(INTS, [1, 2]), lambda_of(lambda x: str(x), STRING)], ["1", "2"]),
        ("transform", [(INTS, None), lambda_of(lambda x: str(x), STRING)], None),
        (
            "transform",
            [(MAP, {"a": 1}), lambda_of(lambda k, v: k * 2, STRING), lambda_of(lambda k, v: v + 1, INTEGER)],
            {"aa": 2},
        ),
        ("filter", [(INTS, [1, 2, 3]), lambda_of(lambda x: x > 1, BOOLEAN)], [2, 3]),
        ("filter", [(MAP, {"a": 1, "b": 2}), lambda_of(lambda k, v: v > 1, BOOLEAN)], {"b": 2}),
        ("reduce", [(INTS, [1, 2]), (INTEGER, 10), lambda_of(lambda s, x: s + x, INTEGER)], 13),
        ("reduce", [(INTS, None), (INTEGER, 10), lambda_of(lambda s, x: s + x, INTEGER)], 10),
        ("reduce", [(INTS, [1]), (INTEGER, None), lambda_of(lambda s, x: s + x, INTEGER)], None),
        ("reduce", [(MAP, {"a": 1}), (STRING, ""), lambda_of(lambda s, k, v: s + k * v, STRING)], "a"),
    ],
)
def test_lambdas(registry: Registry, name: str, arguments: list[Any], expected: Any) -> None:
    assert evaluate_lambda(registry, name, arguments) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("filter", [(INTS, [1]), lambda_of(lambda x: None, BOOLEAN)], "gave NULL"),
        ("filter", [(MAP, {"a": None}), lambda_of(lambda k, v: True, BOOLEAN)], "without value"),
        (
            "transform",
            [(MAP, {"a": 1, "b": 2}), lambda_of(lambda k, v: "x", STRING), lambda_of(lambda k, v: v, INTEGER)],
            "Duplicate key x",
        ),
        (
            "transform",
            [(MAP, {"a": None}), lambda_of(lambda k, v: k, STRING), lambda_of(lambda k, v: v, INTEGER)],
            "No value for key a",
        ),
    ],
)
def test_lambdas_that_give_what_cannot_be(registry: Registry, name: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(FunctionError, match=message):
        evaluate_lambda(registry, name, arguments)


@pytest.mark.parametrize(
    ("name", "type_", "value", "rows", "row_type"),
    [
        ("explode", INTS, [1, None], [1, None], INTEGER),
        ("explode", INTS, None, [], INTEGER),
        ("explode", SqlArray(SqlDecimal(3, 1)), [Decimal("1.5")], [Decimal("1.5")], SqlDecimal(3, 1)),
        ("explode", SqlArray(SqlStruct((Field("A", STRING),))), [("x",)], [("x",)], SqlStruct((Field("A", STRING),))),
        ("cube_explode", INTS, [1, 2], [[None, None], [None, 2], [1, None], [1, 2]], INTS),
        ("cube_explode", INTS, [1, None], [[None, None], [1, None]], INTS),
        ("cube_explode", INTS, None, [], INTS),
    ],
)
def test_table_functions(name: str, type_: Any, value: Any, rows: list[Any], row_type: Any) -> None:
    factory = default_registry().table(name)
    assert factory is not None
    call = factory.resolve([type_], {})
    assert call.returns == row_type
    assert call.function(value) == rows


def test_a_map_cannot_be_exploded() -> None:
    factory = default_registry().table("explode")
    assert factory is not None
    with pytest.raises(SqlError, match="does not accept parameters"):
        factory.resolve([MAP], {})
