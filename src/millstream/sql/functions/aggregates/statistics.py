"""STDDEV_SAMPLE, STDDEV_SAMP and CORRELATION."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from millstream.sql.functions.aggregates.sums import zero_of
from millstream.sql.functions.aggregates.wrapping import wrap_for
from millstream.sql.functions.declare import AggregateContext, Aggregation, Declarations
from millstream.sql.schema.types import BIGINT, DOUBLE, Field, SqlStruct

FUNCTIONS = Declarations("AGGREGATE")

#: The sum, how many, and the sum of the squares of the differences from the mean.
_Spread: TypeAlias = tuple[Any, int, float]

_SIGNATURES = ("(BIGINT val) -> DOUBLE", "(INTEGER val) -> DOUBLE", "(DOUBLE val) -> DOUBLE")


@FUNCTIONS.aggregate("STDDEV_SAMPLE", *_SIGNATURES)
def standard_deviation(context: AggregateContext) -> Aggregation:
    """Computes the sample standard deviation of a column."""
    return _spread(context, _deviation)


@FUNCTIONS.aggregate("STDDEV_SAMP", *_SIGNATURES)
def variance(context: AggregateContext) -> Aggregation:
    """Computes the sample variance of a column; its name is historic."""
    return _spread(context, _variance)


def _variance(aggregate: _Spread) -> float:
    _, count, squares = aggregate
    return 0.0 if count < 2 else squares / (count - 1)


def _deviation(aggregate: _Spread) -> float:
    return _root(_variance(aggregate))


def _spread(context: AggregateContext, result: Any) -> Aggregation:
    """By the algorithm of Youngs and Cramer: one pass, and values can be taken back."""
    base = context.column.base
    wrap = wrap_for(base)
    nothing = (zero_of(base)(), 0, 0.0)

    def add(aggregate: _Spread, value: Any) -> _Spread:
        if value is None:
            return aggregate
        total, count, squares = aggregate
        if count:
            delta = float(value * (count + 1) - (total + value))
            squares += delta * delta / ((count + 1) * count)
        return wrap(total + value), count + 1, squares

    def subtract(aggregate: _Spread, value: Any) -> _Spread:
        if value is None:
            return aggregate
        total, count, squares = aggregate
        if count > 1:
            delta = float(value * (count + 1) - (total + value))
            squares -= delta * delta / ((count - 1) * count)
        return wrap(total - value), count - 1, squares

    def merge(one: _Spread, other: _Spread) -> _Spread:
        squares = one[2] + other[2]
        if one[1] and other[1]:
            delta = one[0] / one[1] - other[0] / other[1]
            squares += one[1] * other[1] * delta * delta / (one[1] + other[1])
        return wrap(one[0] + other[0]), one[1] + other[1], squares

    state = SqlStruct((Field("SUM", context.column), Field("COUNT", BIGINT), Field("M2", DOUBLE)))
    return Aggregation(lambda: nothing, add, merge, result, subtract, state=state)


#: The sums of x, y, x squared, y squared and xy, and how many.
_Sums: TypeAlias = tuple[float, float, float, float, float, int]

_SUMS = SqlStruct(
    (
        *(Field(name, DOUBLE) for name in ("X_SUM", "Y_SUM", "X_SQUARED_SUM", "Y_SQUARED_SUM", "XY_SUM")),
        Field("COUNT", BIGINT),
    )
)


@FUNCTIONS.aggregate(
    "correlation",
    "(DOUBLE x, DOUBLE y) -> DOUBLE",
    "(INTEGER x, INTEGER y) -> DOUBLE",
    "(BIGINT x, BIGINT y) -> DOUBLE",
)
def correlation(context: AggregateContext) -> Aggregation:
    """Computes the Pearson correlation coefficient between two columns."""
    return Aggregation(_no_sums, _add_pair, _merge_sums, _coefficient, _subtract_pair, state=_SUMS)


def _no_sums() -> _Sums:
    return 0.0, 0.0, 0.0, 0.0, 0.0, 0


def _add_pair(sums: _Sums, x: float | None, y: float | None) -> _Sums:
    if x is None or y is None:
        return sums
    x, y = float(x), float(y)
    return sums[0] + x, sums[1] + y, sums[2] + x * x, sums[3] + y * y, sums[4] + x * y, sums[5] + 1


def _subtract_pair(sums: _Sums, x: float | None, y: float | None) -> _Sums:
    if x is None or y is None:
        return sums
    x, y = float(x), float(y)
    return sums[0] - x, sums[1] - y, sums[2] - x * x, sums[3] - y * y, sums[4] - x * y, sums[5] - 1


def _merge_sums(one: _Sums, other: _Sums) -> _Sums:
    return (
        one[0] + other[0],
        one[1] + other[1],
        one[2] + other[2],
        one[3] + other[3],
        one[4] + other[4],
        one[5] + other[5],
    )


def _coefficient(sums: _Sums) -> float:
    x, y, xx, yy, xy, count = sums
    above = count * xy - x * y
    below = _root((count * xx - x * x) * (count * yy - y * y))
    if below == 0:
        return math.nan if above == 0 or math.isnan(above) else math.copysign(math.inf, above)
    return above / below


def _root(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan
