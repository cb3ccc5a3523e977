"""EARLIEST_BY_OFFSET and LATEST_BY_OFFSET.

An aggregate keeps when a value was taken, so that of two merged ones the earlier and the later are known.
"""

from __future__ import annotations

import time
from typing import Any, TypeAlias

from millstream.sql.errors import SqlError
from millstream.sql.functions.declare import AggregateContext, Aggregation, Declarations
from millstream.sql.schema.types import BIGINT, Field, SqlArray, SqlStruct

FUNCTIONS = Declarations("AGGREGATE")

#: A sequence number and a value.
_Entry: TypeAlias = tuple[int, Any]

_SIGNATURES = ("(T val) -> T", "(T val; BOOLEAN ignoreNulls) -> T")
_MANY_SIGNATURES = ("(T val; INTEGER n) -> ARRAY<T>", "(T val; INTEGER n, BOOLEAN ignoreNulls) -> ARRAY<T>")

_last_sequence = 0


def _sequence() -> int:
    """Grows with every call, also from one process to the next: aggregates outlive processes."""
    global _last_sequence
    _last_sequence = max(_last_sequence + 1, time.time_ns())
    return _last_sequence


def _entry_type(context: AggregateContext) -> SqlStruct:
    return SqlStruct((Field("SEQ", BIGINT), Field("VAL", context.column)))


def _value(entry: _Entry | None) -> Any:
    return None if entry is None else entry[1]


def _values(entries: list[_Entry]) -> list[Any]:
    return [value for _, value in entries]


def _by_sequence(entry: _Entry) -> int:
    return entry[0]


def _ignores_nulls(constants: tuple[Any, ...]) -> bool:
    return constants[-1] if constants and isinstance(constants[-1], bool) else True


def _size(context: AggregateContext, name: str) -> int:
    size: int = context.constants[0]
    if size <= 0:
        raise SqlError(f"{name} must be 1 or greater")
    return size


def _nothing() -> None:
    return None


@FUNCTIONS.aggregate("EARLIEST_BY_OFFSET", *_SIGNATURES)
def earliest(context: AggregateContext) -> Aggregation:
    """Gives the first value of a column; NULLs count only if ignoreNulls is false."""
    ignore_nulls = _ignores_nulls(context.constants)

    def add(first: _Entry | None, value: Any) -> _Entry | None:
        if first is not None or (value is None and ignore_nulls):
            return first
        return _sequence(), value

    def merge(one: _Entry | None, other: _Entry | None) -> _Entry | None:
        if one is None or other is None:
            return one if other is None else other
        return min(one, other, key=_by_sequence)

    return Aggregation(_nothing, add, merge, _value, state=_entry_type(context))


@FUNCTIONS.aggregate("EARLIEST_BY_OFFSET", *_MANY_SIGNATURES)
def earliest_many(context: AggregateContext) -> Aggregation:
    """Gives the first n values of a column; NULLs count only if ignoreNulls is false."""
    size, ignore_nulls = _size(context, "earliestN"), _ignores_nulls(context.constants)

    def add(entries: list[_Entry], value: Any) -> list[_Entry]:
        if len(entries) >= size or (value is None and ignore_nulls):
            return entries
        return [*entries, (_sequence(), value)]

    def merge(one: list[_Entry], other: list[_Entry]) -> list[_Entry]:
        return sorted(one + other, key=_by_sequence)[:size]

    return Aggregation(list, add, merge, _values, state=SqlArray(_entry_type(context)))


@FUNCTIONS.aggregate("LATEST_BY_OFFSET", *_SIGNATURES)
def latest(context: AggregateContext) -> Aggregation:
    """Gives the last value of a column; NULLs count only if ignoreNulls is false."""
    ignore_nulls = _ignores_nulls(context.constants)

    def add(last: _Entry | None, value: Any) -> _Entry | None:
        if value is None and ignore_nulls:
            return last
        return _sequence(), value

    def merge(one: _Entry | None, other: _Entry | None) -> _Entry | None:
        if one is None or other is None:
            return one if other is None else other
        return max(one, other, key=_by_sequence)

    return Aggregation(_nothing, add, merge, _value, state=_entry_type(context))


@FUNCTIONS.aggregate("LATEST_BY_OFFSET", *_MANY_SIGNATURES)
def latest_many(context: AggregateContext) -> Aggregation:
    """Gives the last n values of a column; NULLs count only if ignoreNulls is false."""
    size, ignore_nulls = _size(context, "latestN"), _ignores_nulls(context.constants)

    def add(entries: list[_Entry], value: Any) -> list[_Entry]:
        if value is None and ignore_nulls:
            return entries
        return [*entries, (_sequence(), value)][-size:]

    def merge(one: list[_Entry], other: list[_Entry]) -> list[_Entry]:
        return sorted(one + other, key=_by_sequence)[-size:]

    return Aggregation(list, add, merge, _values, state=SqlArray(_entry_type(context)))
