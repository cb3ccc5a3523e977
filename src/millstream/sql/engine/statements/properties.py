"""The WITH clause: which properties there are, and what they must look like."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.formats import parse_delimiter
from millstream.sql.functions.java.time import compile_pattern
from millstream.sql.parser import parse_expression
from millstream.sql.schema.formats import FormatInfo, WindowInfo, WindowType
from millstream.sql.tree.expressions import ColumnReference, Literal, NullLiteral, TimeUnit
from millstream.sql.tree.statements import Properties

_NULLABLE_REPRESENTATIONS = ("OPTIONAL", "WRAPPER")


class _Type(enum.Enum):
    """The types of properties, with what they say to a wrong value."""

    STRING = "Expected value to be a string"
    INT = "Expected value to be a 32-bit integer"
    SHORT = "Expected value to be a 16-bit integer (short)"
    LONG = "Expected value to be a 64-bit integer (long)"
    BOOLEAN = "Expected value to be either true or false"


def _common(*, topic_required: bool) -> dict[str, _Rule]:
    return {
        "KAFKA_TOPIC": _Rule(_Type.STRING, _check_not_empty, required=topic_required),
        "PARTITIONS": _Rule(_Type.INT),
        "REPLICAS": _Rule(_Type.SHORT),
        "RETENTION_MS": _Rule(_Type.LONG),
        "VALUE_FORMAT": _Rule(_Type.STRING),
        "TIMESTAMP": _Rule(_Type.STRING),
        "TIMESTAMP_FORMAT": _Rule(_Type.STRING),
        "WRAP_SINGLE_VALUE": _Rule(_Type.BOOLEAN),
        "KEY_PROTOBUF_NULLABLE_REPRESENTATION": _Rule(_Type.STRING, _one_of(_NULLABLE_REPRESENTATIONS)),
        "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": _Rule(_Type.STRING, _one_of(_NULLABLE_REPRESENTATIONS)),
        "VALUE_AVRO_SCHEMA_FULL_NAME": _Rule(_Type.STRING),
        "KEY_SCHEMA_FULL_NAME": _Rule(_Type.STRING),
        "VALUE_SCHEMA_FULL_NAME": _Rule(_Type.STRING),
        "KEY_DELIMITER": _Rule(_Type.STRING, _check_delimiter),
        "VALUE_DELIMITER": _Rule(_Type.STRING, _check_delimiter),
        "KEY_FORMAT": _Rule(_Type.STRING),
        "FORMAT": _Rule(_Type.STRING),
        "KEY_SCHEMA_ID": _Rule(_Type.INT),
        "VALUE_SCHEMA_ID": _Rule(_Type.INT),
        "CLEANUP_POLICY": _Rule(_Type.STRING),
    }


@dataclass(frozen=True)
class _Rule:
    """What a property must be.

    Attributes:
        check: raises for a value that has the type but cannot be.
    """

    type: _Type
    check: Callable[[str, Any], None] | None = None
    required: bool = False


def _check_not_empty(name: str, value: str) -> None:
    if not value:
        raise SqlError(f"Invalid value {value} for property {name}: String must be non-empty")


def _one_of(choices: tuple[str, ...]) -> Callable[[str, Any], None]:
    def check(name: str, value: str) -> None:
        if value.upper() not in choices:
            listed = ", ".join(choices)
            raise SqlError(f"Invalid value {value} for property {name}: String must be one of: {listed}, null")

    return check


def _check_delimiter(name: str, value: str) -> None:
    try:
        parse_delimiter(value)
    except SqlError as error:
        raise SqlError(f"Configuration {name} is invalid: {error.primary}") from error


def _check_duration(name: str, value: str) -> None:
    try:
        parse_duration(value)
    except SqlError as error:
        raise SqlError(f"Configuration {name} is invalid: {error.primary}") from error


_CREATE_AS = _common(topic_required=False)
_CREATE = {
    "WINDOW_TYPE": _Rule(_Type.STRING, _one_of(tuple(kind.value for kind in WindowType))),
    "WINDOW_SIZE": _Rule(_Type.STRING, _check_duration),
    "SOURCE_CONNECTOR": _Rule(_Type.STRING),
    "SOURCED_BY_CONNECTOR": _Rule(_Type.STRING),
    **_common(topic_required=True),
}
_INSERT = {"QUERY_ID": _Rule(_Type.STRING, _check_not_empty)}


class WithClause:
    """The properties of a WITH clause, checked and typed.

    Raises:
        SqlError: a property is unknown, missing, or not what it must be.
    """

    def __init__(self, properties: Properties, rules: Mapping[str, _Rule]) -> None:
        given = {name.upper(): _value(literal) for name, literal in properties.items()}
        self._values = {name: _typed(name, given.get(name), rule) for name, rule in rules.items()}
        unknown = [name for name in given if name not in rules]
        if unknown:
            raise SqlError(f"Invalid config variable(s) in the WITH clause: {','.join(unknown)}")

    @classmethod
    def of_create(cls, properties: Properties) -> WithClause:
        """The WITH of CREATE STREAM and CREATE TABLE."""
        clause = cls(properties, _CREATE)
        clause._check_formats()
        clause._check_timestamp_format()
        clause._check_window()
        return clause

    @classmethod
    def of_create_as(cls, properties: Properties) -> WithClause:
        """The WITH of CREATE .. AS SELECT."""
        clause = cls(properties, _CREATE_AS)
        clause._check_formats()
        clause._check_timestamp_format()
        return clause

    @classmethod
    def of_insert(cls, properties: Properties) -> WithClause:
        """The WITH of INSERT INTO."""
        return cls(properties, _INSERT)

    def text(self, name: str) -> str | None:
        """A property that is text."""
        value: str | None = self._values.get(name)
        return value

    def number(self, name: str) -> int | None:
        """A property that is a number."""
        value: int | None = self._values.get(name)
        return value

    def with_formats(self, key: str, value: str) -> WithClause:
        """The same with formats said."""
        if self.text("FORMAT") is not None:
            return self
        return self._with(KEY_FORMAT=key, VALUE_FORMAT=value)

    def with_schema_names(self, key: str | None, value: str | None) -> WithClause:
        """The same with the names of the schemas that were found."""
        names = {"KEY_SCHEMA_FULL_NAME": key, "VALUE_SCHEMA_FULL_NAME": value}
        return self._with(**{name: text for name, text in names.items() if text is not None})

    def _with(self, **values: Any) -> WithClause:
        other = object.__new__(WithClause)
        other._values = {**self._values, **values}
        return other

    @property
    def topic(self) -> str | None:
        return self.text("KAFKA_TOPIC")

    @property
    def key_format(self) -> str | None:
        return self.text("FORMAT") or self.text("KEY_FORMAT")

    @property
    def value_format(self) -> str | None:
        return self.text("FORMAT") or self.text("VALUE_FORMAT")

    @property
    def timestamp_column(self) -> str | None:
        text = self.text("TIMESTAMP")
        return None if text is None else _column_name(text)

    @property
    def wrap_single_value(self) -> bool | None:
        wrap: bool | None = self._values.get("WRAP_SINGLE_VALUE")
        return wrap

    @property
    def window(self) -> WindowInfo | None:
        kind, size = self.text("WINDOW_TYPE"), self.text("WINDOW_SIZE")
        if kind is None:
            return None
        return WindowInfo(WindowType(kind.upper()), None if size is None else parse_duration(size))

    def key_properties(self, source: str, format_name: str) -> tuple[tuple[str, str], ...]:
        """What the key's format is told. Avro keys have a name that no other source's keys have."""
        found: dict[str, str] = {}
        schema = self.text("KEY_SCHEMA_FULL_NAME")
        if schema is not None:
            found["fullSchemaName"] = schema
        elif format_name.upper() == "AVRO":
            found["fullSchemaName"] = avro_key_name(source)
        return self._format_properties("KEY", format_name, found)

    def value_properties(self, format_name: str) -> tuple[tuple[str, str], ...]:
        """What the value's format is told."""
        found: dict[str, str] = {}
        schema = self.text("VALUE_AVRO_SCHEMA_FULL_NAME")
        schema = self.text("VALUE_SCHEMA_FULL_NAME") if schema is None else schema
        if schema is not None:
            found["fullSchemaName"] = schema
        return self._format_properties("VALUE", format_name, found)

    def _format_properties(self, part: str, format_name: str, found: dict[str, str]) -> tuple[tuple[str, str], ...]:
        delimiter = self.text(f"{part}_DELIMITER")
        if delimiter is not None:
            found["delimiter"] = delimiter
        if format_name.upper() == "PROTOBUF":
            found["unwrapPrimitives"] = "true"
        nullable = self.text(f"{part}_PROTOBUF_NULLABLE_REPRESENTATION")
        if nullable is not None:
            if format_name.upper() not in ("PROTOBUF", "PROTOBUF_NOSR"):
                raise SqlError(
                    f"Property {part}_PROTOBUF_NULLABLE_REPRESENTATION can only be enabled with protobuf format"
                )
            found["nullableRepresentation"] = nullable.lower()
        schema_id = self.number(f"{part}_SCHEMA_ID")
        if schema_id is not None:
            found["schemaId"] = str(schema_id)
        return tuple(sorted(found.items()))

    def key_format_info(self, source: str) -> FormatInfo | None:
        """The format of keys, if it is said."""
        name = self.key_format
        return None if name is None else FormatInfo(name.upper(), self.key_properties(source, name))

    def value_format_info(self) -> FormatInfo | None:
        """The format of values, if it is said."""
        name = self.value_format
        return None if name is None else FormatInfo(name.upper(), self.value_properties(name))

    def _check_formats(self) -> None:
        if self.text("FORMAT") is not None:
            for name in ("KEY_FORMAT", "VALUE_FORMAT"):
                if self.text(name) is not None:
                    raise SqlError(
                        f"Cannot supply both '{name}' and 'FORMAT' properties, as 'FORMAT' sets both key and value "
                        "formats. Either use just 'FORMAT', or use 'KEY_FORMAT' and 'VALUE_FORMAT'."
                    )
        if self.text("VALUE_AVRO_SCHEMA_FULL_NAME") is not None and self.text("VALUE_SCHEMA_FULL_NAME") is not None:
            raise SqlError(
                "Cannot supply both 'VALUE_AVRO_SCHEMA_FULL_NAME' and 'VALUE_SCHEMA_FULL_NAME' properties. Please "
                "only set 'VALUE_SCHEMA_FULL_NAME'."
            )

    def _check_timestamp_format(self) -> None:
        pattern = self.text("TIMESTAMP_FORMAT")
        if pattern is not None:
            check_time_pattern("TIMESTAMP_FORMAT", pattern)

    def _check_window(self) -> None:
        kind, size = self.text("WINDOW_TYPE"), self.text("WINDOW_SIZE")
        needs_size = kind is not None and kind.upper() != "SESSION"
        if kind is not None and needs_size and size is None:
            raise SqlError(
                f"{kind.upper()} windows require 'WINDOW_SIZE' to be provided in the WITH clause. "
                "For example: 'WINDOW_SIZE'='10 SECONDS'"
            )
        if not needs_size and size is not None:
            raise SqlError("'WINDOW_SIZE' should not be set for SESSION windows.")


def avro_key_name(source: str) -> str:
    """The full name of the Avro schema of a source's keys.

    >>> avro_key_name("ORDERS_BY_ID")
    'io.confluent.ksql.avro_schemas.OrdersByIdKey'
    """
    words = "".join(word.capitalize() for word in source.split("_"))
    return f"io.confluent.ksql.avro_schemas.{words}Key"


def parse_duration(text: str) -> int:
    """Milliseconds of '10 SECONDS'.

    >>> parse_duration("10 SECONDS")
    10000
    """
    parts = text.split()
    if len(parts) != 2:
        raise SqlError(f"Invalid duration: '{text}'. Expected 2 tokens, got: {len(parts)}")
    amount, unit = parts
    if not amount.lstrip("-").isdigit():
        raise SqlError(f"Invalid duration: '{text}'. Not numeric: '{amount}'")
    name = unit.upper() if unit.upper().endswith("S") else f"{unit.upper()}S"
    if name not in TimeUnit.__members__:
        raise SqlError(f"Invalid duration: '{text}'. Unknown time unit: '{unit}'")
    return int(amount) * TimeUnit[name].value


def check_time_pattern(name: str, pattern: str) -> None:
    """See that a pattern of java.time can be used.

    Raises:
        SqlError: it cannot.
    """
    try:
        compile_pattern(pattern)
    except Exception as error:
        reason = error.primary if isinstance(error, SqlError) else str(error)
        raise SqlError(f"Invalid datetime format for config:{name}, reason:{reason}") from error


def _column_name(text: str) -> str:
    """The column that TIMESTAMP='..' names: an identifier, quoted or not."""
    parsed = parse_expression(text)
    if not isinstance(parsed, ColumnReference):
        raise SqlError(f"Expected a column name, got: {text}")
    return parsed.name


def _value(literal: Literal) -> Any:
    return None if isinstance(literal, NullLiteral) else literal.value


def _typed(name: str, value: Any, rule: _Rule) -> Any:
    if value is None:
        if rule.required:
            raise SqlError(f'Missing required property "{name}" which has no default value.')
        return None
    converted = _converted(name, value, rule.type)
    if rule.check is not None:
        rule.check(name, converted)
    return converted


def _converted(name: str, value: Any, kind: _Type) -> Any:
    if kind is _Type.STRING:
        if isinstance(value, str):
            return value.strip()
    elif kind is _Type.BOOLEAN:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        raise SqlError(f"Invalid value {_shown(value)} for property {name}: {kind.value}")
    else:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str):
            try:
                return int(value.strip())
            except ValueError:
                raise SqlError(f"Invalid value {value} for property {name}: Not a number of type {kind.name}") from None
    raise SqlError(f"Invalid value {_shown(value)} for property {name}: {kind.value}, but it was a {_java(value)}")


_JAVA_CLASSES = {
    bool: "java.lang.Boolean",
    int: "java.lang.Integer",
    float: "java.lang.Double",
    str: "java.lang.String",
}


def _java(value: Any) -> str:
    return _JAVA_CLASSES.get(type(value), "java.math.BigDecimal")


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
