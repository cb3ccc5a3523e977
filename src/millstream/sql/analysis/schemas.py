"""Schemas between the steps: the key columns, and the row that expressions see."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.sql.errors import SqlError
from millstream.sql.schema.columns import PSEUDO_COLUMNS, SYSTEM_COLUMNS, WINDOW_BOUNDS, Column, Namespace, Schema
from millstream.sql.schema.types import SqlType

Typed = tuple[str, SqlType]


def checked(schema: Schema) -> Schema:
    """The schema, if its names are unique among the key columns, and among the columns of the row.

    Raises:
        SqlError: a name is there twice.
    """
    seen: set[tuple[Namespace, str]] = set()
    for column in schema:
        if (column.namespace, column.name) in seen:
            raise SqlError(f"Duplicate {column.namespace.value.lower()} columns found in schema: {column}")
        seen.add((column.namespace, column.name))
    return schema


def typed(columns: Iterable[Column]) -> list[Typed]:
    """Names and types of columns."""
    return [(column.name, column.type) for column in columns]


def row_schema(schema: Schema, *, windowed: bool) -> Schema:
    """The schema that a source of that schema gives: its row holds all that expressions may use."""
    row = typed(column for column in schema.value if not _is_extra(column.name, schema))
    row += typed(schema.headers)
    row += PSEUDO_COLUMNS.items()
    row += typed(schema.key)
    if windowed:
        row += WINDOW_BOUNDS.items()
    return Schema.of(typed(schema.key), row)


def sink_schema(schema: Schema) -> Schema:
    """What is written of a result: neither system columns nor copies of the key are part of the value."""
    return Schema.of(typed(schema.key), typed(column for column in schema.value if not _is_extra(column.name, schema)))


def is_key(schema: Schema, name: str) -> bool:
    """Whether a key column has the name."""
    return any(column.name == name for column in schema.key)


def _is_extra(name: str, schema: Schema) -> bool:
    return name in SYSTEM_COLUMNS or is_key(schema, name)
