"""The functions that exist only in the tree of tests the cases come from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from millstream.sql.formats.numbers import double_to_text
from millstream.sql.functions.declare import AggregateContext, Aggregation, Declarations, ScalarContext
from millstream.sql.functions.registry import Registry
from millstream.sql.schema.types import SqlArray

FUNCTIONS = Declarations("TEST", author="Confluent")


def add_test_functions(registry: Registry) -> None:
    """Adds them to a registry."""
    registry.add(FUNCTIONS)


@FUNCTIONS.scalar("bad_udf", "(INTEGER arg1) -> STRING")
def blow_up(_: int) -> str:
    """Always fails."""
    raise RuntimeError("boom!")


@FUNCTIONS.scalar("bad_udf", "(BOOLEAN arg) -> INTEGER")
def might_fail(fail: bool) -> int:
    """Fails when told to."""
    if fail:
        raise RuntimeError("You asked me to throw...")
    return 0


@FUNCTIONS.scalar_factory("bad_udf", "(STRING arg) -> STRING", pass_null=True)
def null_every_other_time(_: ScalarContext) -> Callable[[str | None], str | None]:
    """NULL at the first, third, ... call."""
    return partial(_every_other, count())


def _every_other(calls: count[int], text: str | None) -> str | None:
    return text if next(calls) % 2 else None


@FUNCTIONS.scalar("test_udf", "(INTEGER arg1, STRING arg2) -> STRING", pass_null=True)
def integer_and_string(*_: Any) -> str:
    """The name of the variant."""
    return "doStuffIntString"


@FUNCTIONS.scalar("test_udf", "(BIGINT arg1, STRING arg2) -> STRING", pass_null=True)
def bigint_and_string(*_: Any) -> str:
    """The name of the variant."""
    return "doStuffLongString"


@FUNCTIONS.scalar("test_udf", "(BIGINT arg1, BIGINT arg2, STRING arg3) -> STRING", pass_null=True)
def bigints_and_string(*_: Any) -> str:
    """The name of the variant."""
    return "doStuffLongLongString"


@FUNCTIONS.scalar("test_udf", "(BIGINT... longs) -> STRING", pass_null=True)
def many_bigints(*_: Any) -> str:
    """The name of the variant."""
    return "doStuffLongVarargs"


@FUNCTIONS.scalar("test_udf", "(STRUCT<A STRING> struct) -> STRING")
def field_of_struct(struct: tuple[str | None]) -> str | None:
    """The field of the struct."""
    return struct[0]


@FUNCTIONS.scalar("test_udf", "() -> STRUCT<A STRING>")
def struct_of_foo() -> tuple[str]:
    """A struct."""
    return ("foo",)


@FUNCTIONS.scalar("toStruct", "(STRING value) -> STRUCT<A STRING>")
def to_struct(value: str) -> tuple[str]:
    """A struct of a text."""
    return (value,)


@FUNCTIONS.scalar("WhenCondition", "(BOOLEAN retValue, BOOLEAN shouldBeEvaluated) -> BOOLEAN")
def when_condition(result: bool, expected: bool) -> bool:
    """Fails when nobody should ask."""
    if not expected:
        raise RuntimeError("When condition in case is not running lazily!")
    return result


@FUNCTIONS.scalar("WhenResult", "(INTEGER retValue, BOOLEAN shouldBeEvaluated) -> INTEGER")
def when_result(result: int, expected: bool) -> int:
    """Fails when nobody should ask."""
    if not expected:
        raise RuntimeError("Then expression in case is not running lazily!")
    return result


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_to_text(value)
    return f"Struct{{A={value[0]}}}" if isinstance(value, tuple) else str(value)


_STRUCT = "STRUCT<A STRING>"


@FUNCTIONS.table_function(
    "test_udtf",
    f"(INTEGER i, BIGINT l, DOUBLE d, BOOLEAN b, STRING s, DECIMAL bd, {_STRUCT} struct) -> STRING",
)
def texts_of_values(*values: Any) -> list[str]:
    """Each argument as text."""
    return [_text(value) for value in values]


@FUNCTIONS.table_function(
    "test_udtf",
    "(ARRAY<INTEGER> i, ARRAY<BIGINT> l, ARRAY<DOUBLE> d, ARRAY<BOOLEAN> b, ARRAY<STRING> s, ARRAY<DECIMAL> bd, "
    f"ARRAY<{_STRUCT}> struct) -> STRING",
)
def texts_of_arrays(*values: list[Any]) -> list[str]:
    """The first element of each argument as text."""
    return [_text(value[0]) for value in values]


@FUNCTIONS.table_function(
    "test_udtf",
    *(
        f"(MAP<{key}, INTEGER> i, MAP<STRING, BIGINT> l, MAP<STRING, DOUBLE> d, MAP<STRING, BOOLEAN> b, "
        f"MAP<STRING, STRING> s, MAP<STRING, DECIMAL> bd, MAP<STRING, {_STRUCT}> struct) -> STRING"
        for key in ("STRING", "BIGINT")
    ),
)
def texts_of_maps(*values: dict[Any, Any]) -> list[str]:
    """The first value of each argument as text."""
    return [_text(next(iter(value.values()))) for value in values]


@FUNCTIONS.table_function(
    "test_udtf",
    "(INTEGER i) -> INTEGER",
    "(BIGINT l) -> BIGINT",
    "(DOUBLE d) -> DOUBLE",
    "(BOOLEAN b) -> BOOLEAN",
    "(STRING s) -> STRING",
    "(DECIMAL bd) -> DECIMAL(30, 10)",
    f"({_STRUCT} struct) -> {_STRUCT}",
)
def one_row(value: Any) -> list[Any]:
    """One row: the argument."""
    if value is None:
        raise ValueError("at index 0")
    return [value]


@FUNCTIONS.table_function("throwing_udtf", "(BOOLEAN shouldThrow) -> BOOLEAN")
def row_or_failure(fail: bool) -> list[bool]:
    """Fails when told to."""
    if fail:
        raise RuntimeError("You asked me to throw...")
    return [fail]


def _zero() -> int:
    return 0


def _add(total: Any, value: Any) -> Any:
    return total + value


def _subtract(total: Any, value: Any) -> Any:
    return total - value


def _constant(value: Any) -> Any:
    return value


@FUNCTIONS.aggregate("test_udaf", "(BIGINT val1) -> BIGINT", "(INTEGER val1) -> BIGINT")
def sum_whole(context: AggregateContext) -> Aggregation:
    """The sum."""
    start = int(context.config.get("ksql.functions.test_udaf.init", 0))
    return Aggregation(partial(_constant, start), _add, _add, undo=_subtract)


@FUNCTIONS.aggregate("test_udaf", "(DOUBLE val1) -> DOUBLE")
def sum_double(_: AggregateContext) -> Aggregation:
    """The sum."""
    return Aggregation(partial(_constant, 0.0), _add, _add)


@FUNCTIONS.aggregate("test_udaf", "(STRING val1; STRING initialString) -> BIGINT")
def sum_lengths(context: AggregateContext) -> Aggregation:
    """The sum of the lengths, and of that of the constant."""
    return Aggregation(partial(_constant, len(context.constants[0])), _add_length, _add)


def _add_length(total: int, text: str) -> int:
    return total + len(text)


@FUNCTIONS.aggregate("test_udaf", "(STRUCT<A INTEGER, B INTEGER> val1) -> STRUCT<A INTEGER, B INTEGER>")
def sum_fields(_: AggregateContext) -> Aggregation:
    """The sums of the fields."""
    return Aggregation(partial(_constant, (0, 0)), _add_fields, _add_fields)


def _add_fields(total: tuple[int, int], value: tuple[int, int]) -> tuple[int, int]:
    return total[0] + value[0], total[1] + value[1]


def _size(value: int | str | None) -> int:
    return 0 if value is None else len(value) if isinstance(value, str) else value


def _add_sizes(total: int, *values: int | str | None) -> int:
    return total + sum(map(_size, values))


@FUNCTIONS.aggregate("VAR_ARG", "(BIGINT val1, STRING... val2) -> BIGINT")
@FUNCTIONS.aggregate("MULTI_ARG", "(BIGINT val1, STRING val2; INTEGER init, STRING... inits) -> BIGINT")
@FUNCTIONS.aggregate(
    "FOUR_ARG", "(BIGINT val1, STRING val2, STRING val3, STRING val4; INTEGER init, STRING... inits) -> BIGINT"
)
@FUNCTIONS.aggregate(
    "FIVE_ARG",
    "(BIGINT val1, STRING val2, STRING val3, STRING val4, INTEGER val5; INTEGER init, STRING... inits) -> BIGINT",
)
def sum_sizes(context: AggregateContext) -> Aggregation:
    """The sum of numbers and of lengths of texts, those of the constants too."""
    return Aggregation(partial(_constant, _add_sizes(0, *context.constants)), _add_sizes, _add)


@FUNCTIONS.aggregate("MID_VAR_ARG", "(BIGINT val1, STRING... val2; INTEGER init1, INTEGER init2) -> BIGINT")
def sum_sizes_and_constants(context: AggregateContext) -> Aggregation:
    """The sum of numbers and of lengths of texts; the constants are added at the end."""
    return Aggregation(_zero, _add_sizes, _add, result=partial(_add, _add_sizes(0, *context.constants)))


@FUNCTIONS.aggregate("GENERIC_VAR_ARG", "(A val1, B val2, C... val3) -> ARRAY<A>")
@FUNCTIONS.aggregate("OBJ_COL_ARG", "(INTEGER val1, ANY... val2) -> ARRAY<INTEGER>")
def collect_complete(context: AggregateContext) -> Aggregation:
    """The first argument of all rows in which no argument is NULL."""
    return Aggregation(list, _collect, _add, returns=SqlArray(context.column))


def _collect(found: list[Any], *values: Any) -> list[Any]:
    return found if any(value is None for value in values) else [*found, values[0]]
