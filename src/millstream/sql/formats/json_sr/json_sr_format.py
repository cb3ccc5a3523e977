"""JSON whose schemas are in a registry."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

import msgspec

from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.sql.formats import wire
from millstream.sql.formats.connect.schema import ConnectSchema, record_type
from millstream.sql.formats.connect.values import conversion
from millstream.sql.formats.format import Codec, RegistryFormat, Row, Target, check_map_keys
from millstream.sql.formats.json.json_format import MAP_KEYS
from millstream.sql.formats.json_sr.data import reading, writing
from millstream.sql.formats.json_sr.read_schema import JsonSchemas
from millstream.sql.formats.json_sr.write_schema import json_schema
from millstream.sql.schema.formats import Feature, FormatInfo

_ENCODE = msgspec.json.Encoder(decimal_format="number").encode
_DECODE = msgspec.json.Decoder(float_hook=Decimal).decode


class JsonSrFormat(RegistryFormat):
    """JSON after the number of its schema."""

    name = "JSON_SR"
    schema_kind = "JSON"
    supported_features = frozenset({Feature.WRAP_SINGLES, Feature.UNWRAP_SINGLES})
    supported_properties = frozenset({"fullSchemaName", "schemaId"})

    def check(self, target: Target) -> None:
        check_map_keys([column.type for column in target.columns], MAP_KEYS)

    def schema_of(self, target: Target) -> RegisteredSchema:
        schema = json_schema(target.columns, unwrapped=target.unwrapped)
        return RegisteredSchema(self.schema_kind, json.dumps(schema))

    def connect_schema(
        self, schema: RegisteredSchema, registry: SchemaRegistry | None, info: FormatInfo
    ) -> ConnectSchema:
        return JsonSchemas(schema, registry).connect()

    def schema_names(self, schema: RegisteredSchema) -> tuple[str, ...]:
        node = schema.parsed
        return (node["title"],) if isinstance(node, dict) and "title" in node else ()

    def codec(self, target: Target) -> Codec:
        readers = wire.PerSchema(wire.registry_of(target), lambda schema: _reader(schema, target))

        def deserialize(data: bytes) -> Row:
            row: Row = readers[wire.schema_id_of(data)](data)
            return row

        return Codec(wire.made_or_failing(lambda: _writer(self, target)), deserialize)


def _reader(schema: RegisteredSchema, target: Target) -> Callable[[bytes], Row]:
    if schema.kind != "JSON":
        raise ValueError(f"Schema {schema.id} is not of type JSON but {schema.kind}")
    connect = JsonSchemas(schema, target.registry).connect()
    to_connect = reading(connect)
    unwrapped = target.unwrapped
    to_sql = conversion(target.columns[0].type if unwrapped else record_type(target.columns), connect)

    def read(data: bytes) -> Row:
        value = to_connect(_DECODE(memoryview(data)[wire.SIZE :]))
        if to_sql is not None:
            value = to_sql(value)
        if unwrapped:
            return (value,)
        if value is None:
            raise ValueError("a record is expected, but found null")
        row: Row = value
        return row

    return read


def _writer(format: JsonSrFormat, target: Target) -> Callable[[Row], bytes | None]:
    registry = wire.registry_of(target)
    schema_id = target.schema_id
    schema = format.schema_of(target) if schema_id is None else wire.fetch(registry, schema_id)
    connect = JsonSchemas(schema, registry).connect()
    prefix = wire.Registered(target, schema, schema_id)
    unwrapped = target.unwrapped
    convert = writing(target.columns[0].type if unwrapped else record_type(target.columns), connect)

    def write(row: Row) -> bytes | None:
        value = row[0] if unwrapped else row
        if value is None:
            return None
        return prefix() + _ENCODE(value if convert is None else convert(value))

    return write
