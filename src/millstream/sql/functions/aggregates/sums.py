"""SUM, SUM_LIST and AVG."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, TypeAlias

from millstream.sql.errors import FunctionError
from millstream.sql.functions.aggregates.wrapping import wrap_for
from millstream.sql.functions.declare import AggregateContext, Aggregation, Declarations
from millstream.sql.schema.java_numbers import wrap_bigint, wrap_integer
from millstream.sql.schema.types import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    INT_MAX,
    INT_MIN,
    BaseType,
    Field,
    SqlArray,
    SqlDecimal,
    SqlStruct,
)

FUNCTIONS = Declarations("AGGREGATE")

_SumAndCount: TypeAlias = tuple[Any, int]


def zero_of(base: BaseType) -> Callable[[], int | float]:
    """The zero of a type of numbers."""
    return float if base is BaseType.DOUBLE else int


@FUNCTIONS.aggregate("sum", "(INTEGER val) -> INTEGER")
def sum_integer(context: AggregateContext) -> Aggregation:
    """Computes the sum for a key."""
    return Aggregation(int, _add_integer, _add_integer, undo=_subtract_integer)


def _add_integer(total: int, value: int | None) -> int:
    if value is None:
        return total
    total += value
    return total if INT_MIN <= total <= INT_MAX else wrap_integer(total)


def _subtract_integer(total: int, value: int | None) -> int:
    return total if value is None else wrap_integer(total - value)


@FUNCTIONS.aggregate("sum", "(BIGINT val) -> BIGINT")
def sum_bigint(context: AggregateContext) -> Aggregation:
    """Computes the sum for a key."""
    return Aggregation(int, _add_bigint, _add_bigint, undo=_subtract_bigint)


def _add_bigint(total: int, value: int | None) -> int:
    if value is None:
        return total
    total += value
    return total if BIGINT_MIN <= total <= BIGINT_MAX else wrap_bigint(total)


def _subtract_bigint(total: int, value: int | None) -> int:
    return total if value is None else wrap_bigint(total - value)


@FUNCTIONS.aggregate("sum", "(DOUBLE val) -> DOUBLE")
def sum_double(context: AggregateContext) -> Aggregation:
    """Computes the sum for a key."""
    return Aggregation(float, _add_double, _add_double, undo=_subtract_double)


def _add_double(total: float, value: float | None) -> float:
    return total if value is None else total + value


def _subtract_double(total: float, value: float | None) -> float:
    return total if value is None else total - value


@FUNCTIONS.aggregate("sum", "(DECIMAL val) -> DECIMAL")
def sum_decimal(context: AggregateContext) -> Aggregation:
    """Computes the sum of decimal values for a key, resulting in a decimal with the same precision and scale."""
    type_ = context.column
    if not isinstance(type_, SqlDecimal):
        raise TypeError(type_)
    exact = Context(prec=type_.precision + 1)
    zero = Decimal(0).scaleb(-type_.scale)
    limit = Decimal(10).scaleb(type_.precision - type_.scale - 1)

    def checked(total: Decimal) -> Decimal:
        if abs(total) >= limit:
            raise FunctionError(
                f"Numeric field overflow: A field with precision {type_.precision} and scale {type_.scale} must round "
                f"to an absolute value less than 10^{type_.precision - type_.scale}. Got {total:f}"
            )
        return total

    def add(total: Decimal, value: Decimal | None) -> Decimal:
        return total if value is None else checked(exact.add(total, value))

    def subtract(total: Decimal, value: Decimal | None) -> Decimal:
        return total if value is None else checked(exact.subtract(total, value))

    return Aggregation(lambda: zero, add, add, undo=subtract, returns=type_)


@FUNCTIONS.aggregate(
    "sum_list",
    "(ARRAY<DOUBLE> val) -> DOUBLE",
    "(ARRAY<INTEGER> val) -> INTEGER",
    "(ARRAY<BIGINT> val) -> BIGINT",
)
def sum_list(context: AggregateContext) -> Aggregation:
    """Computes the sum of the elements of arrays."""
    if not isinstance(context.column, SqlArray):
        raise TypeError(context.column)
    base = context.column.item.base
    wrap, zero = wrap_for(base), zero_of(base)

    def total_of(values: list[Any]) -> Any:
        return sum((value for value in values if value is not None), zero())

    def add(total: Any, values: list[Any] | None) -> Any:
        return total if values is None else wrap(total + total_of(values))

    def subtract(total: Any, values: list[Any] | None) -> Any:
        return total if values is None else wrap(total - total_of(values))

    return Aggregation(zero, add, lambda left, right: wrap(left + right), undo=subtract)


@FUNCTIONS.aggregate("avg", "(BIGINT val) -> DOUBLE", "(INTEGER val) -> DOUBLE", "(DOUBLE val) -> DOUBLE")
def average(context: AggregateContext) -> Aggregation:
    """Computes the average of the values that are not NULL."""
    base = context.column.base
    wrap = wrap_for(base)
    nothing = (zero_of(base)(), 0)

    def add(aggregate: _SumAndCount, value: Any) -> _SumAndCount:
        if value is None:
            return aggregate
        total, count = aggregate
        return wrap(total + value), count + 1

    def subtract(aggregate: _SumAndCount, value: Any) -> _SumAndCount:
        if value is None:
            return aggregate
        total, count = aggregate
        return wrap(total - value), count - 1

    def merge(one: _SumAndCount, other: _SumAndCount) -> _SumAndCount:
        return wrap(one[0] + other[0]), one[1] + other[1]

    state = SqlStruct((Field("SUM", context.column), Field("COUNT", BIGINT)))
    return Aggregation(lambda: nothing, add, merge, _quotient, subtract, state=state)


def _quotient(aggregate: _SumAndCount) -> float:
    total, count = aggregate
    return total / count if count else 0.0
