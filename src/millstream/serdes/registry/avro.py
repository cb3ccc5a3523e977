"""Avro."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from millstream.registry.schemas import RegisteredSchema, SchemaRegistry, referred
from millstream.registry.wire import SIZE
from millstream.serdes.registry.avro_schema import avro_schema
from millstream.serdes.registry.serde import RegistrySerde
from millstream.serdes.registry.types import from_plain, to_plain

T = TypeVar("T")

#: What fastavro writes and reads by itself.
_LEAVES = (bytes, datetime.datetime, datetime.date, datetime.time, decimal.Decimal, uuid.UUID)


class AvroSerde(RegistrySerde[T]):
    """Avro's binary encoding, after the number of the schema."""

    kind = "AVRO"
    label = "avro"

    def _own_schema(self) -> RegisteredSchema | None:
        making = self._making
        if making.schema is None:
            if making.of is None:
                return None
            return RegisteredSchema(self.kind, json.dumps(avro_schema(making.of, making.namespace)))
        try:
            found = json.loads(making.schema) if isinstance(making.schema, str) else making.schema
            if not making.references:  # what others define is known when the registry is
                fastavro.parse_schema(found)
        except (ValueError, SchemaParseException, UnknownType) as error:
            raise self._refuse("a schema that is no Avro schema", error) from error
        return RegisteredSchema(self.kind, json.dumps(found), making.references)

    def _record_name(self, schema: RegisteredSchema) -> str | None:
        node = schema.parsed
        if not isinstance(node, dict) or "name" not in node:
            return node["type"] if isinstance(node, dict) else str(node)
        space = node.get("namespace")
        name: str = node["name"]
        return f"{space}.{name}" if space and "." not in name else name

    def _writer(self, schema: RegisteredSchema, registry: SchemaRegistry) -> Callable[[T], bytes]:
        parsed = _parsed(schema, registry)
        plain = None if self._making.of is None else to_plain(_LEAVES)

        def write(value: T) -> bytes:
            stream = io.BytesIO()
            fastavro.schemaless_writer(stream, parsed, value if plain is None else plain(value))
            return stream.getvalue()

        return write

    def _reader(self, schema: RegisteredSchema, registry: SchemaRegistry) -> Callable[[bytes], T]:
        written = _parsed(schema, registry)
        wanted = None
        if self._own is not None and (self._own.parsed, self._own.references) != (schema.parsed, schema.references):
            wanted = _parsed(self._own, registry)
        of = self._making.of
        made = None if of is None else from_plain(of, _LEAVES)

        def read(data: bytes) -> Any:
            stream = io.BytesIO(data)
            stream.seek(SIZE)
            value = fastavro.schemaless_reader(stream, written, wanted)
            return value if made is None else made(value)

        return read


def _parsed(schema: RegisteredSchema, registry: SchemaRegistry) -> Any:
    """Fastavro's form of a schema, with the types of those that it refers to."""
    known: dict[str, Any] = {}
    for _, other in referred(schema, registry):
        fastavro.parse_schema(other.parsed, named_schemas=known)
    return fastavro.parse_schema(schema.parsed, named_schemas=known)
