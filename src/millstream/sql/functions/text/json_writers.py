"""Values of SQL types as JSON texts, the way TO_JSON_STRING writes them: fields and keys in order of their names."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.sql.formats.numbers import double_to_text
from millstream.sql.functions.java.utf16 import sort_key
from millstream.sql.functions.text.json_tree import plain_number, quoted
from millstream.sql.schema.time_text import date_text, time_text, timestamp_text
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType

Writer = Callable[[Any], str]


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _double(value: float) -> str:
    return double_to_text(value) if math.isfinite(value) else f'"{double_to_text(value)}"'


def _bytes(value: bytes) -> str:
    return f'"{base64.b64encode(value).decode("ascii")}"'


def _date(value: int) -> str:
    return f'"{date_text(value)}"'


def _time(value: int) -> str:
    return f'"{time_text(value)}"'


def _timestamp(value: int) -> str:
    return f'"{timestamp_text(value)}"'


_PLAIN: dict[BaseType, Writer] = {
    BaseType.BOOLEAN: _boolean,
    BaseType.INTEGER: str,
    BaseType.BIGINT: str,
    BaseType.DOUBLE: _double,
    BaseType.DECIMAL: plain_number,
    BaseType.STRING: quoted,
    BaseType.BYTES: _bytes,
    BaseType.DATE: _date,
    BaseType.TIME: _time,
    BaseType.TIMESTAMP: _timestamp,
}
#: Keys of maps are texts, whatever their type is.
_KEYS: dict[BaseType, Writer] = {BaseType.BOOLEAN: _boolean, BaseType.DOUBLE: double_to_text}


def writer(type_: SqlType) -> Writer:
    """What writes values of a type.

    >>> from millstream.sql.schema.types import INTEGER, STRING
    >>> writer(SqlMap(STRING, INTEGER))({"b": 1, "a": None})
    '{"a":null,"b":1}'
    """
    match type_:
        case SqlArray(item=item):
            return _ArrayWriter(writer(item))
        case SqlMap(key=key, value=value):
            return _MapWriter(_KEYS.get(key.base, str), writer(value))
        case SqlStruct(fields=fields):
            indexed = sorted(enumerate(fields), key=lambda pair: sort_key(pair[1].name))
            return _StructWriter(
                tuple((f"{quoted(field.name)}:", index, writer(field.type)) for index, field in indexed)
            )
    return _Nullable(_PLAIN[type_.base])


@dataclass(frozen=True)
class _Nullable:
    write: Writer

    def __call__(self, value: Any) -> str:
        return "null" if value is None else self.write(value)


@dataclass(frozen=True)
class _ArrayWriter:
    write: Writer

    def __call__(self, value: list[Any] | None) -> str:
        return "null" if value is None else f"[{','.join(map(self.write, value))}]"


@dataclass(frozen=True)
class _MapWriter:
    key_text: Writer
    write: Writer

    def __call__(self, value: dict[Any, Any] | None) -> str:
        if value is None:
            return "null"
        entries = sorted(((self.key_text(key), item) for key, item in value.items()), key=_entry_order)
        return "{" + ",".join(f"{quoted(key)}:{self.write(item)}" for key, item in entries) + "}"


def _entry_order(entry: tuple[str, Any]) -> str:
    return sort_key(entry[0])


@dataclass(frozen=True)
class _StructWriter:
    fields: tuple[tuple[str, int, Writer], ...]

    def __call__(self, value: tuple[Any, ...] | None) -> str:
        if value is None:
            return "null"
        return "{" + ",".join(f"{name}{write(value[index])}" for name, index, write in self.fields) + "}"
