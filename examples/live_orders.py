"""A shop's orders on a real broker and on Spark, exactly once, for about a minute.

    make demo                      (add KEEP=--keep to run on until Ctrl-C)

A producer sends some hundred orders per second. The application keeps those above 100 euro, re-keys them by region,
sums them up in windows of five seconds, joins them with their customers, and writes both results. The table shows what
a consumer of committed records sees.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

import orjson
from confluent_kafka import Consumer, Producer
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from millstream import (
    Consumed,
    Grouped,
    Joined,
    KafkaStreams,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import NewTopic

WINDOW = timedelta(seconds=5)
REGIONS = ("EMEA", "APAC", "AMER")
CUSTOMERS = 200
ORDERS_PER_SECOND = 400


@dataclass(frozen=True)
class Order:
    """What a customer bought."""

    customer: str
    region: str
    amount: int


@dataclass(frozen=True)
class Sales:
    """What a region bought in a window."""

    orders: int = 0
    euro: int = 0


def topology() -> Topology:
    builder = StreamsBuilder()
    orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json(Order)))
    customers = builder.table("customers", Consumed(Serdes.string, Serdes.json))
    big = orders.filter(lambda key, order: order.amount > 100)
    (
        big.group_by(lambda key, order: order.region, Grouped(key=Serdes.string, name="by-region"))
        .windowed_by(TimeWindows.of_size(WINDOW, grace=timedelta(seconds=5)))
        .aggregate(
            Sales,
            lambda region, order, sales: Sales(sales.orders + 1, sales.euro + order.amount),
            Materialized("sales-by-region", value=Serdes.json(Sales)),
        )
        .to_stream()
        .to("sales")
    )
    (
        big.select_key(lambda key, order: order.customer)
        .join(
            customers,
            lambda order, customer: {**asdict(order), "name": customer["name"]},
            Joined(key=Serdes.string, name="with-customer"),
        )
        .to("shipping", Produced(value=Serdes.json))
    )
    return builder.build()


def send_orders(bootstrap: str, stop: threading.Event, sent: list[int]) -> None:
    """Orders at a steady pace."""
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 5})
    for number in range(CUSTOMERS):
        producer.produce("customers", orjson.dumps({"name": f"Customer {number}"}), f"c{number}")
    producer.flush()
    rng = random.Random(7)
    started = time.monotonic()
    while not stop.wait(0.02):
        due = int((time.monotonic() - started) * ORDERS_PER_SECOND)
        for number in range(sent[0], due):
            order = Order(f"c{rng.randrange(CUSTOMERS)}", rng.choice(REGIONS), rng.randrange(20, 400))
            producer.produce("orders", orjson.dumps(order), f"o{number}")
        producer.poll(0)
        sent[0] = max(sent[0], due)
    producer.flush()


class Results:
    """What a consumer of committed records has seen."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "demo",
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )
        self._consumer.subscribe(["sales", "shipping"])
        self._windowed = Serdes.time_windowed(Serdes.string, WINDOW)
        self.sales: dict[tuple[int, str], Sales] = {}
        self.shipped = 0
        self.last = ""

    def poll(self) -> None:
        for message in self._consumer.consume(2000, 0.2):
            if message.error() is not None:
                continue
            value = orjson.loads(message.value() or b"null")
            if message.topic() == "sales":
                windowed = self._windowed.deserialize(message.key() or b"")
                self.sales[windowed.window.start, windowed.key] = Sales(**value)
            else:
                self.shipped += 1
                self.last = f"{value['amount']} euro to {value['region']} for {value['name']}"

    def close(self) -> None:
        self._consumer.close()


def picture(results: Results, streams: KafkaStreams, sent: int, left: float | None) -> Group:
    """The screen: sales of the last windows, shipping, and what the application does."""
    table = Table(title="orders above 100 euro, per region and 5 seconds", title_justify="left")
    table.add_column("window")
    for region in REGIONS:
        table.add_column(f"{region}: orders, euro", justify="right", no_wrap=True)
    for start in sorted({start for start, _ in results.sales}, reverse=True)[:6]:
        cells = [results.sales.get((start, region), Sales()) for region in REGIONS]
        table.add_row(
            datetime.fromtimestamp(start / 1000, UTC).strftime("%H:%M:%S"),
            *(f"{sales.orders:>4} {sales.euro:>9,}" for sales in cells),
        )
    totals = streams.metrics()
    status = Text.assemble(
        (streams.state.value, "bold green"),
        f"   sent {sent:,}   processed {totals['process-total']:,.0f}   commits {totals['commit-total']:,.0f}",
        f"   lag {totals['records-lag']:,.0f}",
        "" if left is None else f"   {left:.0f} s left",
    )
    shipping = f"{results.shipped:,} orders for shipping; the last: {results.last or '-'}"
    return Group(table, Panel(shipping), status)


def main() -> None:
    parser = argparse.ArgumentParser(description="orders on a real broker and on Spark, exactly once")
    parser.add_argument("--keep", action="store_true", help="run on until Ctrl-C")
    parser.add_argument(
        "--seconds", type=float, default=40.0, help="how long to run otherwise, from the first result on"
    )
    arguments = parser.parse_args()
    console = Console()
    console.print("starting a broker (the first time its jars are fetched) and Spark ...")
    with DevBroker() as broker:
        config = StreamsConfig(
            application_id="shop",
            bootstrap_servers=broker.bootstrap_servers,
            processing_guarantee="exactly_once_v2",
            num_stream_threads=2,
        )
        Admin(config).create_topics([NewTopic(name, 4) for name in ("orders", "customers", "sales", "shipping")])
        built = topology()
        console.print(f"the topology has {len(built.sub_topologies())} sub-topologies, 4 tasks each")
        stop, sent = threading.Event(), [0]
        results = Results(broker.bootstrap_servers)
        sender = threading.Thread(target=send_orders, args=(broker.bootstrap_servers, stop, sent))
        sender.start()
        try:
            with KafkaStreams(built, config) as streams:
                show(results, streams, sent, None if arguments.keep else arguments.seconds, console)
                stop.set()
                sender.join()
        finally:
            stop.set()
            results.close()
    console.print(f"done: {sent[0]:,} orders sent, {results.shipped:,} shipped, {len(results.sales)} windows summed up")


def show(results: Results, streams: KafkaStreams, sent: list[int], seconds: float | None, console: Console) -> None:
    # The time counts from the first result: how long Spark takes to start is another matter.
    deadline = None
    shown = 0.0
    with Live(console=console, auto_refresh=False) as live:
        try:
            while deadline is None or time.monotonic() < deadline:
                results.poll()
                if seconds is not None and deadline is None and results.shipped:
                    deadline = time.monotonic() + seconds
                left = None if deadline is None else deadline - time.monotonic()
                # A terminal gets a moving picture, a log file one now and then.
                if console.is_terminal or time.monotonic() - shown > 10:
                    shown = time.monotonic()
                    live.update(picture(results, streams, sent[0], left), refresh=True)
                if streams.failure is not None:
                    raise streams.failure
        except KeyboardInterrupt:
            pass
        live.update(picture(results, streams, sent[0], None), refresh=True)


if __name__ == "__main__":
    main()
