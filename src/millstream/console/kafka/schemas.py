"""Data whose schema is in a registry, as text."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro

from millstream.errors import MillstreamError
from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.registry.wire import SIZE, schema_id_of


def decoded(data: bytes, registry: SchemaRegistry | None) -> tuple[str, str] | None:
    """The kind of data and what it says; None if it does not begin with a schema's number, or cannot be read with it.

    Protobuf is left out: which message it is can only be told by who wrote it.

    Args:
        data: a key or value.
        registry: where schemas are.
    """
    if registry is None:
        return None
    try:
        schema = registry.by_id(schema_id_of(data))
        if schema is None:
            return None
        if schema.kind == "JSON":
            return "JSON_SR", data[SIZE:].decode()
        if schema.kind == "AVRO" and not schema.references:
            return "AVRO", json.dumps(_avro(data, schema), default=str, ensure_ascii=False)
    except (MillstreamError, ValueError, EOFError, IndexError, KeyError, TypeError):
        pass  # it only looked like it; it is shown as what it seems to be
    return None


def _avro(data: bytes, schema: RegisteredSchema) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(data[SIZE:]), fastavro.parse_schema(schema.parsed), None)
