"""AVRO, its schemas in a registry."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.sql.errors import SqlError
from millstream.sql.formats import wire
from millstream.sql.formats.avro.data import reading, without_logical_types, writing
from millstream.sql.formats.avro.read_schema import Names, connect_of, full_name, parse_avro
from millstream.sql.formats.avro.write_schema import DEFAULT_NAME, avro_schema, avro_type
from millstream.sql.formats.connect.schema import ConnectSchema, record_type
from millstream.sql.formats.connect.values import conversion
from millstream.sql.formats.format import Codec, RegistryFormat, Row, Target, check_map_keys
from millstream.sql.schema.formats import Feature, FormatInfo

Json = Any


class AvroFormat(RegistryFormat):
    """Avro's binary encoding, after the number of the schema."""

    name = "AVRO"
    schema_kind = "AVRO"
    supported_features = frozenset({Feature.WRAP_SINGLES, Feature.UNWRAP_SINGLES})
    supported_properties = frozenset({"fullSchemaName", "schemaId"})

    def check(self, target: Target) -> None:
        check_map_keys([column.type for column in target.columns], "Avro only supports MAPs with STRING keys")
        schema = self.schema_of(target)
        try:
            fastavro.parse_schema(without_logical_types(schema.parsed))
        except (SchemaParseException, UnknownType) as error:
            raise SqlError(f"Schema is not compatible with Avro: {error}") from error

    def schema_of(self, target: Target) -> RegisteredSchema:
        name = (target.encoding.format.get("fullSchemaName") or DEFAULT_NAME).strip()
        schema = avro_schema(target.columns, unwrapped=target.unwrapped, name=name)
        return RegisteredSchema(self.schema_kind, json.dumps(schema))

    def connect_schema(
        self, schema: RegisteredSchema, registry: SchemaRegistry | None, info: FormatInfo
    ) -> ConnectSchema:
        node, names = parse_avro(schema, registry)
        return connect_of(node, names)

    def schema_names(self, schema: RegisteredSchema) -> tuple[str, ...]:
        node = json.loads(schema.text)
        return (full_name(node, ""),) if isinstance(node, dict) and "name" in node else ()

    def codec(self, target: Target) -> Codec:
        registry = wire.registry_of(target)
        readers = wire.PerSchema(registry, lambda schema: _reader(schema, target))

        def deserialize(data: bytes) -> Row:
            row: Row = readers[wire.schema_id_of(data)](data)
            return row

        return Codec(wire.made_or_failing(lambda: _writer(self, target)), deserialize)


def _prepared(schema: RegisteredSchema, registry: SchemaRegistry) -> tuple[Json, Names, Any]:
    """A schema's JSON, its named types, and fastavro's form of it."""
    node, names = parse_avro(schema, registry)
    known: dict[str, Any] = {}
    for other in names.referred:
        fastavro.parse_schema(without_logical_types(other), named_schemas=known)
    parsed = fastavro.parse_schema(without_logical_types(node), named_schemas=known)
    connect_of(node, names)  # meets all named types
    return node, names, parsed


def _reader(schema: RegisteredSchema, target: Target) -> Callable[[bytes], Row]:
    if schema.kind != "AVRO":
        raise ValueError(f"Schema {schema.id} is not of type AVRO but {schema.kind}")
    node, names, parsed = _prepared(schema, wire.registry_of(target))
    to_connect = reading(node, names)
    root = avro_type(target.columns[0].type if target.unwrapped else record_type(target.columns))
    to_sql = conversion(root, connect_of(node, names))
    unwrapped = target.unwrapped

    def read(data: bytes) -> Row:
        stream = io.BytesIO(data)
        stream.seek(wire.SIZE)
        value: Any = fastavro.schemaless_reader(
            stream, parsed, return_record_name=True, return_record_name_override=True
        )
        if to_connect is not None and value is not None:
            value = to_connect(value)
        if to_sql is not None:
            value = to_sql(value)
        return (value,) if unwrapped else value

    return read


def _writer(format: AvroFormat, target: Target) -> Callable[[Row], bytes | None]:
    registry = wire.registry_of(target)
    schema_id = target.schema_id
    schema = format.schema_of(target) if schema_id is None else wire.fetch(registry, schema_id)
    prefix = wire.Registered(target, schema, schema_id)
    node, names, parsed = _prepared(schema, registry)
    root = avro_type(target.columns[0].type if target.unwrapped else record_type(target.columns))
    convert = writing(root, node, names)
    unwrapped = target.unwrapped

    def write(row: Row) -> bytes | None:
        value = row[0] if unwrapped else row
        if value is None:
            return None
        stream = io.BytesIO()
        stream.write(prefix())
        fastavro.schemaless_writer(stream, parsed, value if convert is None else convert(value))
        return stream.getvalue()

    return write
