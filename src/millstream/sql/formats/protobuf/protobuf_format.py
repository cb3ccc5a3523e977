"""PROTOBUF, its schemas in a registry, and PROTOBUF_NOSR, its schemas made of the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message_factory import GetMessageClass

from millstream.registry.protobuf.indexes import index_of, read_index
from millstream.registry.protobuf.parse import parse_proto
from millstream.registry.protobuf.pool import FILE, Messages, load, load_registered
from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.sql.errors import SqlError
from millstream.sql.formats import wire
from millstream.sql.formats.connect.schema import ConnectSchema, record_type
from millstream.sql.formats.connect.values import conversion
from millstream.sql.formats.format import Codec, Format, RegistryFormat, Row, Target, check_map_keys
from millstream.sql.formats.protobuf.data import reading, writing
from millstream.sql.formats.protobuf.read_schema import WRAPPERS, connect_of
from millstream.sql.formats.protobuf.write_schema import Nullable, proto_text
from millstream.sql.schema.formats import Feature, FormatInfo

_MAP_KEYS = (
    "PROTOBUF format only supports MAP types with STRING keys. See https://github.com/confluentinc/ksql/issues/6177."
)


def _nullable(info: FormatInfo) -> Nullable:
    found = (info.get("nullableRepresentation") or "").upper()
    try:
        return Nullable(found)
    except ValueError:
        raise SqlError(f"Unknown nullable representation: {found}") from None


def _schema_name(info: FormatInfo) -> str | None:
    """The full name of the message, unless it is one that Connect makes up."""
    name = (info.get("fullSchemaName") or "").strip()
    return None if not name or name.startswith("ConnectDefault") else name


def _text_of(target: Target) -> str:
    info = target.encoding.format
    return proto_text(target.columns, name=_schema_name(info), nullable=_nullable(info))


def _check(target: Target) -> None:
    """See that columns make a message.

    Raises:
        SqlError: they do not.
    """
    check_map_keys([column.type for column in target.columns], _MAP_KEYS)
    try:
        load(_text_of(target))
    except ValueError as error:  # names that are taken twice
        raise SqlError(str(error)) from error


class ProtobufFormat(RegistryFormat):
    """Protobuf's encoding, after the number of the schema and the place of the message in it."""

    name = "PROTOBUF"
    schema_kind = "PROTOBUF"
    supported_features = frozenset({Feature.WRAP_SINGLES})
    supported_properties = frozenset(
        {"fullSchemaName", "schemaId", "unwrapPrimitives", "subjectName", "nullableRepresentation"}
    )
    inherited_properties = frozenset({"fullSchemaName", "nullableRepresentation"})

    def check(self, target: Target) -> None:
        _check(target)

    def schema_of(self, target: Target) -> RegisteredSchema:
        return RegisteredSchema(self.schema_kind, _text_of(target))

    def connect_schema(
        self, schema: RegisteredSchema, registry: SchemaRegistry | None, info: FormatInfo
    ) -> ConnectSchema:
        messages = load_registered(schema, registry)
        root = messages.find(_schema_name(info))
        if info.get("unwrapPrimitives") == "true" and root.full_name in WRAPPERS:
            return WRAPPERS[root.full_name]
        return connect_of(root, messages, unwrap=_nullable(info) is Nullable.WRAPPER)

    def schema_names(self, schema: RegisteredSchema) -> tuple[str, ...]:
        file = parse_proto(schema.text, FILE).descriptor
        package = f"{file.package}." if file.package else ""
        return tuple(f"{package}{part.name}" for part in (*file.message_type, *file.enum_type))

    def codec(self, target: Target) -> Codec:
        readers = wire.PerSchema(wire.registry_of(target), lambda schema: _registered_reader(schema, target))

        def deserialize(data: bytes) -> Row:
            row: Row = readers[wire.schema_id_of(data)](data)
            return row

        distinct = _nullable(target.encoding.format) is not Nullable.NONE
        return Codec(wire.made_or_failing(lambda: _registered_writer(self, target)), deserialize, distinct)


class ProtobufNoSrFormat(Format):
    """Protobuf's encoding alone: the schema is that of the columns."""

    name = "PROTOBUF_NOSR"
    supported_features = frozenset({Feature.WRAP_SINGLES})
    supported_properties = frozenset({"unwrapPrimitives", "nullableRepresentation"})
    inherited_properties = frozenset({"nullableRepresentation"})

    def check(self, target: Target) -> None:
        _check(target)

    def codec(self, target: Target) -> Codec:
        messages = load(_text_of(target))
        root = messages.find(None)
        row_to_parts = writing(record_type(target.columns), root)
        make = GetMessageClass(root)
        read = _message_reader(root, messages, target)
        nullable = _nullable(target.encoding.format)

        def serialize(row: Row) -> bytes:
            data: bytes = make(**row_to_parts(row)).SerializeToString(deterministic=True)
            return data

        return Codec(serialize, read, nullable is not Nullable.NONE)


def _message_reader(message: Any, messages: Messages, target: Target) -> Callable[[bytes], Row]:
    """The function that reads rows of one kind of message."""
    unwrap = _nullable(target.encoding.format) is Nullable.WRAPPER
    to_sql = conversion(record_type(target.columns), connect_of(message, messages, unwrap=unwrap))
    to_connect = reading(message, unwrap=unwrap)
    parse = GetMessageClass(message).FromString

    def read(data: bytes) -> Row:
        row: Row = to_sql(to_connect(parse(data)))  # type: ignore[misc]  # structs always need conversion
        return row

    return read


def _registered_reader(schema: RegisteredSchema, target: Target) -> Callable[[bytes], Row]:
    if schema.kind != "PROTOBUF":
        raise ValueError(f"Schema {schema.id} is not of type PROTOBUF but {schema.kind}")
    messages = load_registered(schema, target.registry)
    readers: dict[tuple[int, ...], Callable[[bytes], Row]] = {}

    def read(data: bytes) -> Row:
        path, start = read_index(data, wire.SIZE)
        reader = readers.get(path)
        if reader is None:
            reader = readers[path] = _message_reader(messages.at(path), messages, target)
        return reader(data[start:])

    return read


def _registered_writer(format: ProtobufFormat, target: Target) -> Callable[[Row], bytes]:
    registry = wire.registry_of(target)
    schema_id = target.schema_id
    schema = format.schema_of(target) if schema_id is None else wire.fetch(registry, schema_id)
    messages = load_registered(schema, registry)
    root = messages.find(_schema_name(target.encoding.format))
    prefix = wire.Registered(target, schema, schema_id)
    index = index_of(root)
    row_to_parts = writing(record_type(target.columns), root)
    make = GetMessageClass(root)

    def write(row: Row) -> bytes:
        data: bytes = make(**row_to_parts(row)).SerializeToString(deterministic=True)
        return prefix() + index + data

    return write
