"""Values as the text that CAST gives, which is Java's."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from millstream.sql.formats.numbers import double_to_text
from millstream.sql.functions.java.utf16 import units
from millstream.sql.schema.time_text import date_text, timestamp_text
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType


def boolean_text(value: bool) -> str:
    """A BOOLEAN as text.

    >>> boolean_text(True)
    'true'
    """
    return "true" if value else "false"


def decimal_text(value: Decimal) -> str:
    """A DECIMAL inside of something, as text: with an exponent where Java has one.

    >>> decimal_text(Decimal("0.0000001")), decimal_text(Decimal("1.50"))
    ('1E-7', '1.50')
    """
    return str(value)


def bytes_text(value: bytes) -> str:
    """BYTES inside of something, as text."""
    return f"java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]"


def inner_time_text(value: int) -> str:
    """A TIME inside of something, as text.

    >>> inner_time_text(3_600_500)
    '01:00:00'
    """
    return timestamp_text(value)[11:19]


def inner_timestamp_text(value: int) -> str:
    """A TIMESTAMP inside of something, as text.

    >>> inner_timestamp_text(0), inner_timestamp_text(120)
    ('1970-01-01 00:00:00.0', '1970-01-01 00:00:00.12')
    """
    day, _, time = timestamp_text(value).partition("T")
    return f"{day} {time[:10]}{time[10:].rstrip('0')}"


_PLAIN: dict[BaseType, Callable[[Any], str]] = {
    BaseType.BOOLEAN: boolean_text,
    BaseType.INTEGER: str,
    BaseType.BIGINT: str,
    BaseType.DOUBLE: double_to_text,
    BaseType.DECIMAL: decimal_text,
    BaseType.STRING: str,
    BaseType.BYTES: bytes_text,
    BaseType.DATE: date_text,
    BaseType.TIME: inner_time_text,
    BaseType.TIMESTAMP: inner_timestamp_text,
}


def writer(kind: SqlType) -> Callable[[Any], str]:
    """What writes values of a type; NULL is `null`.

    >>> from millstream.sql.schema.types import INTEGER, STRING
    >>> writer(SqlArray(INTEGER))([1, None]), writer(SqlMap(STRING, INTEGER))({"a": 1})
    ('[1, null]', '{a=1}')
    """
    match kind:
        case SqlArray(item=item):
            return _ArrayWriter(writer(item))
        case SqlMap(key=key, value=value):
            return _MapWriter(writer(key), writer(value))
        case SqlStruct(fields=fields):
            return _StructWriter(tuple((field.name, writer(field.type)) for field in fields))
    return _Nullable(_PLAIN[kind.base])


def in_hash_order(keys: Collection[Any]) -> list[Any]:
    """Keys in the order in which Java's HashMap has them, as long as they are text or whole numbers.

    >>> in_hash_order(["two", "one", "three"])
    ['one', 'two', 'three']
    """
    size = 16
    while len(keys) > size * 3 // 4:
        size *= 2
    return sorted(keys, key=lambda key: _spread(_hash(key)) & size - 1)


def _hash(key: Any) -> int:
    if isinstance(key, str):
        result = 0
        for unit in units(key):
            result = result * 31 + ord(unit) & 0xFFFF_FFFF
        return result
    if isinstance(key, int):
        return (key ^ key >> 32 if abs(key) > 0x7FFF_FFFF else key) & 0xFFFF_FFFF
    return 0


def _spread(hashed: int) -> int:
    return hashed ^ hashed >> 16


@dataclass(frozen=True)
class _Nullable:
    write: Callable[[Any], str]

    def __call__(self, value: Any) -> str:
        return "null" if value is None else self.write(value)


@dataclass(frozen=True)
class _ArrayWriter:
    write: Callable[[Any], str]

    def __call__(self, value: list[Any] | None) -> str:
        return "null" if value is None else f"[{', '.join(map(self.write, value))}]"


@dataclass(frozen=True)
class _MapWriter:
    write_key: Callable[[Any], str]
    write_value: Callable[[Any], str]

    def __call__(self, value: dict[Any, Any] | None) -> str:
        if value is None:
            return "null"
        pairs = (f"{self.write_key(key)}={self.write_value(value[key])}" for key in in_hash_order(value))
        return f"{{{', '.join(pairs)}}}"


@dataclass(frozen=True)
class _StructWriter:
    """Fields that are NULL are left out."""

    fields: tuple[tuple[str, Callable[[Any], str]], ...]

    def __call__(self, value: tuple[Any, ...] | None) -> str:
        if value is None:
            return "null"
        pairs = zip(self.fields, value, strict=True)
        return "Struct{" + ",".join(f"{name}={write(item)}" for (name, write), item in pairs if item is not None) + "}"
