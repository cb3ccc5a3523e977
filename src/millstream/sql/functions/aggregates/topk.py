"""TOPK and TOPKDISTINCT: the largest values, largest first."""

from __future__ import annotations

from typing import Any, TypeAlias

from millstream.sql.errors import SqlError
from millstream.sql.functions.declare import AggregateContext, Aggregation, Declarations
from millstream.sql.functions.java.ordering import order_key
from millstream.sql.schema.types import Field, SqlArray, SqlStruct

FUNCTIONS = Declarations("AGGREGATE")

Items: TypeAlias = list[Any]

_TYPES = ("INTEGER", "BIGINT", "DOUBLE", "STRING")


def _plain(value: Any) -> Any:
    return value


def _size(context: AggregateContext) -> int:
    size: int = context.constants[-1]
    return size


@FUNCTIONS.aggregate("TOPK", *(f"({type_} val; INTEGER k) -> ARRAY<{type_}>" for type_ in _TYPES))
def top(context: AggregateContext) -> Aggregation:
    """Computes the k largest values of a column, for each key."""
    return _top(order_key(context.column) or _plain, _size(context))


def _top(key: Any, size: int) -> Aggregation:
    def add(items: Items, value: Any) -> Items:
        return items if value is None else _insert(items, value, key, size)

    def merge(one: Items, other: Items) -> Items:
        return sorted(one + other, key=key, reverse=True)[:size]

    return Aggregation(list, add, merge)


def _insert(items: Items, value: Any, key: Any, size: int) -> Items:
    if len(items) >= size:
        if not items or key(value) <= key(items[-1]):
            return items
        items = items[:-1]
    return sorted([*items, value], key=key, reverse=True)


@FUNCTIONS.aggregate(
    "TOPK",
    *(f"({type_} sortCol, ANY... otherCols; INTEGER k) -> ARRAY<STRUCT<sort_col {type_}>>" for type_ in _TYPES),
)
def top_with_others(context: AggregateContext) -> Aggregation:
    """Computes the records with the k largest values of a column, for each key, with other columns of theirs."""
    order, size = order_key(context.column), _size(context)
    fields = [Field("sort_col", context.column)]
    for index, type_ in enumerate(context.arguments[1:]):
        if type_ is None:
            raise SqlError("TOPK takes columns whose type is known, not NULL")
        fields.append(Field(f"col{index}", type_))

    def add(items: Items, value: Any, *others: Any) -> Items:
        return items if value is None else _insert(items, (value, *others), key, size)

    def key(entry: tuple[Any, ...]) -> Any:
        return entry[0] if order is None else order(entry[0])

    def merge(one: Items, other: Items) -> Items:
        return sorted(one + other, key=key, reverse=True)[:size]

    return Aggregation(list, add, merge, returns=SqlArray(SqlStruct(tuple(fields))))


@FUNCTIONS.aggregate(
    "TOPKDISTINCT",
    *(f"({type_} val; INTEGER k) -> ARRAY<{type_}>" for type_ in _TYPES),
    "(DECIMAL val; INTEGER k) -> ARRAY<DECIMAL>",
    *(f"({type_} val; INTEGER k) -> ARRAY<{type_}>" for type_ in ("DATE", "TIME", "TIMESTAMP", "BYTES")),
)
def top_distinct(context: AggregateContext) -> Aggregation:
    """Computes the k largest distinct values of a column, for each key."""
    key: Any = order_key(context.column) or _plain
    size = _size(context)

    def add(items: Items, value: Any) -> Items:
        return items if value is None or value in items else _insert(items, value, key, size)

    def merge(one: Items, other: Items) -> Items:
        merged = sorted([*one, *(value for value in other if value not in one)], key=key, reverse=True)
        return merged[:size]

    return Aggregation(list, add, merge, returns=SqlArray(context.column))
