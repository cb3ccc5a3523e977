"""JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import jsonschema
import msgspec
import orjson
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from millstream.registry.schemas import RegisteredSchema, SchemaRegistry, referred
from millstream.registry.wire import SIZE
from millstream.serdes.registry.serde import RegistrySerde
from millstream.serdes.registry.types import is_pydantic, type_of

T = TypeVar("T")

_REFS = "#/$defs/{name}"


class JsonSchemaSerde(RegistrySerde[T]):
    """JSON, after the number of the schema.

    Objects of a type are checked by the type; without one, what is written and read is checked by the schema.
    """

    kind = "JSON"
    label = "json_schema"

    def _own_schema(self) -> RegisteredSchema | None:
        making = self._making
        if making.schema is None:
            return None if making.of is None else RegisteredSchema(self.kind, json.dumps(_schema_of(making.of)))
        try:
            found = json.loads(making.schema) if isinstance(making.schema, str) else making.schema
            jsonschema.validators.validator_for(found).check_schema(found)
        except (ValueError, jsonschema.SchemaError) as error:
            raise self._refuse("a schema that is no JSON Schema", error) from error
        return RegisteredSchema(self.kind, json.dumps(found), making.references)

    def _record_name(self, schema: RegisteredSchema) -> str | None:
        found = schema.parsed
        return found.get("title") if isinstance(found, dict) else None

    def _writer(self, schema: RegisteredSchema, registry: SchemaRegistry) -> Callable[[T], bytes]:
        of = self._making.of
        if is_pydantic(of):
            return lambda value: value.model_dump_json().encode()  # type: ignore[attr-defined]  # a model
        if of is not None:
            return msgspec.json.Encoder().encode
        check = _check(schema, registry)

        def write(value: T) -> bytes:
            check(value)
            return orjson.dumps(value)

        return write

    def _reader(self, schema: RegisteredSchema, registry: SchemaRegistry) -> Callable[[bytes], T]:
        of = self._making.of
        if is_pydantic(of):
            validate = of.model_validate_json
            return lambda data: validate(data[SIZE:])
        if of is not None:
            decode = msgspec.json.Decoder(of).decode
            return lambda data: decode(memoryview(data)[SIZE:])
        check = _check(self._own or schema, registry)

        def read(data: bytes) -> Any:
            value = orjson.loads(memoryview(data)[SIZE:])
            check(value)
            return value

        return read


def _check(schema: RegisteredSchema, registry: SchemaRegistry) -> Callable[[Any], None]:
    """What raises when a value does not fit a schema."""
    known: Any = Registry()
    for reference, other in referred(schema, registry):
        known = known.with_resource(reference.name, Resource.from_contents(other.parsed, DRAFT7))
    parsed = schema.parsed
    check: Callable[[Any], None] = jsonschema.validators.validator_for(parsed)(parsed, registry=known).validate
    return check


def _schema_of(of: Any) -> dict[str, Any]:
    """The schema of a type: closed, as Confluent's own are, so that fields can be added later."""
    if is_pydantic(of):
        found: dict[str, Any] = of.model_json_schema()
        parts = found.get("$defs", {})
    else:
        type_of(of, getattr(of, "__name__", str(of)))
        (root,), parts = msgspec.json.schema_components([of], ref_template=_REFS)
        name = root.get("$ref", "").rpartition("/")[2]
        recursive = _REFS.format(name=name) in json.dumps(parts)
        found = dict(parts[name] if recursive else parts.pop(name)) if name else root
        if parts:
            found["$defs"] = parts
    for part in (found, *parts.values()):
        if part.get("type") == "object" and "properties" in part:
            part.setdefault("additionalProperties", False)
    return {"$schema": "http://json-schema.org/draft-07/schema#", **found}
