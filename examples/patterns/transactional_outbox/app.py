"""Transactional outbox: what a database committed becomes events, each once.

    millstream run examples.patterns.transactional_outbox.app

The shop (shop.py) writes a row and its event in one transaction of the database. The relay (relay.py) sends events in
the order of their numbers, and may send some again after a crash. This job keeps each of them once.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream import (
    Consumed,
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    FixedKeyRecord,
    Produced,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)

config = StreamsConfig(application_id="transactional-outbox", processing_guarantee="exactly_once_v2")

RELAYED, EVENTS = "order-outbox", "order-events"


@dataclass(frozen=True)
class OutboxEvent:
    """A row of the outbox: its number, and what happened."""

    number: int
    kind: str
    payload: dict[str, int | str]


class Once(FixedKeyProcessor[str, OutboxEvent, OutboxEvent]):
    """Passes on what is new. The relay keeps the order, so one number for each order tells what is old.

    A set of all ids that were seen would grow for ever, or forget.
    """

    def init(self, context: FixedKeyProcessorContext[str, OutboxEvent]) -> None:
        super().init(context)
        self.passed = context.state_store("outbox-passed")

    def process(self, record: FixedKeyRecord[str, OutboxEvent]) -> None:
        if record.value.number > (self.passed.get(record.key) or 0):
            self.passed.put(record.key, record.value.number)
            self.context.forward(record)


def add_to(builder: StreamsBuilder) -> None:
    """What the relay sent in, every event once out."""
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("outbox-passed"), Serdes.string, Serdes.long)
    )
    (
        builder.stream(RELAYED, Consumed(Serdes.string, Serdes.json(OutboxEvent)))
        .process_values(Once, "outbox-passed", name="once")
        .to(EVENTS, Produced(Serdes.string, Serdes.json(OutboxEvent)))
    )


def topology() -> Topology:
    """The job that keeps each event once."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()
