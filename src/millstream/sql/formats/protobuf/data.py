"""Messages as Connect's data, and SQL values as what messages are made of."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from millstream.registry.decimals import bytes_to_decimal, decimal_to_bytes
from millstream.sql.formats.connect.values import Conversion
from millstream.sql.formats.protobuf.read_schema import DECIMAL, WRAPPERS, FieldInfo, fields_of
from millstream.sql.formats.times import check_time
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_HOUR, _MINUTE, _SECOND, _NANOS = 3_600_000, 60_000, 1000, 1_000_000

_LOGICAL_READERS: dict[str, Callable[[Any], Any]] = {
    DECIMAL: lambda message: bytes_to_decimal(message.value, message.scale),
    "google.type.Date": lambda message: datetime.date(message.year, message.month, message.day).toordinal() - _EPOCH,
    "google.type.TimeOfDay": lambda message: (
        message.hours * _HOUR + message.minutes * _MINUTE + message.seconds * _SECOND + message.nanos // _NANOS
    ),
    "google.protobuf.Timestamp": lambda message: message.seconds * 1000 + message.nanos // _NANOS,
}


def reading(message: Any, *, unwrap: bool) -> Callable[[Any], dict[str, Any]]:
    """How a message becomes Connect's data.

    Args:
        message: its descriptor.
        unwrap: see `read_schema.connect_of`.
    """
    plain: list[tuple[str, Conversion]] = []
    absent: list[tuple[str, Conversion]] = []
    choices: list[tuple[str, str, Conversion]] = []
    for part in fields_of(message):
        convert = _reading_field(part, unwrap=unwrap)
        if part.oneof is not None:
            choices.append((part.oneof, part.name, convert))
        elif part.optional:
            absent.append((part.name, convert))
        else:
            plain.append((part.name, convert))

    def read(data: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, convert in plain:
            value = getattr(data, name)
            found[name] = value if convert is None else convert(value)
        for name, convert in absent:
            if data.HasField(name):
                value = getattr(data, name)
                found[name] = value if convert is None else convert(value)
        for oneof, name, convert in choices:
            if data.HasField(name):
                value = getattr(data, name)
                found[oneof] = {name: value if convert is None else convert(value)}
        return found

    return read


def _reading_field(part: FieldInfo, *, unwrap: bool) -> Conversion:
    if part.is_map:
        return _reading_map(part, unwrap=unwrap)
    single = _reading_single(part, unwrap=unwrap)
    if not part.repeated:
        return single
    if single is None:
        return list
    return lambda items: [single(item) for item in items]


def _reading_single(part: FieldInfo, *, unwrap: bool) -> Conversion:
    if part.descriptor.enum_type is not None:
        names = {value.number: value.name for value in reversed(part.descriptor.enum_type.values)}  # the first counts
        return lambda number: names.get(number, str(number))
    if part.message is None:
        return None
    name = part.message.full_name
    if name in _LOGICAL_READERS:
        return _LOGICAL_READERS[name]
    if unwrap and name in WRAPPERS:
        return lambda message: message.value
    return reading(part.message, unwrap=unwrap)


def _reading_map(part: FieldInfo, *, unwrap: bool) -> Conversion:
    if not part.message.GetOptions().map_entry:
        entry = reading(part.message, unwrap=unwrap)
        return lambda items: {found.get("key"): found.get("value") for found in map(entry, items)}
    _, value = fields_of(part.message)
    convert = _reading_single(value, unwrap=unwrap)
    if convert is None:
        return dict
    return lambda items: {key: convert(items[key]) for key in items}


def writing(kind: SqlStruct, message: Any) -> Callable[[Any], dict[str, Any]]:
    """How the values of a struct become what a message is made of, by field name.

    Raises:
        ValueError: the message lacks a field.
    """
    parts = {part.name: part for part in fields_of(message)}
    sources: list[tuple[str, int, Conversion]] = []
    for place, field in enumerate(kind.fields):
        part = parts.get(field.name)
        if part is None:
            raise ValueError(f"Schema from Schema Registry misses field with name: {field.name}")
        sources.append((part.name, place, _writing_field(field.type, part)))

    def write(row: Any) -> dict[str, Any]:
        found = {}
        for name, place, convert in sources:
            value = row[place]
            if value is not None:
                found[name] = value if convert is None else convert(value)
        return found

    return write


def _writing_field(kind: SqlType, part: FieldInfo) -> Conversion:
    if isinstance(kind, SqlMap):
        return _writing_map(kind, part)
    if isinstance(kind, SqlArray):
        item = _writing_single(kind.item, part)
        return lambda value: [_present(each) if item is None else item(_present(each)) for each in value]
    return _writing_single(kind, part)


def _present(value: Any) -> Any:
    if value is None:
        raise ValueError("Protobuf has no null in repeated fields")
    return value


def _writing_single(kind: SqlType, part: FieldInfo) -> Conversion:
    if isinstance(kind, SqlStruct):
        return writing(kind, part.message)
    if kind.base in _LOGICAL_WRITERS:
        return _LOGICAL_WRITERS[kind.base]
    if part.message is not None and part.message.full_name in WRAPPERS:
        return lambda value: {"value": value}
    return None


def _writing_map(kind: SqlMap, part: FieldInfo) -> Conversion:
    key, value = fields_of(part.message)
    convert_key, convert = _writing_field(kind.key, key), _writing_field(kind.value, value)
    if part.message.GetOptions().map_entry:
        if convert is None:
            return None
        return lambda items: {name: convert(_present(item)) for name, item in items.items()}

    def entries(items: Any) -> list[dict[str, Any]]:
        found = []
        for name, item in items.items():
            entry = {}
            if name is not None:
                entry["key"] = name if convert_key is None else convert_key(name)
            if item is not None:
                entry["value"] = item if convert is None else convert(item)
            found.append(entry)
        return found

    return entries


def _write_decimal(value: Decimal) -> dict[str, Any]:
    _, digits, exponent = value.as_tuple()
    return {"value": decimal_to_bytes(value), "precision": len(digits), "scale": -int(exponent)}


def _write_date(days: int) -> dict[str, int]:
    date = datetime.date.fromordinal(days + _EPOCH)
    return {"year": date.year, "month": date.month, "day": date.day}


def _write_time(milliseconds: int) -> dict[str, int]:
    check_time(milliseconds)
    hours, rest = divmod(milliseconds % (24 * _HOUR), _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    seconds, rest = divmod(rest, _SECOND)
    return {"hours": hours, "minutes": minutes, "seconds": seconds, "nanos": rest * _NANOS}


def _write_timestamp(milliseconds: int) -> dict[str, int]:
    seconds, rest = divmod(milliseconds, 1000)
    return {"seconds": seconds, "nanos": rest * _NANOS}


_LOGICAL_WRITERS: dict[BaseType, Callable[[Any], Any]] = {
    BaseType.DECIMAL: _write_decimal,
    BaseType.DATE: _write_date,
    BaseType.TIME: _write_time,
    BaseType.TIMESTAMP: _write_timestamp,
}
