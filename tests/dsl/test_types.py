"""Types flow along the operators. mypy checks the assertions; at run time they say nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

from millstream import (
    Consumed,
    GlobalKTable,
    KGroupedStream,
    KStream,
    KTable,
    Materialized,
    Serdes,
    StreamsBuilder,
    TimeWindows,
    Windowed,
)


@dataclass
class Order:
    region: str
    amount: int


def test_types_flow_along() -> None:
    builder = StreamsBuilder()
    orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json(Order)))
    assert_type(orders, KStream[str, Order])
    assert_type(orders.filter(lambda key, order: order.amount > 1), KStream[str, Order])
    assert_type(orders.map_values(lambda order: order.amount), KStream[str, int])
    assert_type(orders.map_values(lambda key, order: key + order.region), KStream[str, str])
    assert_type(orders.map(lambda key, order: (order.amount, key)), KStream[int, str])
    assert_type(orders.flat_map_values(lambda order: [order.region]), KStream[str, str])
    assert_type(orders.group_by(lambda key, order: order.amount), KGroupedStream[int, Order])
    assert_type(orders.group_by_key().count(), KTable[str, int])
    assert_type(
        orders.group_by_key().windowed_by(TimeWindows.of_size(timedelta(1))).count(), KTable[Windowed[str], int]
    )
    assert_type(orders.to_table(Materialized("orders")).map_values(lambda order: order.region), KTable[str, str])


def test_topics_have_the_types_of_their_serdes() -> None:
    builder = StreamsBuilder()

    assert_type(builder.table("numbers", Consumed(Serdes.string, Serdes.long)), KTable[str, int])
    assert_type(builder.global_table("names", Consumed(Serdes.long, Serdes.string)), GlobalKTable[int, str])
    assert_type(builder.stream("half", Consumed(Serdes.string)), KStream[str, Any])
    assert_type(builder.stream("none", Consumed(name="x")), KStream[Any, Any])
    assert_type(builder.stream("nothing"), KStream[Any, Any])
