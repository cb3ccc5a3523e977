"""The .proto files of columns, as ksqlDB registers them."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from millstream.sql.errors import SqlError
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import BaseType, Field, SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType

_DEFAULT_NAME = "ConnectDefault"
_VALID_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

_SCALARS = {
    BaseType.BOOLEAN: ("bool", "BoolValue"),
    BaseType.INTEGER: ("int32", "Int32Value"),
    BaseType.BIGINT: ("int64", "Int64Value"),
    BaseType.DOUBLE: ("double", "DoubleValue"),
    BaseType.STRING: ("string", "StringValue"),
    BaseType.BYTES: ("bytes", "BytesValue"),
}
_MESSAGES = {
    BaseType.DECIMAL: ("confluent.type.Decimal", "confluent/type/decimal.proto"),
    BaseType.DATE: ("google.type.Date", "google/type/date.proto"),
    BaseType.TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    BaseType.TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
_WRAPPERS = "google/protobuf/wrappers.proto"
_META = "confluent/meta.proto"


class Nullable(enum.Enum):
    """How NULL is told from a default: not at all, by `optional` fields, or by messages around the values."""

    NONE = ""
    OPTIONAL = "OPTIONAL"
    WRAPPER = "WRAPPER"


@dataclass
class _Message:
    """A message in the making."""

    name: str
    fields: list[str] = field(default_factory=list)
    nested: list[_Message] = field(default_factory=list)


def _checked_name(name: str) -> str:
    """A name as it is.

    Raises:
        SqlError: Protobuf does not take it.
    """
    if not _VALID_NAME.match(name):
        raise SqlError(f'"{name}" is not a valid identifier.')
    return name


def proto_text(columns: Sequence[Column], *, name: str | None, nullable: Nullable) -> str:
    """The file of a message whose fields are the columns.

    Args:
        columns: in order; their places are the fields' numbers.
        name: the full name of the message, if it has one.
        nullable: see `Nullable`.

    Raises:
        SqlError: Protobuf cannot have such columns.
    """
    return _Writer(nullable).text([Field(column.name, column.type) for column in columns], name)


class _Writer:
    def __init__(self, nullable: Nullable) -> None:
        self._nullable = nullable
        self._imports: list[str] = []
        self._unnamed = 0

    def text(self, fields: Sequence[Field], name: str | None) -> str:
        package, _, own_name = (name or self._next_name()).rpartition(".")
        message = self._message(_checked_name(own_name), fields)
        parts = ['syntax = "proto3";']
        if package:
            parts.append(f"package {package};")
        if self._imports:
            parts.append("\n".join(f'import "{path}";' for path in self._imports))
        parts.append("\n".join(_lines(message, "")))
        return "\n\n".join(parts) + "\n"

    def _next_name(self) -> str:
        self._unnamed += 1
        return f"{_DEFAULT_NAME}{self._unnamed}"

    def _message(self, name: str, fields: Sequence[Field]) -> _Message:
        message = _Message(name)
        for number, part in enumerate(fields, 1):
            self._field(message, _checked_name(part.name), part.type, number)
        return message

    def _field(self, message: _Message, name: str, kind: SqlType, number: int) -> None:
        label = ""
        if isinstance(kind, SqlArray):
            label, kind = "repeated ", kind.item
        elif isinstance(kind, SqlMap):
            label = "repeated "
        elif self._nullable is Nullable.OPTIONAL:
            label = "optional "
        options = _decimal_options(kind) if isinstance(kind, SqlDecimal) else ""
        if options:
            self._import(_META)
        message.fields.append(f"{label}{self._type(message, name, kind)} {name} = {number}{options};")

    def _type(self, message: _Message, field_name: str, kind: SqlType) -> str:
        if isinstance(kind, SqlStruct):
            name = self._next_name()
            name = f"{name}Message" if name == field_name else name
            message.nested.append(self._message(name, kind.fields))
            return name
        if isinstance(kind, SqlMap):
            name = f"{self._next_name()}Entry"
            message.nested.append(self._message(name, (Field("key", kind.key), Field("value", kind.value))))
            return name
        if isinstance(kind, SqlArray):
            raise SqlError("Array cannot be nested")
        if kind.base in _MESSAGES:
            name, path = _MESSAGES[kind.base]
            self._import(path)
            return name
        plain, wrapper = _SCALARS[kind.base]
        if self._nullable is Nullable.WRAPPER:
            self._import(_WRAPPERS)
            return f"google.protobuf.{wrapper}"
        return plain

    def _import(self, path: str) -> None:
        if path not in self._imports:
            self._imports.append(path)


def _decimal_options(kind: SqlDecimal) -> str:
    params = ", ".join(
        f'{{ key: "{name}", value: "{value}" }}'
        for name, value in (("precision", kind.precision), ("scale", kind.scale))
    )
    return f" [(confluent.field_meta) = {{ params: [{params}] }}]"


def _lines(message: _Message, indent: str) -> list[str]:
    inner = f"{indent}  "
    lines = [f"{indent}message {message.name} {{", *(f"{inner}{part}" for part in message.fields)]
    for nested in message.nested:
        lines += ["", *_lines(nested, inner)]
    return [*lines, f"{indent}}}"]
