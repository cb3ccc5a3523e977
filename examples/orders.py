"""A shop's orders: filter, re-key, sum per region and window, join with the customers.

    make demo

It runs on the test driver, so it needs no broker. Times are event times: those of the orders, not of this machine.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from millstream import (
    Consumed,
    EmitStrategy,
    Grouped,
    Joined,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.testing import TopologyTestDriver

FIVE_MINUTES = timedelta(minutes=5)


@dataclass(frozen=True)
class Order:
    """What a customer bought."""

    customer: str
    region: str
    amount: int


@dataclass(frozen=True)
class Customer:
    """Who bought it."""

    name: str
    tier: str


@dataclass(frozen=True)
class Sales:
    """What a region bought in a window."""

    orders: int = 0
    euro: int = 0


def add(region: str, order: Order, sales: Sales) -> Sales:
    return Sales(sales.orders + 1, sales.euro + order.amount)


def with_customer(order: Order, customer: Customer | None) -> dict[str, object]:
    who = f"{customer.name} ({customer.tier})" if customer else "unknown customer"
    return {**asdict(order), "who": who}


def topology() -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json(Order)))
    customers = builder.table("customers", Consumed(Serdes.string, Serdes.json(Customer)))
    big = orders.filter(lambda key, order: order.amount > 100, name="big-orders")

    # Sales per region: one final result for each window of five minutes, when it can no longer change. A window can be
    # emitted only while it is kept, so it is kept longer than the shop is ever quiet.
    kept = Materialized("sales-by-region", value=Serdes.json(Sales), retention=timedelta(hours=12))
    (
        big.group_by(lambda key, order: order.region, Grouped(key=Serdes.string, name="by-region"))
        .windowed_by(TimeWindows.of_size(FIVE_MINUTES, grace=timedelta(minutes=1)))
        .emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        .aggregate(Sales, add, kept)
        .to_stream()
        .to("sales")
    )
    # Each big order with its customer, known or not.
    (
        big.select_key(lambda key, order: order.customer)
        .left_join(customers, with_customer, Joined(key=Serdes.string, name="with-customer"))
        .to("orders-for-shipping", Produced(value=Serdes.json))
    )
    return builder.build()


CUSTOMERS = {"c1": Customer("Ann Lee", "gold"), "c2": Customer("Bob Ray", "silver")}

ORDERS = [
    ("12:00:30", "o1", Order("c1", "EMEA", 250)),
    ("12:01:10", "o2", Order("c2", "EMEA", 40)),
    ("12:02:00", "o3", Order("c3", "APAC", 500)),
    ("12:05:10", "o4", Order("c1", "EMEA", 300)),
    ("12:04:50", "o5", Order("c2", "EMEA", 180)),  # late, but within the grace of a minute
    ("12:07:00", "o6", Order("c2", "APAC", 90)),
    ("12:20:00", "o7", Order("c1", "APAC", 120)),  # closes all windows before
    ("12:03:00", "o8", Order("c2", "EMEA", 700)),  # too late for its window, not for the join
]


def milliseconds(clock: str) -> int:
    return int(datetime.fromisoformat(f"2026-03-02T{clock}+00:00").timestamp() * 1000)


def clock(timestamp: int) -> str:
    return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%H:%M")


def main() -> None:
    logging.getLogger("millstream").setLevel(logging.ERROR)  # no warnings about late records
    built = topology()
    parts = built.sub_topologies()
    print(f"The topology has {len(built.nodes)} nodes in {len(parts)} sub-topologies.\n")

    with TopologyTestDriver(built, StreamsConfig(application_id="shop")) as driver:
        customers = driver.input_topic("customers", Serdes.string, Serdes.json(Customer))
        orders = driver.input_topic("orders", Serdes.string, Serdes.json(Order))
        shipping = driver.output_topic("orders-for-shipping", Serdes.string, Serdes.json)
        sales = driver.output_topic("sales", Serdes.time_windowed(Serdes.string, FIVE_MINUTES), Serdes.json(Sales))

        for key, customer in CUSTOMERS.items():
            customers.pipe(key, customer, timestamp=0)
        print("Orders come in:")
        for time, key, order in ORDERS:
            print(f"  {time}  {key}  {order.region}  {order.amount:>3} euro from {order.customer}")
            orders.pipe(key, order, timestamp=milliseconds(time))

        shipped = shipping.read_values()
        print(f"\n{len(shipped)} of {len(ORDERS)} orders are above 100 euro. Sales per region and five minutes:")
        for windowed, sold in sales.read_key_values():
            window = clock(windowed.window.start)
            print(f"  {window}  {windowed.key}  orders {sold.orders}  euro {sold.euro}")
        print("\nFor shipping, each with its customer:")
        for order in shipped:
            print(f"  {order['amount']:>3} euro to {order['region']} for {order['who']}")
        print(f"\n{driver.dropped_records_total} order came too late for its window and was not summed up.")


if __name__ == "__main__":
    main()
