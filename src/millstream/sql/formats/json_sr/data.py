"""JSON data of a registered schema: parsed JSON as Connect's data, and SQL values as JSON."""

from __future__ import annotations

import binascii
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from millstream.registry.decimals import bytes_to_decimal
from millstream.sql.formats.connect.schema import ConnectSchema, Kind
from millstream.sql.formats.connect.values import Conversion
from millstream.sql.formats.json_sr.read_schema import ONE_OF
from millstream.sql.formats.numbers import double_to_text
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType

#: JSON has no numbers for these: they are written as texts.
_NOT_FINITE = frozenset({"Infinity", "-Infinity", "NaN"})
_WHOLE = {Kind.INT8: 8, Kind.INT16: 16, Kind.INT32: 32, Kind.INT64: 64}


def reading(schema: ConnectSchema) -> Callable[[Any], Any]:
    """How parsed JSON becomes Connect's data."""
    convert = _reading(schema)
    default, optional, kind = schema.default, schema.optional, schema.kind.value

    def read(node: Any) -> Any:
        if node is None:
            if default is not None or optional:
                return default
            raise ValueError(f"Invalid null value for required {kind} field")
        return convert(node) if convert is not None else node

    return read


def _reading(schema: ConnectSchema) -> Conversion:
    if schema.is_decimal:
        return lambda node: _decimal(node, schema.scale)
    if schema.kind in _WHOLE:
        return lambda node: int(node) if _is_number(node) else _mismatch(node, schema.kind)
    if schema.kind in (Kind.FLOAT32, Kind.FLOAT64):
        return lambda node: _float(node, schema.kind)
    if schema.kind is Kind.BOOLEAN:
        return lambda node: node is True
    if schema.kind is Kind.STRING:
        return lambda node: node if isinstance(node, str) else None
    if schema.kind is Kind.BYTES:
        return lambda node: binascii.a2b_base64(node, strict_mode=True)
    if schema.kind is Kind.ARRAY and schema.value:
        item = reading(schema.value)
        return lambda node: [item(part) for part in _checked(node, list, "ARRAY")]
    if schema.kind is Kind.MAP and schema.key and schema.value:
        return _map(schema.key, schema.value)
    return _union(schema) if schema.name == ONE_OF else _struct(schema)


def _is_number(node: Any) -> bool:
    return isinstance(node, (int, Decimal)) and not isinstance(node, bool)


def _float(node: Any, kind: Kind) -> float:
    if _is_number(node) or (isinstance(node, str) and node in _NOT_FINITE):
        return float(node)
    found: float = _mismatch(node, kind)
    return found


def _mismatch(node: Any, kind: Kind) -> Any:
    raise ValueError(f"Invalid type for {kind.value}: {type(node).__name__}")


def _checked(node: Any, wanted: type, what: str) -> Any:
    if not isinstance(node, wanted):
        raise ValueError(f"{what} expected, but found {type(node).__name__}")
    return node


def _decimal(node: Any, scale: int) -> Decimal:
    if _is_number(node):
        return Decimal(node)
    return bytes_to_decimal(binascii.a2b_base64(node, strict_mode=True), scale)


def _map(key: ConnectSchema, value: ConnectSchema) -> Conversion:
    item = reading(value)
    if key.kind is Kind.STRING and not key.optional:
        return lambda node: {name: item(part) for name, part in _checked(node, dict, "MAP").items()}
    name = reading(key)
    return lambda node: {name(entry["key"]): item(entry["value"]) for entry in _checked(node, list, "MAP")}


def _struct(schema: ConnectSchema) -> Conversion:
    parts = [(name, reading(part), part.default) for name, part in schema.fields]

    def convert(node: Any) -> Any:
        _checked(node, dict, "STRUCT")
        return {name: read(node[name]) if name in node else default for name, read, default in parts}

    return convert


_FITS: dict[Kind, Callable[[Any], bool]] = {
    **{kind: lambda node: isinstance(node, int) and not isinstance(node, bool) for kind in _WHOLE},
    Kind.FLOAT32: _is_number,
    Kind.FLOAT64: _is_number,
    Kind.BOOLEAN: lambda node: isinstance(node, bool),
    Kind.STRING: lambda node: isinstance(node, str),
    Kind.BYTES: lambda node: isinstance(node, Decimal),
    Kind.ARRAY: lambda node: isinstance(node, list),
    Kind.MAP: lambda node: isinstance(node, (dict, list)),
}


def _union(schema: ConnectSchema) -> Conversion:
    """The first simple branch that fits, else the object that has most names in common."""
    branches = [(name, part, reading(part)) for name, part in schema.fields]

    def convert(node: Any) -> Any:
        best, most = None, -1
        for name, part, read in branches:
            if part.kind is not Kind.STRUCT:
                if _FITS[part.kind](node):
                    return {name: read(node)}
            elif isinstance(node, dict):
                common = len(node.keys() & {field for field, _ in part.fields})
                if common > most:
                    best, most = (name, read), common
        if best is None:
            raise ValueError("Did not find matching oneof field for data")
        return {best[0]: best[1](node)}

    return convert


def writing(kind: SqlType, schema: ConnectSchema) -> Conversion:
    """How SQL values become what is written as JSON.

    Raises:
        ValueError: the schema lacks a field.
    """
    if isinstance(kind, SqlArray) and schema.value:
        item = writing(kind.item, schema.value)
        return None if item is None else lambda value: [_written(item, part) for part in value]
    if isinstance(kind, SqlMap) and schema.key and schema.value:
        return _writing_map(writing(kind.value, schema.value), schema.key)
    if isinstance(kind, SqlStruct):
        return _writing_struct(kind, schema)
    if kind.base is BaseType.DOUBLE:
        return lambda value: value if math.isfinite(value) else double_to_text(value)
    return None


def _written(convert: Conversion, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _writing_map(item: Conversion, key: ConnectSchema) -> Conversion:
    if key.kind is Kind.STRING and not key.optional:
        return lambda value: {name: _written(item, part) for name, part in value.items()}
    return lambda value: [{"key": name, "value": _written(item, part)} for name, part in value.items()]


def _writing_struct(kind: SqlStruct, schema: ConnectSchema) -> Conversion:
    """Fields go by their names. NULL is left out where the schema does not allow it."""
    places = {part.name: place for place, part in enumerate(kind.fields)}
    sources: list[tuple[str, int | None, Conversion, ConnectSchema]] = []
    for name, part in schema.fields:
        place = places.pop(name, None)
        sources.append((name, place, None if place is None else writing(kind.fields[place].type, part), part))
    for name in places:
        raise ValueError(f"Schema from Schema Registry misses field with name: {name}")

    def convert(row: Any) -> Any:
        written = {}
        for name, place, inner, part in sources:
            value = None if place is None else row[place]
            if value is not None:
                written[name] = value if inner is None else inner(value)
            elif part.default is not None or part.optional:
                written[name] = part.default
        return written

    return convert
