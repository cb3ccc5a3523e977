"""The Avro schemas of columns, as ksqlDB registers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.sql.errors import SqlError
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

DEFAULT_NAME = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
MAP_ENTRY = "MapEntry"
INTERNAL_TYPE = "connect.internal.type"

_PRIMITIVES = {
    BaseType.BOOLEAN: "boolean",
    BaseType.INTEGER: "int",
    BaseType.BIGINT: "long",
    BaseType.DOUBLE: "double",
    BaseType.STRING: "string",
    BaseType.BYTES: "bytes",
}
_LOGICAL = {
    BaseType.DATE: ("int", "date", DATE_NAME),
    BaseType.TIME: ("int", "time-millis", TIME_NAME),
    BaseType.TIMESTAMP: ("long", "timestamp-millis", TIMESTAMP_NAME),
}


def avro_schema(columns: Sequence[Column], *, unwrapped: bool, name: str = DEFAULT_NAME) -> Json:
    """The schema of rows: a record, all of whose fields may be null; or the schema of a bare column.

    Raises:
        SqlError: a name that Avro does not know.

    >>> from millstream.sql.schema.types import STRING
    >>> avro_schema([Column("A", STRING)], unwrapped=True)
    'string'
    """
    root = columns[0].type if unwrapped else record_type(columns)
    return _schema(root, name, "", is_root=True)


def avro_type(kind: SqlType) -> SqlType:
    """A type with the names that its fields have in Avro."""
    if isinstance(kind, SqlStruct):
        return SqlStruct(tuple(Field(_field_name(part), avro_type(part.type)) for part in kind.fields))
    if isinstance(kind, SqlArray):
        return SqlArray(avro_type(kind.item))
    if isinstance(kind, SqlMap):
        return SqlMap(kind.key, avro_type(kind.value))
    return kind


def _field_name(part: Field) -> str:
    return part.name.replace(".", "_")


def _schema(kind: SqlType, name: str, namespace: str, *, is_root: bool = False) -> Json:
    """The schema of a type.

    Args:
        kind: the type.
        name: what a record would be called: the full name of the whole, and the path to this part of it.
        namespace: of the record around it, which need not be said again.
        is_root: the whole.
    """
    if isinstance(kind, SqlStruct):
        return _record(kind.fields, name, namespace, {"connect.name": name})
    if isinstance(kind, SqlArray):
        return {"type": "array", "items": _optional(kind.item, name, namespace)}
    if isinstance(kind, SqlMap):
        entry = (Field("key", kind.key), Field("value", kind.value))
        names = {"key": f"{name}_MapKey", "value": f"{name}_MapValue"}
        items = _record(entry, name, namespace, {INTERNAL_TYPE: MAP_ENTRY}, names)
        return {"type": "array", "items": items, "connect.name": name}
    if isinstance(kind, SqlDecimal):
        return {
            "type": "bytes",
            "scale": kind.scale,
            "precision": kind.precision,
            **({} if is_root else {"connect.version": 1}),
            "connect.parameters": {SCALE: str(kind.scale), PRECISION: str(kind.precision)},
            "connect.name": DECIMAL_NAME,
            "logicalType": "decimal",
        }
    if kind.base in _LOGICAL:
        primitive, logical, full_name = _LOGICAL[kind.base]
        version = {} if is_root else {"connect.version": 1}
        return {"type": primitive, **version, "connect.name": full_name, "logicalType": logical}
    return _PRIMITIVES[kind.base]


def _optional(kind: SqlType, name: str, namespace: str) -> Json:
    return ["null", _schema(kind, name, namespace)]


def _record(
    fields: Sequence[Field],
    full_name: str,
    outer_namespace: str,
    properties: dict[str, str],
    names: dict[str, str] | None = None,
) -> Json:
    namespace, _, name = full_name.rpartition(".")
    _check_name(name)
    shown_fields: list[dict[str, Json]] = []
    for part in fields:
        field_name = _field_name(part)
        _check_name(field_name)
        if any(other["name"] == field_name for other in shown_fields):
            raise SqlError(f"Cannot create field because of field name duplication {field_name}")
        inner = names[part.name] if names else f"{full_name}_{part.name}"
        shown_fields.append({"name": field_name, "type": _optional(part.type, inner, namespace), "default": None})
    schema: dict[str, Json] = {"type": "record", "name": name}
    if namespace != outer_namespace:
        schema["namespace"] = namespace
    return {**schema, "fields": shown_fields, **properties}


def _check_name(name: str) -> None:
    """See that Avro takes a name.

    Raises:
        SqlError: it does not.
    """
    if not name:
        raise SqlError("Schema is not compatible with Avro: Empty name")
    if not (name[0].isalpha() or name[0] == "_"):
        raise SqlError(f"Schema is not compatible with Avro: Illegal initial character: {name}")
    if not all(letter.isalnum() or letter == "_" for letter in name):
        raise SqlError(f"Schema is not compatible with Avro: Illegal character in: {name}")
