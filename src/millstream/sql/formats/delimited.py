"""DELIMITED: separated values, one line per row."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.formats import numbers
from millstream.sql.formats.csv_text import join_line, split_line
from millstream.sql.formats.format import Codec, Format, Row, Target
from millstream.sql.formats.times import check_time
from millstream.sql.schema.formats import Feature, FormatInfo
from millstream.sql.schema.types import BaseType, SqlDecimal, SqlType, quote

DELIMITER = "delimiter"

_NAMED = {"TAB": "\t", "SPACE": " "}
_NESTED = {BaseType.ARRAY, BaseType.MAP, BaseType.STRUCT}
#: Types whose empty text is a NULL when it is read again, or whose text can be empty at all.
_BLURRED = {BaseType.STRING, BaseType.BYTES}


def parse_delimiter(text: str) -> str:
    """The character that a VALUE_DELIMITER or KEY_DELIMITER names.

    Raises:
        SqlError: it names none.

    >>> parse_delimiter("SPACE")
    ' '
    """
    if not text.strip():
        raise SqlError(
            "Delimiter cannot be empty, if you meant to have a tab or space for delimiter, please use the special "
            "values 'TAB' or 'SPACE'\nExample valid value: ';'"
        )
    if len(text) == 1:
        return text
    if text not in _NAMED:
        raise SqlError(
            f"Invalid delimiter value: '{text}'. Delimiter must be a single character or TAB,SPACE\n"
            "Example valid value: ';'"
        )
    return _NAMED[text]


class DelimitedFormat(Format):
    """Separated values; an empty field is NULL."""

    name = "DELIMITED"
    supported_features = frozenset({Feature.UNWRAP_SINGLES})  # a line of one field is bare anyway
    supported_properties = frozenset({DELIMITER})
    inherited_properties = frozenset({DELIMITER})

    def supports_key_type(self, kind: SqlType) -> bool:
        return kind.base not in _NESTED

    def check_properties(self, info: FormatInfo) -> None:
        super().check_properties(info)
        delimiter = info.get(DELIMITER)
        if delimiter is not None:
            parse_delimiter(delimiter)

    def check(self, target: Target) -> None:
        for column in target.columns:
            if column.type.base in _NESTED:
                raise SqlError(
                    f"The 'DELIMITED' format does not support type '{column.type.base.value}', "
                    f"column: {quote(column.name)}"
                )

    def read_failure(self, target: Target, reason: str) -> str:
        return "Error deserializing delimited"

    def write_failure(self, target: Target, reason: str) -> str:
        return "Error serializing CSV message"

    def codec(self, target: Target) -> Codec:
        delimiter = parse_delimiter(target.encoding.format.get(DELIMITER) or ",")
        kinds = [column.type for column in target.columns]
        distinct = not any(kind.base in _BLURRED for kind in kinds)
        return Codec(_writer(kinds, delimiter), _reader(kinds, delimiter, target.topic), distinct)


def _reader(kinds: list[SqlType], delimiter: str, topic: str) -> Callable[[bytes], Row]:
    parsers = [_parser(kind) for kind in kinds]
    count = len(parsers)

    def deserialize(data: bytes) -> Row:
        fields = split_line(data.decode(), delimiter)
        if len(fields) != count:
            raise ValueError(
                f"Column count mismatch on deserialization. topic: {topic}, expected: {count}, got: {len(fields)}"
            )
        return tuple([parse(field) if field else None for parse, field in zip(parsers, fields, strict=True)])

    return deserialize


def _parser(kind: SqlType) -> Callable[[str], Any]:
    if isinstance(kind, SqlDecimal):
        precision, scale = kind.precision, kind.scale
        return lambda text: numbers.fit_decimal(numbers.parse_decimal(text), precision, scale)
    return _PARSERS[kind.base]


def _parse_time(text: str) -> int:
    return check_time(numbers.parse_bigint(text))


def _parse_bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


_PARSERS: dict[BaseType, Callable[[str], Any]] = {
    BaseType.BOOLEAN: numbers.parse_boolean,
    BaseType.INTEGER: numbers.parse_integer,
    BaseType.BIGINT: numbers.parse_bigint,
    BaseType.DOUBLE: numbers.parse_double,
    BaseType.STRING: str,
    BaseType.BYTES: _parse_bytes,
    BaseType.DATE: numbers.parse_integer,
    BaseType.TIME: _parse_time,
    BaseType.TIMESTAMP: numbers.parse_bigint,
}


def _writer(kinds: list[SqlType], delimiter: str) -> Callable[[Row], bytes]:
    texts = [_TEXTS.get(kind.base, str) for kind in kinds]

    def serialize(row: Row) -> bytes:
        fields = [None if value is None else text(value) for text, value in zip(texts, row, strict=True)]
        return join_line(fields, delimiter).encode()

    return serialize


def _bytes_text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


_TEXTS: dict[BaseType, Callable[[Any], str]] = {
    BaseType.BOOLEAN: _boolean_text,
    BaseType.DOUBLE: numbers.double_to_text,
    BaseType.DECIMAL: numbers.plain,
    BaseType.BYTES: _bytes_text,
}
