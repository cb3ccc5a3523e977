"""The same objects with each row as bytes of a Protobuf message, whose schema is in the header."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from millstream.ksqldb.api import Answer, Row
from millstream.ksqldb.rest.formats.v1 import V1Format
from millstream.sql.formats.format import Target
from millstream.sql.formats.protobuf.protobuf_format import ProtobufNoSrFormat
from millstream.sql.formats.protobuf.write_schema import Nullable, proto_text
from millstream.sql.schema.columns import Column
from millstream.sql.schema.formats import Encoding, FormatInfo
from millstream.sql.schema.types import SqlArray, SqlMap, SqlStruct, SqlType


def protobuf_format(answer: Answer) -> V1Format:
    """The format with rows as bytes.

    Raises:
        SqlError: Protobuf cannot have such columns.
    """
    columns = tuple(Column(column.name, column.type) for column in answer.columns)
    target = Target(Encoding(FormatInfo(ProtobufNoSrFormat.name)), columns, is_key=False)
    format = ProtobufNoSrFormat()
    format.check(target)
    serialize = format.codec(target).serialize
    conversions = [_conversion(column.type) for column in columns]

    def encode_row(row: Row) -> bytes:
        values = tuple(convert(value) for convert, value in zip(conversions, row.values, strict=True))
        tombstone = b',"tombstone":true' if row.is_tombstone else b""
        return b'{"row":{"protobufBytes":"%s"%s}}' % (base64.b64encode(serialize(values) or b""), tombstone)

    return V1Format(answer, {"protoSchema": proto_text(columns, name=None, nullable=Nullable.NONE)}, encode_row)


def _conversion(kind: SqlType) -> Callable[[Any], Any]:
    """How a plain value becomes one of the engine's: structs are tuples there."""
    convert = _changed(kind)
    return lambda value: value if value is None or convert is None else convert(value)


def _changed(kind: SqlType) -> Callable[[Any], Any] | None:
    if isinstance(kind, SqlStruct):
        fields = [(field.name, _conversion(field.type)) for field in kind.fields]
        return lambda value: tuple(convert(value.get(name)) for name, convert in fields)
    if isinstance(kind, SqlArray):
        item = _conversion(kind.item)
        return lambda value: [item(each) for each in value]
    if isinstance(kind, SqlMap):
        entry = _conversion(kind.value)
        return lambda value: {name: entry(each) for name, each in value.items()}
    return None
