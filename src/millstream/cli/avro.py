"""Avro records as JSON, read with the schemas that they were written with."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from millstream.errors import ArgumentError, SerdeError


def avro_shower(registry: str | None) -> Callable[[bytes], str]:
    """A function that shows a record as JSON.

    Args:
        registry: the URL of the schema registry.
    """
    if registry is None:
        raise ArgumentError("avro needs a schema registry", hint="give --schema-registry http://host:8081")
    # These take a while to import, and other formats need none of them.
    import fastavro

    from millstream.registry.confluent import ConfluentRegistry
    from millstream.registry.wire import SIZE, schema_id_of

    known = ConfluentRegistry(registry)

    @cache
    def schema(number: int) -> Any:
        found = known.by_id(number)
        if found is None:
            raise SerdeError(f"the registry has no schema {number}", detail=f"asked at {registry}")
        return fastavro.parse_schema(found.parsed)

    def show(data: bytes) -> str:
        stream = io.BytesIO(data[SIZE:])
        return json.dumps(fastavro.schemaless_reader(stream, schema(schema_id_of(data)), None), default=str)

    return show
