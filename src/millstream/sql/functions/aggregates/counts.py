"""COUNT, COUNT_DISTINCT and HISTOGRAM."""

from __future__ import annotations

from typing import Any

from millstream.sql.functions.aggregates import hyperloglog
from millstream.sql.functions.declare import AggregateContext, Aggregation, Declarations
from millstream.sql.schema.java_numbers import wrap_bigint
from millstream.sql.schema.types import INTEGER, SqlArray

FUNCTIONS = Declarations("AGGREGATE")

_HISTOGRAM_LIMIT = 1000


def _zero() -> int:
    return 0


def _one_more(count: int, *values: Any) -> int:
    return count + 1


def _one_less(count: int, *values: Any) -> int:
    return count - 1


def _one_more_value(count: int, value: Any) -> int:
    return count if value is None else count + 1


def _one_less_value(count: int, value: Any) -> int:
    return count if value is None else count - 1


def _sum(left: int, right: int) -> int:
    return wrap_bigint(left + right)


@FUNCTIONS.aggregate("COUNT", "(T val) -> BIGINT")
def count(context: AggregateContext) -> Aggregation:
    """Counts the records whose value is not NULL."""
    return Aggregation(_zero, _one_more_value, _sum, undo=_one_less_value)


@FUNCTIONS.aggregate("COUNT", "() -> BIGINT")
def count_records(context: AggregateContext) -> Aggregation:
    """Counts the records."""
    return Aggregation(_zero, _one_more, _sum, undo=_one_less)


@FUNCTIONS.aggregate("COUNT_DISTINCT", "(T val) -> BIGINT")
def count_distinct(context: AggregateContext) -> Aggregation:
    """Counts the distinct values, approximately: with a standard error below 1 %."""
    return Aggregation(
        hyperloglog.empty, hyperloglog.add, hyperloglog.merge, hyperloglog.cardinality, state=SqlArray(INTEGER)
    )


@FUNCTIONS.aggregate("histogram", "(STRING val) -> MAP<STRING, BIGINT>")
def histogram(context: AggregateContext) -> Aggregation:
    """Gives a map of each distinct string and how many times it occurs; of the first 1000 of them."""
    return Aggregation(dict, _count_one, _merge_counts, undo=_uncount_one)


def _count_one(counts: dict[str | None, int], value: str | None) -> dict[str | None, int]:
    if value not in counts and len(counts) >= _HISTOGRAM_LIMIT:
        return counts
    return {**counts, value: counts.get(value, 0) + 1}


def _uncount_one(counts: dict[str | None, int], value: str | None) -> dict[str | None, int]:
    if value not in counts:
        return counts
    left = dict(counts)
    left[value] -= 1
    if left[value] < 1:
        del left[value]
    return left


def _merge_counts(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    merged = dict(one)
    for value, times in other.items():
        if value in merged or len(merged) < _HISTOGRAM_LIMIT:
            merged[value] = merged.get(value, 0) + times
    return merged
