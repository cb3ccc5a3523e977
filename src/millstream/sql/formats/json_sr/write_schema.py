"""The JSON schemas of columns, as ksqlDB registers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.sql.formats.connect.schema import (
    DATE_NAME,
    DECIMAL_NAME,
    PRECISION,
    SCALE,
    TIME_NAME,
    TIMESTAMP_NAME,
    record_type,
)
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import BaseType, Field, SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType

Json = Any

_SCALARS: dict[BaseType, dict[str, Json]] = {
    BaseType.BOOLEAN: {"type": "boolean"},
    BaseType.INTEGER: {"type": "integer", "connect.type": "int32"},
    BaseType.BIGINT: {"type": "integer", "connect.type": "int64"},
    BaseType.DOUBLE: {"type": "number", "connect.type": "float64"},
    BaseType.STRING: {"type": "string"},
    BaseType.BYTES: {"type": "string", "connect.type": "bytes"},
    BaseType.DATE: {"type": "integer", "title": DATE_NAME, "connect.version": 1, "connect.type": "int32"},
    BaseType.TIME: {"type": "integer", "title": TIME_NAME, "connect.version": 1, "connect.type": "int32"},
    BaseType.TIMESTAMP: {"type": "integer", "title": TIMESTAMP_NAME, "connect.version": 1, "connect.type": "int64"},
}


def json_schema(columns: Sequence[Column], *, unwrapped: bool) -> Json:
    """The schema of rows: an object, all of whose properties may be null; or the schema of a bare column."""
    return _optional(columns[0].type) if unwrapped else _object(record_type(columns).fields)


def _optional(kind: SqlType, index: int | None = None) -> Json:
    place = {} if index is None else {"connect.index": index}
    return {**place, "oneOf": [{"type": "null"}, _schema(kind)]}


def _object(fields: Sequence[Field]) -> Json:
    return {
        "type": "object",
        "properties": {part.name: _optional(part.type, place) for place, part in enumerate(fields)},
    }


def _schema(kind: SqlType) -> Json:
    if isinstance(kind, SqlStruct):
        return _object(kind.fields)
    if isinstance(kind, SqlArray):
        return {"type": "array", "items": _optional(kind.item)}
    if isinstance(kind, SqlMap):
        # Keys may be null to ksqlDB, which the names in an object may not.
        entry = _object((Field("key", kind.key), Field("value", kind.value)))
        return {"type": "array", "items": entry, "connect.type": "map"}
    if isinstance(kind, SqlDecimal):
        return {
            "type": "number",
            "title": DECIMAL_NAME,
            "connect.version": 1,
            "connect.type": "bytes",
            "connect.parameters": {SCALE: str(kind.scale), PRECISION: str(kind.precision)},
        }
    return dict(_SCALARS[kind.base])
