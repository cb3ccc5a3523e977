"""Schemas from a registry and into it."""

from __future__ import annotations

from typing import Any

import cloudpickle
import pytest

from millstream.errors import RegistryError
from millstream.sql.errors import SqlError
from millstream.sql.formats import (
    InMemoryRegistry,
    RegisteredSchema,
    check_schema_kind,
    infer_columns,
    new_schema,
)
from millstream.sql.schema.formats import Encoding, FormatInfo

_AVRO = Encoding(FormatInfo("AVRO"))


def test_a_schema_that_is_not_there(registry: InMemoryRegistry) -> None:
    with pytest.raises(SqlError) as failed:
        infer_columns(_AVRO, registry, topic="orders", is_key=True)
    assert failed.value.primary.startswith(
        "Schema for message keys on topic 'orders' does not exist in the Schema Registry.\nSubject: orders-key\n"
        "Possible causes include:\n- The topic itself does not exist\n"
    )
    with pytest.raises(SqlError, match="Schema Id: 5\n"):
        infer_columns(_AVRO, registry, topic="orders", is_key=False, schema_id=5)


def test_a_schema_of_another_format(registry: InMemoryRegistry) -> None:
    registry.register("t-value", RegisteredSchema("AVRO", '"int"'))
    with pytest.raises(SqlError) as failed:
        infer_columns(Encoding(FormatInfo("PROTOBUF")), registry, topic="t", is_key=False)
    assert failed.value.primary == (
        "Value schema is not in the expected format. You may want to set VALUE_FORMAT to 'AVRO'.\n"
        "topic: t\nexpected format: PROTOBUF\nactual format from Schema Registry: AVRO"
    )
    schema = registry.latest("t-value")
    assert schema is not None
    with pytest.raises(SqlError, match=r"Format: \[PROTOBUF\], Fetched schema type: \[AVRO\]"):
        check_schema_kind(FormatInfo("PROTOBUF"), schema, is_key=False)
    with pytest.raises(SqlError, match="KEY_SCHEMA_ID is provided but format JSON doesn't support registering"):
        check_schema_kind(FormatInfo("JSON"), schema, is_key=True)


def test_keys_of_several_columns_cannot_be_inferred(registry: InMemoryRegistry) -> None:
    text = 'syntax = "proto3"; message K { int32 a = 1; int32 b = 2; }'
    registry.register("t-key", RegisteredSchema("PROTOBUF", text))
    with pytest.raises(SqlError, match="contains multiple columns, which is not supported by ksqlDB at this time"):
        infer_columns(Encoding(FormatInfo("PROTOBUF")), registry, topic="t", is_key=True)


def test_schemas_are_new_unless_the_topic_has_one(columns: Any, registry: InMemoryRegistry) -> None:
    def new(names: str, encoding: Encoding = _AVRO, *, if_exists: bool = False) -> RegisteredSchema | None:
        return new_schema(encoding, columns(names), registry, topic="t", is_key=False, if_exists=if_exists)

    first = new("A INT")
    assert first is not None
    assert len(first.parsed["fields"]) == 1
    registry.register("t-value", first)
    assert new("A INT, B INT") is None
    second = new("A INT, B INT", if_exists=True)
    assert second is not None
    assert len(second.parsed["fields"]) == 2
    assert new("A INT", Encoding(FormatInfo("JSON")), if_exists=True) is None


def test_a_schema_is_withdrawn_only_if_it_is_the_newest(registry: InMemoryRegistry) -> None:
    first, second = (registry.register("t", RegisteredSchema("AVRO", text)) for text in ('"int"', '"long"'))
    registry.withdraw("t", first)
    assert registry.latest("t") == registry.by_id(second)
    registry.withdraw("t", second)
    registry.withdraw("t", first)
    assert registry.subjects() == []
    assert registry.register("t", RegisteredSchema("AVRO", '"long"')) == second


def test_registering_needs_a_registry(columns: Any) -> None:
    with pytest.raises(SqlError) as failed:
        new_schema(_AVRO, columns("A INT"), None, topic="t", is_key=False, if_exists=True)
    assert failed.value.primary == (
        "Cannot create topic 't' with format AVRO without configuring 'ksql.schema.registry.url'"
    )


def test_equal_schemas_have_one_number(registry: InMemoryRegistry) -> None:
    schema = RegisteredSchema("AVRO", '{"type": "int"}')
    assert registry.register("a", schema) == registry.register("b", RegisteredSchema("AVRO", '{ "type":"int" }'))
    assert registry.register("a", RegisteredSchema("AVRO", '"int"')) == 2
    assert registry.register("c", RegisteredSchema("AVRO", '"long"'), 10) == 10
    with pytest.raises(RegistryError, match="already registered"):
        registry.register("c", schema, 10)
    registry.delete("a")
    assert registry.latest("a") is None
    assert registry.by_id(1) == RegisteredSchema("AVRO", '{"type": "int"}', (), 1)


def test_a_registry_is_copied_to_other_processes(registry: InMemoryRegistry) -> None:
    registry.register("a", RegisteredSchema("AVRO", '"int"'))
    copy = cloudpickle.loads(cloudpickle.dumps(registry))
    assert copy.latest("a") == registry.latest("a")
    assert copy.register("a", RegisteredSchema("AVRO", '"long"')) == 2
    assert registry.by_id(2) is None
