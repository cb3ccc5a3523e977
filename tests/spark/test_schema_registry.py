"""Serdes with a schema registry on Spark: lanes connect by themselves, and stores are rebuilt from Kafka."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from millstream import Consumed, Grouped, Materialized, Produced, Serdes, StreamsBuilder, Topology

# Lanes cannot import tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclasses.dataclass(frozen=True)
class Order:
    region: str
    amount: int


@dataclasses.dataclass(frozen=True)
class Total:
    amount: int = 0


def _totals(source: str, out: str) -> Topology:
    order, total = Serdes.avro(Order), Serdes.protobuf(Total)
    builder = StreamsBuilder()
    (
        builder.stream(source, Consumed(Serdes.string, order))
        .group_by(lambda key, order: order.region, Grouped(Serdes.string, order, name="by-region"))
        .aggregate(
            Total,
            lambda key, order, total: Total(total.amount + order.amount),
            materialized=Materialized("totals", value=total),
        )
        .to_stream()
        .map_values(lambda total: Order("all", total.amount))
        .to(out, Produced(Serdes.string, order))
    )
    return builder.build()


def test_totals(
    either: Any,
    schema_registry: Any,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    consume: Callable[..., list[Any]],
) -> None:
    client = SchemaRegistryClient({"url": schema_registry.url})
    source, out = make_topic(), make_topic()
    schema = (
        '{"type": "record", "name": "Order", "fields": '
        '[{"name": "region", "type": "string"}, {"name": "amount", "type": "long"}]}'
    )
    write = AvroSerializer(client, schema)
    context = SerializationContext(source, MessageField.VALUE)
    orders = [write({"region": "eu", "amount": amount}, context) for amount in (1, 2, 3)]
    produce(source, [("o", data) for data in orders])
    config = either.config(client={"schema.registry.url": schema_registry.url})
    either.run_once(_totals(source, out), config)
    read, of_out = AvroDeserializer(client), SerializationContext(out, MessageField.VALUE)
    assert [read(message.value(), of_out)["amount"] for message in consume(out, 3)] == [1, 3, 6]
    name = config.application_id
    assert schema_registry.registry.subjects() == sorted(
        [f"{source}-value", f"{out}-value", f"{name}-by-region-repartition-value", f"{name}-totals-changelog-value"]
    )
    if either.mode == "micro_batch":  # its checkpoint is lost
        shutil.rmtree(Path(config.checkpoint_location))
    # The store comes back from the changelog.
    produce(source, [("o", orders[0])])
    either.run_once(_totals(source, out), config)
    assert read(consume(out, 4)[-1].value(), of_out)["amount"] == 7
