"""Messages as plain values and back: dicts, lists, datetimes, decimals."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from millstream.registry.decimals import bytes_to_decimal, decimal_to_bytes

#: The values of enums by number, by the enums' full names; others have the names of their values.
Enums = Mapping[str, Mapping[int, Any]]
Convert = Callable[[Any], Any]

#: The types that messages have something for.
LEAVES = (bytes, datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _write_timestamp(value: datetime.datetime) -> dict[str, int]:
    since = value - _EPOCH
    return {"seconds": since.days * 86_400 + since.seconds, "nanos": since.microseconds * 1000}


def _write_duration(value: datetime.timedelta) -> dict[str, int]:
    sign = -1 if value < datetime.timedelta(0) else 1  # seconds and nanos have the same one
    value = abs(value)
    return {"seconds": sign * (value.days * 86_400 + value.seconds), "nanos": sign * value.microseconds * 1000}


def _write_decimal(value: decimal.Decimal) -> dict[str, Any]:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is no number")
    return {"value": decimal_to_bytes(value), "precision": len(digits), "scale": -exponent}


_WRITERS: dict[str, Convert] = {
    "google.protobuf.Timestamp": _write_timestamp,
    "google.protobuf.Duration": _write_duration,
    "google.type.Date": lambda value: {"year": value.year, "month": value.month, "day": value.day},
    "google.type.TimeOfDay": lambda value: {
        "hours": value.hour, "minutes": value.minute, "seconds": value.second, "nanos": value.microsecond * 1000,
    },
    "confluent.type.Decimal": _write_decimal,
}  # fmt: skip
_READERS: dict[str, Convert] = {
    "google.protobuf.Timestamp": lambda message: (
        _EPOCH + datetime.timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    ),
    "google.protobuf.Duration": lambda message: datetime.timedelta(
        seconds=message.seconds, microseconds=message.nanos / 1000
    ),
    "google.type.Date": lambda message: datetime.date(message.year, message.month, message.day),
    "google.type.TimeOfDay": lambda message: datetime.time(
        message.hours, message.minutes, message.seconds, message.nanos // 1000
    ),
    "confluent.type.Decimal": lambda message: bytes_to_decimal(message.value, message.scale),
}


class MessageConversion:
    """How messages become plain values, and the other way round."""

    def __init__(self, enums: Enums) -> None:
        self._enums = enums
        self._made: dict[tuple[str, str], Convert] = {}

    def writer(self, message: Any) -> Convert:
        """A dict as what a message is made of."""
        known = self._made.get(("write", message.full_name))
        if known is not None:
            return known
        parts: dict[str, tuple[bool, Convert | None]] = {}

        def write(value: Any) -> dict[str, Any]:
            found = {}
            for name, item in value.items():
                part = parts.get(name)
                if part is None:
                    raise ValueError(f"{message.full_name} has no field '{name}'")
                optional, convert = part
                if item is None:
                    if not optional:
                        raise ValueError(f"{message.full_name}.{name} is None, which only optional fields can be")
                    continue
                found[name] = item if convert is None else convert(item)
            return found

        self._made["write", message.full_name] = write
        for part, repeated in _fields(message):
            convert = self._write_single(part)
            if _is_map(part):
                convert = _each_value(self._write_single(part.message_type.fields_by_name["value"]))
            elif repeated:
                convert = _each(convert)
            parts[part.name] = (part.has_presence, convert)
        return write

    def _write_single(self, part: Any) -> Convert | None:
        if part.enum_type is not None:
            values = self._enums.get(part.enum_type.full_name)
            return None if values is None else {value: number for number, value in values.items()}.__getitem__
        if part.message_type is None or _is_map(part):
            return None
        return _WRITERS.get(part.message_type.full_name) or self.writer(part.message_type)

    def reader(self, message: Any) -> Convert:
        """A message as a dict: what is not set and may be so is None."""
        known = self._made.get(("read", message.full_name))
        if known is not None:
            return known
        parts: list[tuple[str, bool, Convert | None]] = []

        def read(data: Any) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for name, optional, convert in parts:
                if optional and not data.HasField(name):
                    found[name] = None
                else:
                    item = getattr(data, name)
                    found[name] = item if convert is None else convert(item)
            return found

        self._made["read", message.full_name] = read
        for part, repeated in _fields(message):
            convert = self._read_single(part)
            if _is_map(part):
                value = self._read_single(part.message_type.fields_by_name["value"])
                convert = dict if value is None else _each_value(value)
            elif repeated:
                convert = list if convert is None else _each(convert)
            parts.append((part.name, part.has_presence, convert))
        return read

    def _read_single(self, part: Any) -> Convert | None:
        if part.enum_type is not None:
            names = {value.number: value.name for value in reversed(part.enum_type.values)}  # the first counts
            values = self._enums.get(part.enum_type.full_name, names)
            return lambda number: values.get(number, number)
        if part.message_type is None or _is_map(part):
            return None
        return _READERS.get(part.message_type.full_name) or self.reader(part.message_type)


def _fields(message: Any) -> list[tuple[Any, bool]]:
    """The fields of a message, and whether they are repeated, which the descriptors of old versions do not say."""
    proto = DescriptorProto()
    message.CopyToProto(proto)
    labels = {part.name: part.label for part in proto.field}
    return [(part, labels[part.name] == FieldDescriptorProto.LABEL_REPEATED) for part in message.fields]


def _is_map(part: Any) -> bool:
    return part.message_type is not None and bool(part.message_type.GetOptions().map_entry)


def _each(convert: Convert | None) -> Convert:
    return list if convert is None else lambda items: [convert(item) for item in items]


def _each_value(convert: Convert | None) -> Convert:
    return dict if convert is None else lambda items: {key: convert(items[key]) for key in items}
