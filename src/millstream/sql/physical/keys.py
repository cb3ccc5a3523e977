"""New keys: PARTITION BY, GROUP BY, and what joins do before they join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.dsl.options import Grouped, Materialized
from millstream.records import Windowed
from millstream.sql.physical.flow import Flow, Surroundings, name_of
from millstream.sql.physical.kept import Kept
from millstream.sql.plan.steps import StreamGroupBy, StreamSelectKey, TableGroupBy, TableSelectKey
from millstream.sql.schema.columns import Schema
from millstream.sql.tree.expressions import ColumnReference, Expression
from millstream.sql.tree.walk import references

_Row = tuple[Any, ...] | None


def select_stream_key(step: StreamSelectKey, source: Flow, around: Surroundings) -> Flow:
    """A stream under keys made of expressions. What needs it partitioned by them does that itself."""
    mapper = _key_mapper(step, source, around)
    return source.then(source.stream.map(mapper, name=name_of(step, "SelectKey")), step)


def select_table_key(step: TableSelectKey, source: Flow, around: Surroundings) -> Flow:
    """A table under keys made of expressions, in a new store."""
    name = name_of(step, "Materialize")
    materialized = Materialized(
        name,
        around.key_serde(step.formats.key, step.schema, source.window, name),
        around.kept_serde(step.formats, step.schema.value, name),
    )
    stream = source.table.to_stream().map(_key_mapper(step, source, around), name=name_of(step, "SelectKey-Mapper"))
    table = stream.to_table(materialized, name=name_of(step, "SelectKey"))
    return source.then(table, step, kept=Kept(name, step.formats.key))


def group_stream(step: StreamGroupBy, source: Flow, around: Surroundings) -> Flow:
    """A stream grouped by expressions, or by the key it has."""
    grouped = _grouped(step, around)
    if not step.keys:
        return Flow(source.stream.group_by_key(grouped), step.schema, source.window)
    rows = source.stream.filter(_is_row)
    return Flow(rows.group_by(_group_mapper(step, source, around), grouped), step.schema)


def group_table(step: TableGroupBy, source: Flow, around: Surroundings) -> Flow:
    """A table grouped by expressions."""
    make_key = _group_mapper(step, source, around)
    rows = source.table.filter(_is_row)
    return Flow(rows.group_by(lambda key, row: (make_key(key, row), row), _grouped(step, around)), step.schema)


def _is_row(key: Any, row: _Row) -> bool:
    return row is not None


def _grouped(step: StreamGroupBy | TableGroupBy, around: Surroundings) -> Grouped:
    name = name_of(step)
    return Grouped(
        around.key_serde(step.formats.key, step.schema, None, name),
        around.kept_serde(step.formats, step.schema.value, name),
        name=name,
    )


def _group_mapper(step: StreamGroupBy | TableGroupBy, source: Flow, around: Surroundings) -> Callable[[Any, Any], Any]:
    """A row without all of its key belongs to no group."""
    evaluate = around.rows(step.keys, source.schema, step)

    def group(key: Any, row: Any) -> tuple[Any, ...] | None:
        found = evaluate(row)
        return None if None in found else found

    return group


def _key_mapper(
    step: StreamSelectKey | TableSelectKey, source: Flow, around: Surroundings
) -> Callable[[Any, Any], tuple[Any, Any]]:
    if not step.schema.key:  # PARTITION BY NULL
        return lambda key, row: (None, row)
    evaluate = around.rows(step.keys, source.schema, step)
    added = [index for index, key in enumerate(step.keys) if not isinstance(key, ColumnReference)]
    if len(step.schema.value) == len(source.schema.value):
        added = []
    from_key = _KeyOnly(step.keys, source.schema, evaluate)
    windowed = source.window is not None

    def new_key(key: Any, row: _Row) -> tuple[Any, Any]:
        if row is None:
            found = from_key(key)
        else:
            found = evaluate(row)
            if added:
                row = row + tuple([found[index] for index in added])
        return (Windowed(found, key.window) if windowed and key is not None else found), row

    return new_key


class _KeyOnly:
    """New keys of deletions: what can be computed from the old key alone; the rest is NULL."""

    def __init__(
        self, keys: Sequence[Expression], schema: Schema, evaluate: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    ) -> None:
        names = [column.name for column in schema.key]
        self._places = [names.index(column.name) if column.name in names else None for column in schema.value]
        self._known = [all(reference.name in names for reference in references(key)) for key in keys]
        self._evaluate = evaluate

    def __call__(self, key: Any) -> tuple[Any, ...]:
        plain = key.key if isinstance(key, Windowed) else key
        row = tuple(None if place is None or plain is None else plain[place] for place in self._places)
        return tuple(value if known else None for value, known in zip(self._evaluate(row), self._known, strict=True))
