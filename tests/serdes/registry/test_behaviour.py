"""Subjects, registration, references, settings, and what is said when something is wrong."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from millstream import ArgumentError, Serdes, StreamsConfig
from millstream.config import client_properties
from millstream.errors import RegistryError, SerdeError
from millstream.registry import InMemoryRegistry, RegisteredSchema, SchemaReference
from millstream.registry.settings import connect


@dataclasses.dataclass(frozen=True)
class Order:
    region: str
    amount: int = 1


@pytest.fixture
def registry() -> InMemoryRegistry:
    return InMemoryRegistry()


def test_subjects(registry: InMemoryRegistry) -> None:
    def write(subject: Any) -> None:
        Serdes.avro(Order, registry=registry, subject=subject, namespace="shop").for_topic("t", False).serialize(
            Order("eu")
        )

    for one in ("topic", "record", "topic_record", lambda topic, is_key, record: f"{topic}/{is_key}/{record}"):
        write(one)
    assert registry.subjects() == ["shop.Order", "t-shop.Order", "t-value", "t/False/shop.Order"]
    with pytest.raises(ArgumentError, match="subject cannot be 'topics'"):
        write("topics")


def test_records_of_protobuf_and_json_schema_have_names(registry: InMemoryRegistry) -> None:
    Serdes.protobuf(Order, registry=registry, subject="record", namespace="shop").serialize(Order("eu"))
    Serdes.json_schema(Order, registry=registry, subject="record").serialize(Order("eu"))
    assert registry.subjects() == ["Order", "shop.Order"]


def test_a_subject_by_topic_needs_one(registry: InMemoryRegistry) -> None:
    with pytest.raises(SerdeError, match=r"the avro\(Order\) serde does not know its topic"):
        Serdes.avro(Order, registry=registry).serialize(Order("eu"))


def test_schemas_need_not_be_registered(registry: InMemoryRegistry) -> None:
    serde = Serdes.avro(Order, registry=registry, register=False).for_topic("t", False)
    with pytest.raises(RegistryError, match="subject 't-value' does not have the schema"):
        serde.serialize(Order("eu"))
    Serdes.avro(Order, registry=registry).for_topic("t", False).serialize(Order("eu"))
    assert serde.deserialize(serde.serialize(Order("eu"))) == Order("eu")


def test_the_newest_schema_is_used(registry: InMemoryRegistry) -> None:
    serde = Serdes.avro(Order, registry=registry, use_latest=True).for_topic("t", False)
    with pytest.raises(RegistryError, match="subject 't-value' has no schema"):
        serde.serialize(Order("eu"))
    newest = {"type": "record", "name": "Order", "fields": [{"name": "region", "type": "string"}]}
    registry.register("t-value", RegisteredSchema("AVRO", json.dumps(newest)))
    assert serde.serialize(Order("eu", 5)) == b"\0\0\0\0\1\4eu"
    assert registry.subjects() == ["t-value"]


def test_settings_say_whether_to_register(registry: InMemoryRegistry) -> None:
    settings = {"schema.registry.url": "mock://no-registration", "auto.register.schemas": "false"}
    serde = Serdes.avro(Order).configured(settings).for_topic("t", False)
    with pytest.raises(RegistryError, match="does not have the schema"):
        serde.serialize(Order("eu"))


def test_avro_references(registry: InMemoryRegistry) -> None:
    line = {"type": "record", "name": "Line", "namespace": "shop", "fields": [{"name": "sku", "type": "string"}]}
    registry.register("line", RegisteredSchema("AVRO", json.dumps(line)))
    order = {"type": "record", "name": "Order", "fields": [{"name": "line", "type": "shop.Line"}]}
    references = (SchemaReference("shop.Line", "line", 1),)
    serde = Serdes.avro(schema=order, references=references, registry=registry).for_topic("t", False)
    value = {"line": {"sku": "a"}}
    assert serde.deserialize(serde.serialize(value)) == value
    assert Serdes.avro(registry=registry).deserialize(serde.serialize(value)) == value
    found = registry.latest("t-value")
    assert found is not None
    assert found.references == references


def test_protobuf_references(registry: InMemoryRegistry) -> None:
    registry.register("line.proto", RegisteredSchema("PROTOBUF", 'syntax = "proto3"; message Line { string sku = 1; }'))
    order = 'syntax = "proto3"; import "line.proto"; message Order { Line line = 1; }'
    references = [SchemaReference("line.proto", "line.proto", 1)]
    serde = Serdes.protobuf(schema=order, references=references, registry=registry).for_topic("t", False)
    assert serde.deserialize(serde.serialize({"line": {"sku": "a"}})) == {"line": {"sku": "a"}}


def test_json_schema_references(registry: InMemoryRegistry) -> None:
    registry.register("line", RegisteredSchema("JSON", '{"type": "object", "required": ["sku"]}'))
    order = {"type": "object", "properties": {"line": {"$ref": "line.json"}}}
    references = [SchemaReference("line.json", "line", 1)]
    serde = Serdes.json_schema(schema=order, references=references, registry=registry).for_topic("t", False)
    assert serde.deserialize(serde.serialize({"line": {"sku": "a"}})) == {"line": {"sku": "a"}}
    with pytest.raises(Exception, match="'sku' is a required property"):
        serde.serialize({"line": {}})


def test_a_reference_that_is_missing(registry: InMemoryRegistry) -> None:
    serde = Serdes.avro(
        schema={"type": "record", "name": "Order", "fields": [{"name": "line", "type": "Line"}]},
        references=[SchemaReference("Line", "line", 3)],
        registry=registry,
    ).for_topic("t", False)
    with pytest.raises(RegistryError, match="No schema reference found for subject line, version 3"):
        serde.serialize({"line": {}})


@pytest.mark.parametrize("make", [Serdes.avro, Serdes.protobuf, Serdes.json_schema])
def test_bytes_that_are_nothing_for_it(make: Any, registry: InMemoryRegistry) -> None:
    serde = make(Order, registry=registry).for_topic("t", False)
    for data in (b'{"region": "eu"}', b"\0\0", b""):
        with pytest.raises(SerdeError, match="no number of a schema is in front of them"):
            serde.deserialize(data)
    with pytest.raises(RegistryError, match="the schema registry has no schema 9, which a record was written with"):
        serde.deserialize(b"\0\0\0\0\x09abc")
    registry.register("x", RegisteredSchema("OTHER", "1"))
    with pytest.raises(SerdeError, match="cannot use schema 1, which is OTHER"):
        serde.deserialize(b"\0\0\0\0\x01abc")


def test_values_that_do_not_fit(registry: InMemoryRegistry) -> None:
    avro = Serdes.avro(Order, registry=registry).for_topic("t", False)
    wrong: Any = Order(5)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="must be string") as failed:
        avro.serialize(wrong)
    error = avro.serialization_error(wrong, failed.value)
    assert "the avro(Order) serde cannot write a value of type Order" in str(error)
    protobuf = Serdes.protobuf(Order, registry=registry).for_topic("p", False)
    with pytest.raises(ValueError, match=r"Order\.region is None, which only optional fields can be"):
        protobuf.serialize(Order(None))  # type: ignore[arg-type]
    with pytest.raises(SerdeError, match="the avro serde has no schema to write with"):
        Serdes.avro(registry=registry).for_topic("t", False).serialize({})


@pytest.mark.parametrize(
    ("make", "schema"),
    [(Serdes.avro, "{"), (Serdes.avro, '{"type": "nothing"}'), (Serdes.protobuf, "message"), (Serdes.json_schema, "{")],
)
def test_schemas_that_are_none(make: Any, schema: str) -> None:
    with pytest.raises(ArgumentError, match="serde was given a schema that"):
        make(schema=schema)


def test_no_registry() -> None:
    with pytest.raises(SerdeError, match=r"the avro\(Order\) serde has no schema registry") as failed:
        Serdes.avro(Order).configured({})
    assert "schema.registry.url" in str(failed.value)
    with pytest.raises(SerdeError, match="has no schema registry"):
        Serdes.list_of(Serdes.avro(Order)).configured({})


def test_settings_of_the_registry_are_nothing_for_kafkas_clients() -> None:
    client = {"schema.registry.url": "http://r:8081", "basic.auth.user.info": "ann:secret", "producer.linger.ms": "5"}
    config = StreamsConfig(client=client)
    assert client_properties(config, "producer") == {"linger.ms": "5"}
    assert "secret" not in repr(config)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"url": "registry:8081"}, "schema.registry.url cannot be 'registry:8081'"),
        ({"url": "http://r", "basic.auth.credentials.source": "SASL_INHERIT"}, "cannot be 'SASL_INHERIT'"),
        ({"url": "http://r", "ssl.truststore.location": "t.jks"}, "schema.registry.ssl.truststore.location cannot"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ArgumentError, match=reason):
        connect(settings)


def test_a_setting_that_is_unknown() -> None:
    with pytest.raises(RegistryError, match="the settings of the schema registry cannot be used") as failed:
        connect({"url": "http://r", "colour": "red"}).latest("t")
    assert "colour" in str(failed.value)


def test_one_registry_per_process_and_settings() -> None:
    assert connect({"url": "http://r:1"}) is connect({"url": "http://r:1"})
    assert connect({"url": "http://r:1"}) is not connect({"url": "http://r:2"})


# --- over HTTP


def test_a_schema_is_registered_once(schema_registry: Any) -> None:
    settings = {"schema.registry.url": schema_registry.url, "schema.registry.max.retries": "0"}
    serde = Serdes.avro(Order).configured(settings)
    for topic in ("a", "a"):
        bound = serde.for_topic(topic, False)
        assert bound.deserialize(bound.serialize(Order("eu"))) == Order("eu")
    assert len(schema_registry.authorizations) == 2  # one to register, one to ask for the number


@pytest.mark.parametrize(
    ("settings", "authorization"),
    [
        ({"schema.registry.basic.auth.user.info": "ann:pass"}, "Basic YW5uOnBhc3M="),
        ({"basic.auth.user.info": "ann:pass", "basic.auth.credentials.source": "USER_INFO"}, "Basic YW5uOnBhc3M="),
        ({"bearer.auth.token": "abc"}, "Bearer abc"),
    ],
)
def test_credentials(schema_registry: Any, settings: dict[str, str], authorization: str) -> None:
    serde = (
        Serdes.avro(Order).configured({"schema.registry.url": schema_registry.url, **settings}).for_topic("t", False)
    )
    serde.serialize(Order("eu"))
    assert schema_registry.authorizations == [authorization]


def test_an_incompatible_schema(schema_registry: Any) -> None:
    schema_registry.closed.add("t-value")
    serde = Serdes.avro(Order, registry=schema_registry.url.replace("//", "//ann:pass@")).for_topic("t", False)
    with pytest.raises(RegistryError) as failed:
        serde.serialize(Order("eu"))
    told = str(failed.value)
    assert told.startswith("subject 't-value' has earlier schemas that the new one is incompatible with\n")
    assert "the new schema has no default for field 'tax'" in told
    assert "hint:   give new fields a default" in told
    assert "pass" not in told


def test_a_registry_that_is_away() -> None:
    serde = Serdes.avro(Order, registry={"url": "http://127.0.0.1:1", "max.retries": "0"}).for_topic("t", False)
    with pytest.raises(RegistryError, match="the schema registry does not answer, asked for") as failed:
        serde.serialize(Order("eu"))
    assert "http://127.0.0.1:1" in str(failed.value)
    with pytest.raises(RegistryError, match="the schema registry does not answer, asked for schema 7"):
        serde.deserialize(b"\0\0\0\0\7abc")
