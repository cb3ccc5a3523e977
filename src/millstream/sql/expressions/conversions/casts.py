"""CAST.

What cannot be cast is refused when the expression is compiled; values that do not fit, while it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.expressions.conversions import decimals, values
from millstream.sql.expressions.conversions.text import boolean_text, writer
from millstream.sql.formats.numbers import double_to_text, parse_bigint, parse_decimal, parse_integer, plain
from millstream.sql.schema.java_numbers import double_to_bigint, double_to_integer, wrap_bigint, wrap_integer
from millstream.sql.schema.time_text import (
    DAY_MS,
    date_text,
    parse_date,
    parse_time,
    parse_timestamp,
    time_text,
    timestamp_text,
)
from millstream.sql.schema.types import BaseType, SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType

#: Whether CAST(NULL AS STRING) is NULL; else it is the text null.
PRESERVE_NULLS = "ksql.cast.strings.preserve.nulls"

_Cast = Callable[[Any], Any]


def _text_to_boolean(value: str) -> bool:
    return values.parse_boolean(value.strip(values.BLANK)) is True


def _text_to_integer(value: str) -> int:
    return parse_integer(value.strip(values.BLANK))


def _text_to_bigint(value: str) -> int:
    return parse_bigint(value.strip(values.BLANK))


def _text_to_double(value: str) -> float:
    return values.parse_finite_double(value.strip(values.BLANK))


def _text_to_timestamp(value: str) -> int:
    return parse_timestamp(value.strip(values.BLANK))


def _text_to_time(value: str) -> int:
    return parse_time(value.strip(values.BLANK))


def _text_to_date(value: str) -> int:
    return parse_date(value.strip(values.BLANK))


def _text_to_bytes(value: str) -> bytes:
    return values.decode_base64(value.strip(values.BLANK))


def _decimal_to_integer(value: Decimal) -> int:
    return wrap_integer(int(value))


def _decimal_to_bigint(value: Decimal) -> int:
    return wrap_bigint(int(value))


def _timestamp_to_time(value: int) -> int:
    return value % DAY_MS


def timestamp_to_date(value: int) -> int:
    """The day of a TIMESTAMP."""
    return value // DAY_MS


def date_to_timestamp(value: int) -> int:
    """The TIMESTAMP at which a DATE begins."""
    return value * DAY_MS


_SIMPLE: dict[tuple[BaseType, BaseType], _Cast] = {
    (BaseType.BOOLEAN, BaseType.STRING): boolean_text,
    (BaseType.INTEGER, BaseType.BIGINT): int,
    (BaseType.INTEGER, BaseType.DOUBLE): float,
    (BaseType.INTEGER, BaseType.STRING): str,
    (BaseType.BIGINT, BaseType.INTEGER): wrap_integer,
    (BaseType.BIGINT, BaseType.DOUBLE): float,
    (BaseType.BIGINT, BaseType.STRING): str,
    (BaseType.DECIMAL, BaseType.INTEGER): _decimal_to_integer,
    (BaseType.DECIMAL, BaseType.BIGINT): _decimal_to_bigint,
    (BaseType.DECIMAL, BaseType.DOUBLE): float,
    (BaseType.DECIMAL, BaseType.STRING): plain,
    (BaseType.DOUBLE, BaseType.INTEGER): double_to_integer,
    (BaseType.DOUBLE, BaseType.BIGINT): double_to_bigint,
    (BaseType.DOUBLE, BaseType.STRING): double_to_text,
    (BaseType.STRING, BaseType.BOOLEAN): _text_to_boolean,
    (BaseType.STRING, BaseType.INTEGER): _text_to_integer,
    (BaseType.STRING, BaseType.BIGINT): _text_to_bigint,
    (BaseType.STRING, BaseType.DOUBLE): _text_to_double,
    (BaseType.STRING, BaseType.TIMESTAMP): _text_to_timestamp,
    (BaseType.STRING, BaseType.TIME): _text_to_time,
    (BaseType.STRING, BaseType.DATE): _text_to_date,
    (BaseType.STRING, BaseType.BYTES): _text_to_bytes,
    (BaseType.TIMESTAMP, BaseType.STRING): timestamp_text,
    (BaseType.TIMESTAMP, BaseType.TIME): _timestamp_to_time,
    (BaseType.TIMESTAMP, BaseType.DATE): timestamp_to_date,
    (BaseType.DATE, BaseType.TIMESTAMP): date_to_timestamp,
    (BaseType.DATE, BaseType.STRING): date_text,
    (BaseType.TIME, BaseType.STRING): time_text,
}

#: Casts that write NULL as text when nulls are not preserved.
_WRITE_NULL = {
    BaseType.BOOLEAN,
    BaseType.INTEGER,
    BaseType.BIGINT,
    BaseType.DOUBLE,
    BaseType.ARRAY,
    BaseType.MAP,
    BaseType.STRUCT,
}


@dataclass(frozen=True)
class CastFunction:
    """A cast of values that are not NULL.

    Attributes:
        convert: the cast.
        null: what NULL becomes.
    """

    convert: _Cast
    null: str | None = None

    def __call__(self, value: Any) -> Any:
        return self.null if value is None else self.convert(value)


def cast_function(source: SqlType, target: SqlType, *, preserve_nulls: bool = True) -> CastFunction:
    """The cast from one type to another.

    >>> from millstream.sql.schema.types import INTEGER, STRING
    >>> cast_function(STRING, INTEGER)(" 12 ")
    12

    Raises:
        SqlError: there is no such cast.
    """
    if source == target:
        return CastFunction(_same)
    null = "null" if target.base is BaseType.STRING and source.base in _WRITE_NULL and not preserve_nulls else None
    return CastFunction(_converter(source, target, preserve_nulls), null)


def _same(value: Any) -> Any:
    return value


def _converter(source: SqlType, target: SqlType, preserve_nulls: bool) -> _Cast:
    simple = _SIMPLE.get((source.base, target.base))
    if simple is not None:
        return simple
    if isinstance(target, SqlDecimal) and (source.base.is_number or source.base is BaseType.STRING):
        return _ToDecimal(source.base, target.precision, target.scale)
    try:
        match source, target:
            case SqlArray(item=one), SqlArray(item=other):
                return _ArrayCast(cast_function(one, other, preserve_nulls=preserve_nulls))
            case SqlMap(), SqlMap():
                return _MapCast(
                    cast_function(source.key, target.key, preserve_nulls=preserve_nulls),
                    cast_function(source.value, target.value, preserve_nulls=preserve_nulls),
                )
            case SqlStruct(), SqlStruct():
                return _struct_cast(source, target, preserve_nulls)
            case ((SqlArray() | SqlMap() | SqlStruct()), SqlType(base=BaseType.STRING)):
                return writer(source)
    except SqlError as error:
        raise SqlError(f"Cast of {source} to {target} is not supported") from error
    raise SqlError(f"Cast of {source} to {target} is not supported")


def _struct_cast(source: SqlStruct, target: SqlStruct, preserve_nulls: bool) -> _Cast:
    fields: list[tuple[int, CastFunction] | None] = []
    for field in target.fields:
        index = source.index(field.name)
        if index is None:
            fields.append(None)
        else:
            cast = cast_function(source.fields[index].type, field.type, preserve_nulls=preserve_nulls)
            fields.append((index, cast))
    return _StructCast(tuple(fields))


@dataclass(frozen=True)
class _ToDecimal:
    source: BaseType
    precision: int
    scale: int

    def __call__(self, value: Any) -> Decimal:
        if self.source is BaseType.DOUBLE:
            return decimals.from_double(value, self.precision, self.scale)
        number = parse_decimal(value.strip(values.BLANK)) if self.source is BaseType.STRING else Decimal(value)
        return decimals.fit(number, self.precision, self.scale)


@dataclass(frozen=True)
class _ArrayCast:
    item: CastFunction

    def __call__(self, value: list[Any]) -> list[Any]:
        return [*map(self.item, value)]


@dataclass(frozen=True)
class _MapCast:
    key: CastFunction
    value: CastFunction

    def __call__(self, value: dict[Any, Any]) -> dict[Any, Any]:
        return {self.key(key): self.value(item) for key, item in value.items()}


@dataclass(frozen=True)
class _StructCast:
    """One entry per field of the target: where it is in the source and how it is cast; None: not there."""

    fields: tuple[tuple[int, CastFunction] | None, ...]

    def __call__(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(None if field is None else field[1](value[field[0]]) for field in self.fields)
