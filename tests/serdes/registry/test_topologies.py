"""Serdes with a registry in topologies: sources, sinks, stores, windows, repartition topics, joins."""

from __future__ import annotations

import dataclasses
import itertools
from datetime import timedelta

import pytest

from millstream import (
    Consumed,
    DeserializationError,
    Grouped,
    Materialized,
    Produced,
    SerdeError,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)
from millstream.registry.settings import connect
from millstream.testing import InMemoryRegistry, TopologyTestDriver

_names = itertools.count()


@dataclasses.dataclass(frozen=True)
class Order:
    region: str
    amount: int


@dataclasses.dataclass(frozen=True)
class Total:
    amount: int = 0


@pytest.fixture
def url() -> str:
    """A registry of its own."""
    return f"mock://topologies-{next(_names)}"


@pytest.fixture
def config(url: str) -> StreamsConfig:
    return StreamsConfig(application_id="shop", client={"schema.registry.url": url})


def _subjects(url: str) -> list[str]:
    registry = connect({"url": url})
    assert isinstance(registry, InMemoryRegistry)
    return list(registry.subjects())


@pytest.mark.parametrize("make", [Serdes.avro, Serdes.protobuf, Serdes.json_schema])
def test_all_places_of_a_topology_have_their_subjects(make: object, config: StreamsConfig, url: str) -> None:
    orders, totals = make(Order), make(Total)  # type: ignore[operator]
    builder = StreamsBuilder()
    (
        builder.stream("orders", Consumed(Serdes.string, orders))
        .group_by(lambda key, order: order.region, Grouped(Serdes.string, orders, name="by-region"))
        .aggregate(
            Total,
            lambda key, order, total: Total(total.amount + order.amount),
            materialized=Materialized("totals", value=totals),
        )
        .to_stream()
        .to("totals-out", Produced(Serdes.string, totals))
    )
    with TopologyTestDriver(builder.build(), config) as driver:
        source = driver.input_topic("orders", Serdes.string, orders)
        result = driver.output_topic("totals-out", Serdes.string, totals)
        source.pipe("o1", Order("eu", 3))
        source.pipe("o2", Order("eu", 4))
        assert result.read_key_values() == [("eu", Total(3)), ("eu", Total(7))]
        assert driver.store("totals").get("eu")[0] == Total(7)
    assert _subjects(url) == [
        "orders-value",
        "shop-by-region-repartition-value",
        "shop-totals-changelog-value",
        "totals-out-value",
    ]


def test_tables_that_are_read_from_a_topic_keep_its_subject(config: StreamsConfig, url: str) -> None:
    config = dataclasses.replace(config, topology_optimization="all")
    builder = StreamsBuilder(config)
    serde = Serdes.avro(Order)
    builder.table("orders", Consumed(Serdes.string, serde), Materialized("orders-store")).to_stream().to(
        "out", Produced(Serdes.string, serde)
    )
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("orders", Serdes.string, serde).pipe("o1", Order("eu", 3))
    assert _subjects(url) == ["orders-value", "out-value"]


def test_windowed_keys(config: StreamsConfig, url: str) -> None:
    key, size = Serdes.avro(str), timedelta(minutes=1)
    builder = StreamsBuilder()
    (
        builder.stream("words", Consumed(key, Serdes.string))
        .group_by_key()
        .windowed_by(TimeWindows.of_size(size))
        .count(Materialized("counts"))
        .to_stream()
        .to("out", Produced(Serdes.time_windowed(key, size), Serdes.long))
    )
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("words", key, Serdes.string).pipe("a", "x", timestamp=0)
        windowed, count = driver.output_topic("out", Serdes.time_windowed(key, size), Serdes.long).read_key_value()
        assert (windowed.key, count) == ("a", 1)
    assert _subjects(url) == ["out-key", "shop-counts-changelog-key", "words-key"]


def test_foreign_key_joins(config: StreamsConfig, url: str) -> None:
    key, order, total = Serdes.avro(str), Serdes.avro(Order), Serdes.avro(Total)
    builder = StreamsBuilder()
    orders = builder.table("orders", Consumed(key, order), Materialized("orders-store"))
    totals = builder.table("totals", Consumed(key, total), Materialized("totals-store"))
    orders.join(
        totals, lambda order, total: Order(order.region, order.amount + total.amount), foreign_key=lambda o: o.region
    ).to_stream().to("out", Produced(key, order))
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("totals", key, total).pipe("eu", Total(100))
        driver.input_topic("orders", key, order).pipe("o1", Order("eu", 3))
        assert driver.output_topic("out", key, order).read_key_value() == ("o1", Order("eu", 103))
        driver.input_topic("totals", key, total).pipe("eu", Total(200))
        assert driver.output_topic("out", key, order).read_key_value() == ("o1", Order("eu", 203))


def test_global_tables_keep_the_subject_of_their_topic(config: StreamsConfig, url: str) -> None:
    serde = Serdes.avro(Order)
    builder = StreamsBuilder()
    builder.global_table("orders", Consumed(Serdes.string, serde), Materialized("all-orders"))
    builder.stream("x", Consumed(Serdes.string, Serdes.string)).to("y", Produced(Serdes.string, Serdes.string))
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("orders", Serdes.string, serde).pipe("o1", Order("eu", 3))
        assert driver.store("all-orders").get("o1")[0] == Order("eu", 3)
    assert _subjects(url) == ["orders-value"]


def test_defaults_of_the_configuration(config: StreamsConfig) -> None:
    config = dataclasses.replace(config, default_key_serde=Serdes.string, default_value_serde=Serdes.avro(Order))
    builder = StreamsBuilder(config)
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("in", Serdes.string, Serdes.avro(Order)).pipe("o1", Order("eu", 3))
        assert driver.output_topic("out", Serdes.string, Serdes.avro(Order)).read_value() == Order("eu", 3)


def test_a_missing_registry_is_told_before_the_first_record() -> None:
    builder = StreamsBuilder()
    builder.stream("orders", Consumed(Serdes.string, Serdes.avro(Order))).to("out")
    with pytest.raises(SerdeError, match=r"the avro\(Order\) serde has no schema registry"):
        TopologyTestDriver(builder.build())


def test_records_that_were_written_without_a_registry(config: StreamsConfig) -> None:
    builder = StreamsBuilder()
    builder.stream("orders", Consumed(Serdes.string, Serdes.avro(Order))).to("out")
    with (
        TopologyTestDriver(builder.build(), config) as driver,
        pytest.raises(DeserializationError, match="an input record could not be read") as failed,
    ):
        driver.input_topic("orders", Serdes.string, Serdes.bytes).pipe("o1", b'{"region": "eu"}')
    assert "no number of a schema is in front of them" in str(failed.value)
