"""Event collaboration: four services of a shop that know each other's events and nothing else.

    millstream run examples.patterns.event_collaboration.app

Each service reads topics, keeps its own state and is the only writer of its own topic. An order is one story under one
key, the order's id; every kind of event happens to an order at most once, so key and kind together name an event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from millstream import (
    Consumed,
    Grouped,
    KStream,
    Materialized,
    Processor,
    ProcessorContext,
    Produced,
    Record,
    Repartitioned,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)

config = StreamsConfig(application_id="event-collaboration", processing_guarantee="exactly_once_v2")

DEPOSITS, DELIVERIES = "shop-deposits", "shop-deliveries"
ORDERS, PAYMENTS, RESERVATIONS, SHIPMENTS, STATUS = (
    "shop-orders", "shop-payments", "shop-reservations", "shop-shipments", "shop-order-status",
)  # fmt: skip


@dataclass(frozen=True)
class Order:
    """What a customer wants. Every later event carries it, so that no service has to ask another one."""

    customer: str
    product: str
    pieces: int
    cents: int


@dataclass(frozen=True)
class Payment:
    """What the payment service did, and the customer's balance after it."""

    kind: Literal["taken", "refused", "returned"]
    order: Order
    balance: int


@dataclass(frozen=True)
class Reservation:
    """What the stock service did, and the pieces left after it."""

    kind: Literal["reserved", "sold out"]
    order: Order
    left: int


@dataclass(frozen=True)
class Task:
    """What a desk has to do about an order, or about what came in (`amount`)."""

    kind: Literal["come in", "take", "give back"]
    order_id: str = ""
    order: Order | None = None
    amount: int = 0


class PaymentDesk(Processor[str, Task, str, Payment]):
    """Takes money once for each order, and gives it back once. Records are keyed by customer."""

    def init(self, context: ProcessorContext[str, Payment]) -> None:
        super().init(context)
        self.balances = context.state_store("shop-balances")
        self.decisions = context.state_store("shop-payment-decisions")

    def process(self, record: Record[str, Task]) -> None:
        task, balance = record.value, self.balances.get(record.key) or 0
        if task.order is None:
            self.balances.put(record.key, balance + task.amount)
            return
        decided = self.decisions.get(task.order_id)
        if task.kind == "take" and decided is None:
            enough = balance >= task.order.cents
            self._tell(record, "taken" if enough else "refused", balance - task.order.cents if enough else balance)
        elif task.kind == "give back" and decided == "taken":
            self._tell(record, "returned", balance + task.order.cents)

    def _tell(self, record: Record[str, Task], kind: Literal["taken", "refused", "returned"], balance: int) -> None:
        task = record.value
        assert task.order is not None
        self.balances.put(record.key, balance)
        self.decisions.put(task.order_id, kind)
        self.context.forward(record.with_key(task.order_id).with_value(Payment(kind, task.order, balance)))


class StockDesk(Processor[str, Task, str, Reservation]):
    """Reserves pieces once for each order that is paid. Records are keyed by product."""

    def init(self, context: ProcessorContext[str, Reservation]) -> None:
        super().init(context)
        self.shelves = context.state_store("shop-shelves")
        self.decided = context.state_store("shop-stock-decisions")

    def process(self, record: Record[str, Task]) -> None:
        task, left = record.value, self.shelves.get(record.key) or 0
        if task.order is None:
            self.shelves.put(record.key, left + task.amount)
        elif self.decided.get(task.order_id) is None:
            enough = left >= task.order.pieces
            left = left - task.order.pieces if enough else left
            reservation = Reservation("reserved" if enough else "sold out", task.order, left)
            self.shelves.put(record.key, left)
            self.decided.put(task.order_id, reservation.kind)
            self.context.forward(record.with_key(task.order_id).with_value(reservation))


def add_payment(builder: StreamsBuilder) -> None:
    """Takes the money of orders, and gives it back where the goods are sold out."""
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("shop-balances"), Serdes.string, Serdes.long)
    )
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("shop-payment-decisions"), Serdes.string, Serdes.string)
    )
    come_in = builder.stream(DEPOSITS, Consumed(Serdes.string, Serdes.json(int))).map_values(
        lambda cents: Task("come in", amount=cents)
    )
    take = builder.stream(ORDERS, Consumed(Serdes.string, Serdes.json(Order))).map(
        lambda order_id, order: (order.customer, Task("take", order_id, order))
    )
    give_back = (
        reservations(builder)
        .filter(lambda order_id, reservation: reservation.kind == "sold out")
        .map(lambda order_id, reservation: (reservation.order.customer, Task("give back", order_id, reservation.order)))
    )
    (
        come_in.merge(take)
        .merge(give_back)
        .repartition(Repartitioned(Serdes.string, Serdes.json(Task), "shop-by-customer"))
        .process(PaymentDesk, "shop-balances", "shop-payment-decisions", name="payment-desk")
        .to(PAYMENTS, Produced(Serdes.string, Serdes.json(Payment)))
    )


def add_stock(builder: StreamsBuilder) -> None:
    """Reserves what is paid."""
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("shop-shelves"), Serdes.string, Serdes.long)
    )
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("shop-stock-decisions"), Serdes.string, Serdes.string)
    )
    come_in = builder.stream(DELIVERIES, Consumed(Serdes.string, Serdes.json(int))).map_values(
        lambda pieces: Task("come in", amount=pieces)
    )
    take = (
        payments(builder)
        .filter(lambda order_id, payment: payment.kind == "taken")
        .map(lambda order_id, payment: (payment.order.product, Task("take", order_id, payment.order)))
    )
    (
        come_in.merge(take)
        .repartition(Repartitioned(Serdes.string, Serdes.json(Task), "shop-by-product"))
        .process(StockDesk, "shop-shelves", "shop-stock-decisions", name="stock-desk")
        .to(RESERVATIONS, Produced(Serdes.string, Serdes.json(Reservation)))
    )


def add_shipping(builder: StreamsBuilder) -> None:
    """Ships what is reserved."""
    (
        reservations(builder)
        .filter(lambda order_id, reservation: reservation.kind == "reserved")
        .map_values(lambda reservation: reservation.order)
        .to(SHIPMENTS, Produced(Serdes.string, Serdes.json(Order)))
    )


#: How far an order is. Topics are read side by side, so a later event may be seen before an earlier one.
RANKS = {"": 0, "placed": 1, "paid": 2, "reserved": 3, "shipped": 4, "sold out": 4, "refused": 5, "money returned": 5}
TERMINAL = {"shipped", "refused", "money returned"}


def further(order_id: str, new: str, status: str) -> str:
    """The status that is further on."""
    return new if RANKS[new] > RANKS[status] else status


def add_order_status(builder: StreamsBuilder) -> None:
    """Folds all events of an order into how far it is."""
    named = {"taken": "paid", "refused": "refused", "returned": "money returned"}
    orders = builder.stream(ORDERS, Consumed(Serdes.string, Serdes.json(Order)))
    shipments = builder.stream(SHIPMENTS, Consumed(Serdes.string, Serdes.json(Order)))
    told: KStream[str, str] = orders.map_values(lambda order: "placed")
    (
        told.merge(payments(builder).map_values(lambda payment: named[payment.kind]))
        .merge(reservations(builder).map_values(lambda reservation: str(reservation.kind)))
        .merge(shipments.map_values(lambda order: "shipped"))
        .group_by_key(Grouped(Serdes.string, Serdes.string))
        .aggregate(str, further, Materialized("shop-order-status", value=Serdes.string))
        .to_stream()
        .to(STATUS, Produced(Serdes.string, Serdes.string))
    )


def payments(builder: StreamsBuilder) -> KStream[str, Payment]:
    """What the payment service tells."""
    return builder.stream(PAYMENTS, Consumed(Serdes.string, Serdes.json(Payment)))


def reservations(builder: StreamsBuilder) -> KStream[str, Reservation]:
    """What the stock service tells."""
    return builder.stream(RESERVATIONS, Consumed(Serdes.string, Serdes.json(Reservation)))


SERVICES = (add_payment, add_stock, add_shipping, add_order_status)


def add_to(builder: StreamsBuilder) -> None:
    """All services; as they meet in topics alone, they may as well be applications of their own."""
    for add_service in SERVICES:
        add_service(builder)


def topology() -> Topology:
    """All services in one application."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()


def alone(add_service: Callable[[StreamsBuilder], None]) -> StreamsBuilder:
    """One service as an application of its own."""
    builder = StreamsBuilder()
    add_service(builder)
    return builder


payment, stock, shipping, order_status = (partial(alone, add_service) for add_service in SERVICES)
