"""KAFKA: one column, in the bytes of Kafka's own serialisers."""

from __future__ import annotations

import struct

from millstream.sql.errors import SqlError
from millstream.sql.formats.format import Codec, Format, Row, Target, show_columns
from millstream.sql.formats.none import VOID
from millstream.sql.schema.formats import Feature
from millstream.sql.schema.types import BaseType, SqlType

_LAYOUTS = {
    BaseType.INTEGER: struct.Struct(">i"),
    BaseType.BIGINT: struct.Struct(">q"),
    BaseType.DOUBLE: struct.Struct(">d"),
}
_TYPES = {*_LAYOUTS, BaseType.STRING, BaseType.BYTES}


class KafkaFormat(Format):
    """Kafka's serialisers of int, long, double, string and bytes."""

    name = "KAFKA"
    supported_features = frozenset({Feature.UNWRAP_SINGLES})  # its single column is bare anyway
    supports_multiple_columns = False

    def supports_key_type(self, kind: SqlType) -> bool:
        return kind.base in _TYPES

    def check(self, target: Target) -> None:
        if len(target.columns) > 1:
            raise SqlError(f"The 'KAFKA' format only supports a single field. Got: {show_columns(target.columns)}")
        for column in target.columns:
            if column.type.base not in _TYPES:
                raise SqlError(f"The 'KAFKA' format does not support type '{column.type.base.value}'")

    def read_failure(self, target: Target, reason: str) -> str:
        return f"Error deserializing KAFKA message from topic: {target.topic}"

    def codec(self, target: Target) -> Codec:
        if not target.columns:
            return VOID
        base = target.columns[0].type.base
        if base is BaseType.STRING:
            return Codec(_write_text, _read_text)
        if base is BaseType.BYTES:
            return Codec(_write_bytes, _read_bytes)
        return _fixed(_LAYOUTS[base], f"a value of type {base.value}")


def _fixed(layout: struct.Struct, what: str) -> Codec:
    pack, unpack, size = layout.pack, layout.unpack, layout.size

    def serialize(row: Row) -> bytes | None:
        value = row[0]
        return None if value is None else pack(value)

    def deserialize(data: bytes) -> Row:
        if len(data) != size:
            raise ValueError(f"{what} has {size} bytes, not {len(data)}")
        return unpack(data)

    return Codec(serialize, deserialize)


def _write_text(row: Row) -> bytes | None:
    value = row[0]
    return None if value is None else value.encode()


def _read_text(data: bytes) -> Row:
    return (data.decode(),)


def _write_bytes(row: Row) -> bytes | None:
    value: bytes | None = row[0]
    return value


def _read_bytes(data: bytes) -> Row:
    return (data,)
