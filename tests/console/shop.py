"""An application with something on every page: two sub-topologies, stores of all kinds, dead letters."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from millstream import (
    Consumed,
    Grouped,
    LogAndContinueExceptionHandler,
    Materialized,
    Produced,
    Repartitioned,
    Serdes,
    SessionWindows,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)

config = StreamsConfig(
    application_id="shop",
    default_key_serde=Serdes.string,
    default_value_serde=Serdes.json,
    deserialization_exception_handler=LogAndContinueExceptionHandler(),
    dead_letter_queue_topic="shop-dlq",
    num_stream_threads=1,
    statestore_cache_max_bytes=0,
)


def priced(sale: dict[str, Any], price: Any) -> dict[str, Any]:
    return {**sale, "income": sale["amount"] * (price or 1)}


def score(sale: dict[str, Any]) -> dict[str, Any]:
    """Takes most of the time: the hot spot."""
    return {**sale, "score": sum(number * number for number in range(6000)) % 97}


builder = StreamsBuilder()
prices = builder.table(
    "prices",
    Consumed(Serdes.string, Serdes.long),
    Materialized(store=Stores.persistent_versioned_key_value("prices", history=timedelta(days=1))),
)
sales = builder.stream("sales").filter(lambda customer, sale: sale["amount"] > 0)
sales.group_by_key(Grouped(Serdes.string, Serdes.json)).windowed_by(
    SessionWindows.of_inactivity_gap(timedelta(minutes=5))
).count(materialized=Materialized("visits", dsl_store="in_memory"))
by_product = (
    sales.map_values(score)
    .select_key(lambda customer, sale: sale["product"])
    .repartition(Repartitioned(Serdes.string, Serdes.json, name="by-product", partitions=1))
    .left_join(prices, priced)
)
grouped = by_product.group_by_key(Grouped(Serdes.string, Serdes.json))
grouped.aggregate(
    lambda: 0, lambda product, sale, sum: sum + sale["income"], Materialized("income", value=Serdes.long)
).to_stream().to("income", Produced(Serdes.string, Serdes.long))
grouped.windowed_by(TimeWindows.of_size(timedelta(minutes=1))).count(materialized=Materialized("sold-per-minute"))
