"""The functions of the original tests do what the notes of the cases say."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.conformance.functions import add_test_functions
from millstream.sql.functions.model import AggregateCall, Argument
from millstream.sql.functions.registry import Registry
from millstream.sql.schema.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, Field, SqlArray, SqlDecimal, SqlStruct


@pytest.fixture
def registry() -> Registry:
    """Only the functions of the tests."""
    functions = Registry()
    add_test_functions(functions)
    return functions


def scalar(registry: Registry, name: str, arguments: list[Argument], *values: Any) -> Any:
    return registry.require_scalar(name).resolve(arguments, {}).function(*values)


@pytest.mark.parametrize(
    ("arguments", "variant"),
    [
        ([INTEGER, STRING], "doStuffIntString"),
        ([BIGINT, None], "doStuffLongString"),
        ([INTEGER, INTEGER, STRING], "doStuffLongLongString"),
        ([BIGINT] * 5, "doStuffLongVarargs"),
        ([INTEGER], "doStuffLongVarargs"),
    ],
)
def test_udf_tells_its_variant(registry: Registry, arguments: list[Argument], variant: str) -> None:
    assert scalar(registry, "TEST_UDF", arguments, *[None] * len(arguments)) == variant


def test_structs(registry: Registry) -> None:
    struct = SqlStruct((Field("A", STRING),))
    assert scalar(registry, "TEST_UDF", [struct], ("x",)) == "x"
    assert scalar(registry, "TEST_UDF", []) == ("foo",)
    assert scalar(registry, "TOSTRUCT", [STRING], "x") == ("x",)
    assert registry.require_scalar("TOSTRUCT").resolve([STRING], {}).returns == struct


def test_functions_that_fail(registry: Registry) -> None:
    assert scalar(registry, "BAD_UDF", [BOOLEAN], False) == 0
    assert scalar(registry, "WHENRESULT", [INTEGER, BOOLEAN], 7, True) == 7
    assert scalar(registry, "WHENCONDITION", [BOOLEAN, BOOLEAN], False, True) is False
    for name, arguments, values in (
        ("BAD_UDF", [INTEGER], [1]),
        ("BAD_UDF", [BOOLEAN], [True]),
        ("WHENCONDITION", [BOOLEAN, BOOLEAN], [True, False]),
        ("WHENRESULT", [INTEGER, BOOLEAN], [1, False]),
    ):
        with pytest.raises(RuntimeError):
            scalar(registry, name, list(arguments), *values)


def test_null_every_other_time(registry: Registry) -> None:
    call = registry.require_scalar("BAD_UDF").resolve([STRING], {})
    assert [call.function("x") for _ in range(4)] == [None, "x", None, "x"]


def rows(registry: Registry, name: str, arguments: list[Argument], *values: Any) -> Any:
    factory = registry.table(name)
    assert factory is not None
    return factory.resolve(arguments, {}).function(*values)


def test_table_functions(registry: Registry) -> None:
    types: list[Argument] = [
        INTEGER,
        BIGINT,
        DOUBLE,
        BOOLEAN,
        STRING,
        SqlDecimal(4, 2),
        SqlStruct((Field("A", STRING),)),
    ]
    assert rows(registry, "TEST_UDTF", types, 1, 2, 3.1, True, "x", "1.50", ("y",)) == [
        "1",
        "2",
        "3.1",
        "true",
        "x",
        "1.50",
        "Struct{A=y}",
    ]
    assert rows(registry, "TEST_UDTF", [BOOLEAN], True) == [True]
    assert rows(registry, "THROWING_UDTF", [BOOLEAN], False) == [False]
    with pytest.raises(RuntimeError):
        rows(registry, "THROWING_UDTF", [BOOLEAN], True)


def aggregated(call: AggregateCall, *all_values: tuple[Any, ...]) -> Any:
    total = call.initialize()
    for values in all_values:
        total = call.aggregate(total, *values)
    return total if call.result is None else call.result(total)


@pytest.mark.parametrize(
    ("name", "arguments", "constants", "values", "expected"),
    [
        ("TEST_UDAF", [INTEGER], [], [(1,), (2,)], 3),
        ("TEST_UDAF", [DOUBLE], [], [(1.5,), (2.0,)], 3.5),
        ("TEST_UDAF", [STRING, STRING], ["abc"], [("de",)], 5),
        ("VAR_ARG", [BIGINT, STRING, STRING], [], [(1, "ab", None), (None, "", "c")], 4),
        ("VAR_ARG", [BIGINT], [], [(4,)], 4),
        ("MULTI_ARG", [BIGINT, STRING, INTEGER, STRING], [5, "x"], [(1, "ab")], 9),
        ("FOUR_ARG", [BIGINT, STRING, STRING, STRING, INTEGER], [5], [(1, "a", "b", None)], 8),
        ("FIVE_ARG", [BIGINT, STRING, STRING, STRING, INTEGER, INTEGER], [5], [(1, "a", "b", None, -3)], 5),
        ("MID_VAR_ARG", [BIGINT, STRING, INTEGER, INTEGER], [7, 3], [(1, "a"), (1, "a")], 14),
        ("OBJ_COL_ARG", [INTEGER, BOOLEAN, SqlArray(STRING)], [], [(1, True, []), (2, None, [])], [1]),
        ("GENERIC_VAR_ARG", [STRING, INTEGER, DOUBLE], [], [("a", 1, 1.0), ("b", 1, None)], ["a"]),
    ],
)
def test_aggregates(
    registry: Registry,
    name: str,
    arguments: list[Argument],
    constants: list[Any],
    values: list[tuple[Any, ...]],
    expected: Any,
) -> None:
    factory = registry.aggregate(name)
    assert factory is not None
    assert factory.constants(arguments) == len(constants)
    assert aggregated(factory.resolve(arguments, constants, {}), *values) == expected
