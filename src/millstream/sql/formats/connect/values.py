"""Values of one of Connect's schemas as SQL values.

Decoded data looks alike in all formats: a dict by field name for a struct, a list, a dict for a map, int, float, bool,
str, bytes, Decimal for decimals, and the numbers behind dates and times.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from millstream.sql.formats.connect.schema import ConnectSchema, Kind
from millstream.sql.formats.numbers import double_to_text, fit_decimal
from millstream.sql.schema.types import BaseType, SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType

#: A conversion; None where values are what they should be.
Conversion = Callable[[Any], Any] | None

_INT32 = {Kind.INT8, Kind.INT16, Kind.INT32}
_ACCEPTED = {
    BaseType.BOOLEAN: {Kind.BOOLEAN},
    BaseType.INTEGER: _INT32,
    BaseType.DATE: _INT32,
    BaseType.TIME: _INT32,
    BaseType.BIGINT: {*_INT32, Kind.INT64},
    BaseType.TIMESTAMP: {*_INT32, Kind.INT64},
    BaseType.DOUBLE: {Kind.FLOAT32, Kind.FLOAT64},
    BaseType.STRING: {*_INT32, Kind.INT64, Kind.FLOAT32, Kind.FLOAT64, Kind.BOOLEAN, Kind.STRING},
    BaseType.BYTES: {Kind.BYTES},
    BaseType.DECIMAL: {Kind.BYTES},
    BaseType.ARRAY: {Kind.ARRAY},
    BaseType.MAP: {Kind.MAP},
    BaseType.STRUCT: {Kind.STRUCT},
}
_NAMES = {
    BaseType.BOOLEAN: "boolean",
    BaseType.INTEGER: "int32",
    BaseType.DATE: "int32",
    BaseType.TIME: "int32",
    BaseType.BIGINT: "int64",
    BaseType.TIMESTAMP: "int64",
    BaseType.DOUBLE: "float64",
    BaseType.DECIMAL: "bytes",
}


def conversion(kind: SqlType, schema: ConnectSchema, path: str = "") -> Conversion:
    """How values of a schema become values of a type.

    Raises:
        ValueError: values of the schema cannot be read as that type.
    """
    if schema.kind not in _ACCEPTED[kind.base] or schema.is_decimal != isinstance(kind, SqlDecimal):
        name = _NAMES.get(kind.base, kind.base.value.lower())
        raise ValueError(f"Cannot deserialize type {schema.kind.value} as type {name} for path: {path}")
    if isinstance(kind, SqlDecimal):
        precision, scale = kind.precision, kind.scale
        return lambda value: None if value is None else fit_decimal(value, precision, scale)
    if isinstance(kind, SqlArray) and schema.value:
        return _array(conversion(kind.item, schema.value, f"{path}->ARRAY"))
    if isinstance(kind, SqlMap) and schema.key and schema.value:
        return _map(
            conversion(kind.key, schema.key, f"{path}->MAP_KEY"),
            conversion(kind.value, schema.value, f"{path}->MAP_VAL"),
        )
    if isinstance(kind, SqlStruct):
        return _struct(kind, schema, path)
    if kind.base is BaseType.STRING:
        return _TEXTS.get(schema.kind)
    return None


def _array(item: Conversion) -> Conversion:
    if item is None:
        return None
    return lambda value: None if value is None else [item(part) for part in value]


def _map(key: Conversion, item: Conversion) -> Conversion:
    if key is None and item is None:
        return None
    convert_key, convert_item = key or _same, item or _same
    return lambda value: (
        None if value is None else {convert_key(name): convert_item(part) for name, part in value.items()}
    )


def _same(value: Any) -> Any:
    return value


def _struct(kind: SqlStruct, schema: ConnectSchema, path: str) -> Callable[[Any], Any]:
    """Fields are found by their names, else by their names in upper case; what is not found is NULL."""
    places = {part.name: place for place, part in enumerate(kind.fields)}
    sources: list[tuple[str, Conversion] | None] = [None] * len(kind.fields)
    for name, part in schema.fields:
        place = places.get(name, places.get(name.upper()))
        if place is not None:
            sources[place] = (name, conversion(kind.fields[place].type, part, f"{path}->{kind.fields[place].name}"))

    def convert(value: Any) -> Any:
        if value is None:
            return None
        row: list[Any] = []
        for source in sources:
            if source is None:
                row.append(None)
            else:
                name, inner = source
                row.append(value.get(name) if inner is None else inner(value.get(name)))
        return tuple(row)

    return convert


def _whole_text(value: Any) -> Any:
    return None if value is None else str(value)


def _boolean_text(value: Any) -> Any:
    return None if value is None else "true" if value else "false"


def _double_text(value: Any) -> Any:
    return None if value is None else double_to_text(value)


_SINGLE = struct.Struct("<f")


def _float_text(value: Any) -> Any:
    """A number of single precision with as many digits as tell it from its neighbours."""
    if value is None:
        return None
    for digits in range(1, 10):
        shown = float(f"{value:.{digits}g}")
        if _SINGLE.unpack(_SINGLE.pack(shown))[0] == value:
            return double_to_text(shown)
    return double_to_text(value)


_TEXTS: dict[Kind, Callable[[Any], Any]] = {
    Kind.INT8: _whole_text,
    Kind.INT16: _whole_text,
    Kind.INT32: _whole_text,
    Kind.INT64: _whole_text,
    Kind.FLOAT32: _float_text,
    Kind.FLOAT64: _double_text,
    Kind.BOOLEAN: _boolean_text,
}
