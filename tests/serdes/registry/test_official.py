"""What Confluent's own serializers write can be read, and the other way round, over HTTP."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import timestamp_pb2
from google.protobuf.message_factory import GetMessageClass

from millstream import Serdes
from millstream.registry.protobuf.pool import load

PROTO = """syntax = "proto3";
package shop;
message Outer {
  message Item { string sku = 1; int64 count = 2; }
}
message Order { string region = 1; repeated Outer.Item items = 2; map<string, int64> tags = 3; }
"""
CONTEXT = SerializationContext("orders", MessageField.VALUE)


@dataclasses.dataclass(frozen=True)
class Order:
    region: str
    amount: int = 1
    note: str | None = None


@pytest.fixture
def client(schema_registry: Any) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": schema_registry.url, "max.retries": 0})


def test_avro(schema_registry: Any, client: SchemaRegistryClient) -> None:
    serde = Serdes.avro(Order, registry=schema_registry.url).for_topic("orders", False)
    data = serde.serialize(Order("eu", 5, "x"))
    text = schema_registry.registry.latest("orders-value").text
    assert AvroSerializer(client, text)({"region": "eu", "amount": 5, "note": "x"}, CONTEXT) == data
    assert AvroDeserializer(client)(data, CONTEXT) == {"region": "eu", "amount": 5, "note": "x"}
    other = '{"type": "record", "name": "Order", "fields": [{"name": "region", "type": "string"}]}'
    foreign = AvroSerializer(client, other)({"region": "us"}, CONTEXT)
    assert serde.deserialize(foreign) == Order("us", 1, None)
    assert Serdes.avro(registry=schema_registry.url).for_topic("orders", False).deserialize(foreign) == {"region": "us"}


def test_json_schema(schema_registry: Any, client: SchemaRegistryClient) -> None:
    serde = Serdes.json_schema(Order, registry=schema_registry.url).for_topic("orders", False)
    data = serde.serialize(Order("eu", 5, "x"))
    text = schema_registry.registry.latest("orders-value").text
    official = JSONSerializer(text, client)({"region": "eu", "amount": 5, "note": "x"}, CONTEXT)
    assert official[:5] == data[:5]
    assert serde.deserialize(official) == Order("eu", 5, "x")
    assert JSONDeserializer(text, schema_registry_client=client)(data, CONTEXT) == {
        "region": "eu", "amount": 5, "note": "x",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["shop.Order", "shop.Outer.Item"])
def test_protobuf(schema_registry: Any, client: SchemaRegistryClient, name: str) -> None:
    """Also messages in messages, whose places are in front of the data."""
    pytest.importorskip("google.type", reason="Confluent's own serializer needs googleapis-common-protos")
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer

    kind = GetMessageClass(load(PROTO).find(name))
    value: dict[str, Any] = {"sku": "a", "count": 3}
    if name == "shop.Order":
        value = {"region": "eu", "items": [value], "tags": {"x": 1}}
    official = ProtobufSerializer(kind, client, {"use.deprecated.format": False})(kind(**value), CONTEXT)
    assert official is not None
    by_class = Serdes.protobuf(kind, registry=schema_registry.url).for_topic("orders", False)
    assert by_class.serialize(kind(**value)) == official
    assert by_class.deserialize(official) == kind(**value)
    by_text = Serdes.protobuf(schema=PROTO, message=name, registry=schema_registry.url).for_topic("other", False)
    data = by_text.serialize(value)
    assert data[5:] == official[5:]
    assert by_text.deserialize(official) == value
    assert Serdes.protobuf(registry=schema_registry.url).for_topic("orders", False).deserialize(official) == value
    assert ProtobufDeserializer(kind, {"use.deprecated.format": False})(data, CONTEXT) == kind(**value)


def test_generated_classes_bring_well_known_imports_along(schema_registry: Any) -> None:
    serde = Serdes.protobuf(timestamp_pb2.Timestamp, registry=schema_registry.url).for_topic("times", False)
    assert serde.deserialize(serde.serialize(timestamp_pb2.Timestamp(seconds=5))).seconds == 5
