"""JSON_SR."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.formats import InMemoryRegistry, RegisteredSchema, SchemaReference, infer_columns, serde
from millstream.sql.schema.formats import Encoding, FormatInfo

_JSON_SR = Encoding(FormatInfo("JSON_SR"))


def _register(registry: InMemoryRegistry, schema: Any, subject: str = "t-value", **options: Any) -> int:
    return registry.register(subject, RegisteredSchema("JSON", json.dumps(schema), **options))


def test_the_schema_that_is_registered(make: Any, registry: InMemoryRegistry) -> None:
    serde = make("JSON_SR", "A INT, S STRING, M MAP<STRING, BOOLEAN>")
    data = serde.serialize((1, None, {"k": True}))
    assert data == b'\0\0\0\0\1{"A":1,"S":null,"M":[{"key":"k","value":true}]}'
    assert serde.deserialize(data) == (1, None, {"k": True})
    schema = registry.latest("t-value")
    assert schema is not None
    entry = {
        "type": "object",
        "properties": {
            "key": {"connect.index": 0, "oneOf": [{"type": "null"}, {"type": "string"}]},
            "value": {"connect.index": 1, "oneOf": [{"type": "null"}, {"type": "boolean"}]},
        },
    }
    entries = {"type": "array", "items": entry, "connect.type": "map"}
    assert schema.parsed == {
        "type": "object",
        "properties": {
            "A": {"connect.index": 0, "oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}]},
            "S": {"connect.index": 1, "oneOf": [{"type": "null"}, {"type": "string"}]},
            "M": {"connect.index": 2, "oneOf": [{"type": "null"}, entries]},
        },
    }


def test_a_bare_decimal(make: Any) -> None:
    serde = make("JSON_SR", "K DECIMAL(4, 2) KEY", unwrapped=True, is_key=True)
    assert serde.serialize((Decimal("65.20"),)) == b"\0\0\0\0\x0165.20"
    assert serde.deserialize(b"\0\0\0\0\x0165.2") == (Decimal("65.20"),)
    assert serde.deserialize(b"\0\0\0\0\x01null") == (None,)


_FOREIGN = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "size": {"type": "number"},
        "kind": {"enum": ["a", "b"]},
        "line": {"$ref": "#/definitions/line"},
        "tags": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "string"}},
        "maybe": {"type": ["null", "boolean"]},
        "mixed": {"oneOf": [{"type": "string"}, {"type": "integer"}, {"$ref": "#/definitions/line"}]},
        "all": {"allOf": [{"$ref": "#/definitions/line"}, {"properties": {"z": {"type": "string"}}}]},
    },
    "definitions": {"line": {"type": "object", "properties": {"y": {"type": "integer"}, "x": {"type": "integer"}}}},
}


def test_columns_and_data_of_a_foreign_schema(registry: InMemoryRegistry) -> None:
    schema_id = _register(registry, _FOREIGN)
    columns = infer_columns(_JSON_SR, registry, topic="t", is_key=False).columns
    line = "STRUCT<`Y` BIGINT, `X` BIGINT>"
    one_of = "IO.CONFLUENT.CONNECT.JSON.ONEOF.FIELD"
    assert [str(column) for column in columns] == [
        "`ID` BIGINT",
        "`SIZE` DOUBLE",
        "`KIND` STRING",
        f"`LINE` {line}",
        "`TAGS` MAP<STRING, STRING>",
        "`MAYBE` BOOLEAN",
        f"`MIXED` STRUCT<`{one_of}.0` STRING, `{one_of}.1` BIGINT, `{one_of}.2` {line}>",
        "`ALL` STRUCT<`Y` BIGINT, `X` BIGINT, `Z` STRING>",
    ]
    reader = serde(_JSON_SR, columns, is_key=False, registry=registry)
    given = {
        "id": 1,
        "size": 2,
        "kind": "b",
        "line": {"x": 3},
        "tags": {"t": "u"},
        "maybe": None,
        "mixed": {"y": 5},
        "all": {"y": 1, "x": 2, "z": "w"},
    }
    data = b"\0" + schema_id.to_bytes(4, "big") + json.dumps(given).encode()
    assert reader.deserialize(data) == (1, 2.0, "b", (None, 3), {"t": "u"}, None, (None, None, (5, None)), (1, 2, "w"))


def test_rows_are_written_with_the_schema_of_a_number(make: Any, registry: InMemoryRegistry) -> None:
    schema = {
        "type": "object",
        "properties": {
            "more": {"type": "string"},
            "given": {"type": "integer", "default": 9},
            "a": {"type": "integer"},
            "m": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
        },
    }
    schema_id = _register(registry, schema, subject="other")
    serde = make("JSON_SR", "`a` BIGINT, `m` MAP<STRING, BIGINT>", schemaId=schema_id)
    assert serde.serialize((7, {"k": 1}))[5:] == b'{"given":9,"a":7,"m":{"k":1}}'
    assert serde.serialize((None, None))[5:] == b'{"given":9}'
    with pytest.raises(ValueError, match="misses field with name: b"):
        make("JSON_SR", "`b` INT", schemaId=schema_id).serialize((1,))


def test_schemas_may_refer_to_others(registry: InMemoryRegistry) -> None:
    _register(registry, {"type": "object", "properties": {"x": {"type": "integer"}}}, "inner")
    reference = SchemaReference("inner.json", "inner", 1)
    _register(registry, {"type": "object", "properties": {"i": {"$ref": "inner.json"}}}, references=(reference,))
    columns = infer_columns(_JSON_SR, registry, topic="t", is_key=False).columns
    assert str(columns[0]) == "`I` STRUCT<`X` BIGINT>"
