"""Objects as values: what an aggregator changes in place must not change what was passed on before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from millstream import (
    Consumed,
    Grouped,
    Materialized,
    Serde,
    Serdes,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)
from millstream.testing import TopologyTestDriver


@dataclass
class Order:
    region: str
    amount: int


@dataclass
class Basket:
    orders: list[Order] = field(default_factory=list)


class OrderStruct(msgspec.Struct):
    region: str
    amount: int


class BasketStruct(msgspec.Struct):
    orders: list[OrderStruct] = []


@dataclass(frozen=True)
class Kind:
    """Orders and baskets of one kind of object."""

    order_serde: Serde[Any]
    basket_serde: Serde[Any]
    order: Callable[[str, int], Any]
    basket: Callable[[], Any]
    orders_of: Callable[[Any], list[Any]]
    amount_of: Callable[[Any], int]

    def amounts(self, basket: Any) -> list[int]:
        return [self.amount_of(order) for order in self.orders_of(basket)]

    def put(self, key: str, order: Any, basket: Any) -> Any:
        """An aggregator that changes the aggregate in place."""
        self.orders_of(basket).append(order)
        return basket


KINDS = {
    "dataclasses": Kind(
        Serdes.json(Order), Serdes.json(Basket), Order, Basket, lambda basket: basket.orders, lambda order: order.amount
    ),
    "msgspec structs": Kind(
        Serdes.json(OrderStruct),
        Serdes.json(BasketStruct),
        OrderStruct,
        BasketStruct,
        lambda basket: basket.orders,
        lambda order: order.amount,
    ),
    "dicts": Kind(
        Serdes.json,
        Serdes.json,
        lambda region, amount: {"region": region, "amount": amount},
        lambda: {"orders": []},
        lambda basket: basket["orders"],
        lambda order: order["amount"],
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture(params=[True, False], ids=["cached", "not cached"])
def config(request: pytest.FixtureRequest) -> StreamsConfig:
    return StreamsConfig(statestore_cache_max_bytes=10 * 1024 * 1024 if request.param else 0)


def pipe(builder: StreamsBuilder, config: StreamsConfig, kind: Kind, amounts: list[int]) -> None:
    with TopologyTestDriver(builder.build(), config) as driver:
        orders = driver.input_topic("orders", Serdes.string, kind.order_serde)
        for time, amount in enumerate(amounts):
            orders.pipe("k", kind.order("eu", amount), timestamp=time)


def grouped(builder: StreamsBuilder, kind: Kind) -> Any:
    return builder.stream("orders", Consumed(Serdes.string, kind.order_serde)).group_by_key()


DAY = timedelta(days=1)
SHAPES = {
    "no windows": lambda grouped, kind, kept: grouped.aggregate(kind.basket, kind.put, kept),
    "time windows": lambda grouped, kind, kept: grouped.windowed_by(TimeWindows.of_size(DAY)).aggregate(
        kind.basket, kind.put, kept
    ),
    "hopping windows": lambda grouped, kind, kept: grouped.windowed_by(
        TimeWindows.of_size(DAY).advance_by(DAY)
    ).aggregate(kind.basket, kind.put, kept),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_earlier_outputs_stay_as_they_were(shape: str, kind: Kind, config: StreamsConfig) -> None:
    builder = StreamsBuilder()
    seen: list[Any] = []
    kept = Materialized("baskets", value=kind.basket_serde)
    table = SHAPES[shape](grouped(builder, kind), kind, kept)
    table.to_stream().foreach(lambda key, basket: seen.append(basket))
    pipe(builder, config, kind, [1, 2, 3])

    assert [kind.amounts(basket) for basket in seen] == [[1], [1, 2], [1, 2, 3]]


def test_sessions_and_sliding_windows_do_not_share_aggregates(kind: Kind, config: StreamsConfig) -> None:
    builder = StreamsBuilder()
    seen: list[tuple[str, list[int] | None]] = []
    kept = Materialized(value=kind.basket_serde)

    def merge(key: str, one: Any, two: Any) -> Any:
        kind.orders_of(one).extend(kind.orders_of(two))
        return one

    def see(what: str) -> Callable[[Any, Any], None]:
        return lambda key, basket: seen.append((what, None if basket is None else kind.amounts(basket)))

    group = grouped(builder, kind)
    sessions = group.windowed_by(SessionWindows.of_inactivity_gap(DAY)).aggregate(kind.basket, kind.put, merge, kept)
    sessions.to_stream().foreach(see("session"))
    sliding = group.windowed_by(SlidingWindows.of_time_difference(timedelta(milliseconds=1)))
    sliding.aggregate(kind.basket, kind.put, kept).to_stream().foreach(see("sliding"))
    pipe(builder, config, kind, [1, 2, 3])

    assert [amounts for what, amounts in seen if what == "session" and amounts] == [[1], [1, 2], [1, 2, 3]]
    last = {tuple(amounts) for what, amounts in seen if what == "sliding" and amounts}
    assert last == {(1,), (2,), (1, 2), (3,), (2, 3)}


def test_old_values_are_the_old_ones(kind: Kind, config: StreamsConfig) -> None:
    """A table grouped again subtracts what it added, not what the aggregate has become."""
    builder = StreamsBuilder()
    steps: list[tuple[str, list[int]]] = []
    baskets = grouped(builder, kind).aggregate(kind.basket, kind.put, Materialized("b", value=kind.basket_serde))

    def note(what: str) -> Callable[[Any, Any, int], int]:
        def step(key: str, basket: Any, count: int) -> int:
            steps.append((what, kind.amounts(basket)))
            return count

        return step

    again = baskets.group_by(lambda key, basket: ("all", basket), Grouped(Serdes.string, kind.basket_serde))
    again.aggregate(int, note("add"), note("subtract"), Materialized(value=Serdes.long))
    pipe(builder, config, kind, [1, 2])

    assert steps == [("add", [1]), ("subtract", [1]), ("add", [1, 2])]


def test_a_filter_below_an_aggregate_compares_with_the_old_value(kind: Kind, config: StreamsConfig) -> None:
    """A row that the filter no longer lets through is deleted once, which needs the old value."""
    builder = StreamsBuilder()
    seen: list[list[int] | None] = []
    baskets = grouped(builder, kind).aggregate(kind.basket, kind.put, Materialized("b", value=kind.basket_serde))
    small = baskets.filter(lambda key, basket: len(kind.amounts(basket)) < 2, Materialized("small"))
    small.to_stream().foreach(lambda key, basket: seen.append(None if basket is None else kind.amounts(basket)))
    pipe(builder, config, kind, [1, 2, 3])

    assert seen == [[1], None]


def test_a_reducer_that_changes_the_aggregate_in_place(config: StreamsConfig) -> None:
    builder = StreamsBuilder()
    seen: list[list[int]] = []
    numbers = builder.stream("numbers", Consumed(Serdes.string, Serdes.json))

    def extend(one: list[int], two: list[int]) -> list[int]:
        one.extend(two)
        return one

    numbers.group_by_key().reduce(extend).to_stream().foreach(lambda key, value: seen.append(value))
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("numbers", Serdes.string, Serdes.json).pipe_key_values([("k", [1]), ("k", [2]), ("k", [3])])

    assert seen == [[1], [1, 2], [1, 2, 3]]


def test_typed_objects_come_out_of_stores_and_topics(kind: Kind) -> None:
    builder = StreamsBuilder()
    orders = builder.stream("orders", Consumed(Serdes.string, kind.order_serde))
    orders.to_table(Materialized("latest")).to_stream().to("out")
    order = kind.order("eu", 3)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("orders", Serdes.string, kind.order_serde).pipe("k", order)

        assert driver.key_value_store("latest").get("k") == order
        assert driver.output_topic("out", Serdes.string, kind.order_serde).read_value() == order
