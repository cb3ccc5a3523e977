"""The workloads of the comparison, and what each reads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

from data import (
    CUSTOMERS_TOPIC,
    KEYS,
    LINES_TOPIC,
    MANY_TOPIC,
    ORDERS_TOPIC,
    PAYMENTS_TOPIC,
    SHIPMENTS_TOPIC,
    Record,
    create_topics,
    customers,
    lines,
    orders,
    produce,
)

MANY_KEYS = 1_000_000
JOINED_KEYS = 100_000

WORKLOADS = ("filter", "sum", "window", "wordcount", "rekey", "sum-many", "sum-uncached", "table", "join")


class Scale(NamedTuple):
    """How much there is of everything."""

    orders: int
    lines: int
    #: Of each side of the join of two streams.
    joined: int


class Input(NamedTuple):
    """A topic and what is in it."""

    topic: str
    size: int
    records: Callable[[], Iterator[Record]]


def inputs(workload: str, scale: Scale) -> tuple[Input, ...]:
    """What a workload reads."""
    some = Input(ORDERS_TOPIC, scale.orders, partial(orders, scale.orders, KEYS))
    match workload:
        case "wordcount":
            return (Input(LINES_TOPIC, scale.lines, partial(lines, scale.lines)),)
        case "sum-many":
            return (Input(MANY_TOPIC, scale.orders, partial(orders, scale.orders, MANY_KEYS)),)
        case "table":
            return some, Input(CUSTOMERS_TOPIC, KEYS, partial(customers, KEYS))
        case "join":
            sides = ((SHIPMENTS_TOPIC, 7), (PAYMENTS_TOPIC, 8))
            return tuple(
                Input(topic, scale.joined, partial(orders, scale.joined, JOINED_KEYS, seed)) for topic, seed in sides
            )
        case _:
            return (some,)


def fill_for(bootstrap: str, workloads: list[str], scale: Scale) -> None:
    """Create the topics that these workloads read, and fill them."""
    needed = {found.topic: found for workload in workloads for found in inputs(workload, scale)}
    create_topics(bootstrap, *needed)
    for found in needed.values():
        produce(bootstrap, found.topic, found.records())
