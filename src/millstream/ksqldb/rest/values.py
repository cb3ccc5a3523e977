"""Values of SQL types in JSON, as ksqlDB writes them."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import msgspec

from millstream.sql.schema.columns import Column
from millstream.sql.schema.time_text import date_text, time_text, timestamp_text
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType

#: How a value becomes one that JSON has; None: it is one already.
Conversion = Callable[[Any], Any] | None

_encoder = msgspec.json.Encoder()

#: Anything that JSON can have, as bytes.
encode: Callable[[Any], bytes] = _encoder.encode


def row_encoder(columns: Iterable[Column]) -> Callable[[tuple[Any, ...]], bytes]:
    """The function that gives the JSON array of a row's values.

    >>> from millstream.sql.schema.types import DATE, SqlDecimal
    >>> row_encoder([Column("A", DATE), Column("B", SqlDecimal(10, 8))])((1, Decimal("0E-8")))
    b'["1970-01-02",0.00000000]'
    """
    conversions = [_conversion(column.type) for column in columns]
    if not any(conversions):
        return encode

    def encode_row(values: tuple[Any, ...]) -> bytes:
        return encode(
            [
                value if convert is None or value is None else convert(value)
                for convert, value in zip(conversions, values, strict=True)
            ]
        )

    return encode_row


def _conversion(kind: SqlType) -> Conversion:
    if isinstance(kind, SqlArray):
        return _array(_conversion(kind.item))
    if isinstance(kind, SqlMap):
        return _map(kind, _conversion(kind.value))
    if isinstance(kind, SqlStruct):
        return _struct({field.name: _conversion(field.type) for field in kind.fields})
    return _SCALARS.get(kind.base)


def _array(item: Conversion) -> Conversion:
    if item is None:
        return None
    return lambda values: [None if value is None else item(value) for value in values]


def _map(kind: SqlMap, item: Conversion) -> Conversion:
    if item is None and kind.key.base is BaseType.STRING:
        return None

    def convert(entries: dict[Any, Any]) -> dict[str, Any]:
        return {str(name): value if value is None or item is None else item(value) for name, value in entries.items()}

    return convert


def _struct(fields: dict[str, Conversion]) -> Conversion:
    converted = {name: convert for name, convert in fields.items() if convert is not None}
    if not converted:
        return None

    def convert(values: dict[str, Any]) -> dict[str, Any]:
        found = dict(values)
        for name, change in converted.items():
            if found.get(name) is not None:
                found[name] = change(found[name])
        return found

    return convert


def _decimal(value: Decimal) -> msgspec.Raw:
    # All digits of the scale, and never an exponent: text would be safer, but is not what clients read.
    return msgspec.Raw(format(value, "f").encode())


def _double(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


_SCALARS: dict[BaseType, Callable[[Any], Any]] = {
    BaseType.DECIMAL: _decimal,
    BaseType.DOUBLE: _double,
    BaseType.BYTES: _bytes,
    BaseType.DATE: date_text,
    BaseType.TIME: time_text,
    BaseType.TIMESTAMP: timestamp_text,
}
