"""Enrichment by foreign key: orders with the customer they belong to, whatever changes.

    millstream run examples.patterns.foreign_key_enrichment.app --port 8090

Both sides are tables, so a result follows either: a customer who moves changes all her orders, an order that changes
hands loses its old customer, and the order in which things arrive does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream import (
    Consumed,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    TableJoined,
    Topology,
)

config = StreamsConfig(application_id="foreign-key-enrichment", processing_guarantee="exactly_once_v2")

PURCHASES, CUSTOMERS = "purchases", "customers"
WITH_CUSTOMER, KNOWN_ONLY = "purchases-with-customer", "purchases-of-known-customers"


@dataclass(frozen=True)
class Purchase:
    """What was bought, and by whom: the key of another table."""

    item: str
    customer: str


@dataclass(frozen=True)
class Customer:
    """Who bought it."""

    name: str
    city: str


@dataclass(frozen=True)
class Enriched:
    """A purchase with its customer, as far as she is known."""

    item: str
    customer: str
    name: str | None
    city: str | None


def enrich(purchase: Purchase, customer: Customer | None) -> Enriched:
    """Both in one."""
    if customer is None:
        return Enriched(purchase.item, purchase.customer, None, None)
    return Enriched(purchase.item, purchase.customer, customer.name, customer.city)


def customer_of(purchase: Purchase) -> str:
    """The foreign key."""
    return purchase.customer


def add_to(builder: StreamsBuilder) -> None:
    """Two tables in; all purchases, and those of known customers alone, out."""
    purchases = builder.table(PURCHASES, Consumed(Serdes.string, Serdes.json(Purchase)), Materialized("purchases"))
    customers = builder.table(CUSTOMERS, Consumed(Serdes.string, Serdes.json(Customer)), Materialized("customers"))
    everything = purchases.left_join(
        customers,
        enrich,
        Materialized("purchases-with-customer", value=Serdes.json(Enriched)),
        foreign_key=customer_of,
        table_joined=TableJoined(name="with-customer"),
    )
    known = purchases.join(
        customers,
        enrich,
        Materialized("purchases-of-known-customers", value=Serdes.json(Enriched)),
        foreign_key=customer_of,
        table_joined=TableJoined(name="of-known-customers"),
    )
    everything.to_stream().to(WITH_CUSTOMER, Produced(Serdes.string, Serdes.json(Enriched)))
    known.to_stream().to(KNOWN_ONLY, Produced(Serdes.string, Serdes.json(Enriched)))


def topology() -> Topology:
    """The joins."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()
