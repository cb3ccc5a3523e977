"""COLLECT_LIST, COLLECT_SET and ATTR."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

from millstream.sql.functions.declare import AggregateContext, Aggregation, Declarations
from millstream.sql.functions.model import FunctionConfig
from millstream.sql.schema.types import INTEGER, Field, SqlArray, SqlStruct

FUNCTIONS = Declarations("AGGREGATE")

Items: TypeAlias = list[Any]


def _limit(config: FunctionConfig, function: str) -> int:
    limit = int(config.get(f"ksql.functions.{function}.limit", -1))
    return limit if limit >= 0 else sys.maxsize


@FUNCTIONS.aggregate("collect_list", "(T val) -> ARRAY<T>")
def collect_list(context: AggregateContext) -> Aggregation:
    """Gathers the values of a column into an array, up to the limit of ksql.functions.collect_list.limit."""
    limit = _limit(context.config, "collect_list")

    def add(items: Items, value: Any) -> Items:
        return [*items, value] if len(items) < limit else items

    def merge(one: Items, other: Items) -> Items:
        return (one + other)[:limit]

    def remove(items: Items, value: Any) -> Items:
        for index in range(len(items) - 1, -1, -1):
            if items[index] == value:
                return items[:index] + items[index + 1 :]
        # Beyond the limit it was never taken.
        return items

    return Aggregation(list, add, merge, undo=remove)


@FUNCTIONS.aggregate("collect_set", "(T val) -> ARRAY<T>")
def collect_set(context: AggregateContext) -> Aggregation:
    """Gathers the distinct values of a column into an array, up to the limit of ksql.functions.collect_set.limit."""
    limit = _limit(context.config, "collect_set")

    def add(items: Items, value: Any) -> Items:
        return [*items, value] if len(items) < limit and value not in items else items

    def merge(one: Items, other: Items) -> Items:
        merged = one.copy()
        for value in other:
            if len(merged) >= limit:
                break
            if value not in merged:
                merged.append(value)
        return merged

    return Aggregation(list, add, merge)


_Counts: TypeAlias = list[tuple[Any, int]]


@FUNCTIONS.aggregate("ATTR", "(T val) -> T")
def attr(context: AggregateContext) -> Aggregation:
    """Gives the one value that all records have; NULL if they have several."""
    state = SqlArray(SqlStruct((Field("VALUE", context.column), Field("COUNT", INTEGER))))
    return Aggregation(list, _attr_add, _attr_merge, _attr_value, _attr_remove, state=state)


def _attr_change(counts: _Counts, value: Any, change: int) -> _Counts:
    for index, (known, count) in enumerate(counts):
        if known == value:
            return [*counts[:index], (known, max(0, count + change)), *counts[index + 1 :]]
    return [*counts, (value, change)] if change > 0 else counts


def _attr_add(counts: _Counts, value: Any) -> _Counts:
    return _attr_change(counts, value, 1)


def _attr_remove(counts: _Counts, value: Any) -> _Counts:
    return _attr_change(counts, value, -1)


def _attr_merge(one: _Counts, other: _Counts) -> _Counts:
    for value, count in other:
        one = _attr_change(one, value, count)
    return one


def _attr_value(counts: _Counts) -> Any:
    values = [value for value, count in counts if count > 0]
    return values[0] if len(values) == 1 else None
