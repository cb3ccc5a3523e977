"""Rows as people and programs read them: structs by name."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import SqlArray, SqlMap, SqlStruct, SqlType


def plain(kind: SqlType, value: Any) -> Any:
    """A SQL value with its structs as dicts."""
    if value is None:
        return None
    if isinstance(kind, SqlArray):
        return [plain(kind.item, item) for item in value]
    if isinstance(kind, SqlMap):
        return {name: plain(kind.value, item) for name, item in value.items()}
    if isinstance(kind, SqlStruct):
        return {field.name: plain(field.type, item) for field, item in zip(kind.fields, value, strict=True)}
    return value


def plain_rows(columns: Sequence[Column]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """What makes the rows of these columns plain."""
    kinds = [column.type for column in columns]
    if not any(isinstance(kind, SqlArray | SqlMap | SqlStruct) for kind in kinds):
        return tuple
    return lambda row: tuple(plain(kind, value) for kind, value in zip(kinds, row, strict=True))


def as_json(value: Any) -> Any:
    """A plain value as JSON can hold it: bytes as base64, decimals as text."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {str(name): as_json(item) for name, item in value.items()}
    return value
