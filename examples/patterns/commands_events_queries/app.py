"""Commands, events and queries apart (CQRS): seats of concerts.

    millstream run examples.patterns.commands_events_queries.app --port 8090

The command side decides, one command after the other, against its own state, and tells events: a refusal is one, too.
The query side is made of the events alone: the answer to each command, and what every customer has booked.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)

config = StreamsConfig(application_id="commands-events-queries", processing_guarantee="exactly_once_v2")

COMMANDS, EVENTS = "ticket-commands", "ticket-events"
ANSWERS, BOOKINGS = "ticket-answers", "tickets-by-customer"


@dataclass(frozen=True)
class Command:
    """A wish. Its id comes from who sends it, and is the same if it is sent again."""

    id: str
    kind: Literal["release", "book", "cancel"]
    seats: int
    customer: str = ""


@dataclass(frozen=True)
class Event:
    """What came of a command, and the seats left after it."""

    command: str
    kind: Literal["released", "booked", "cancelled", "refused"]
    concert: str
    customer: str
    seats: int
    left: int
    reason: str = ""


class Decide(Processor[str, Command, str, Event]):
    """Decides commands. They are keyed by concert, as is the state they change: no two are decided at once."""

    def init(self, context: ProcessorContext[str, Event]) -> None:
        super().init(context)
        self.left = context.state_store("seats-left")
        self.booked = context.state_store("seats-booked")
        self.handled = context.state_store("commands-handled")

    def process(self, record: Record[str, Command]) -> None:
        command, concert = record.value, record.key
        if self.handled.put_if_absent(command.id, concert) is not None:
            return  # sent again: it has its answer
        left = self.left.get(concert) or 0
        booking = f"{concert}/{command.customer}"
        own = self.booked.get(booking) or 0
        if command.seats <= 0:
            self._tell(record, "refused", left, "no seats are wanted")
        elif command.kind == "release":
            self._tell(record, "released", left + command.seats)
        elif command.kind == "book" and command.seats > left:
            self._tell(record, "refused", left, f"{left} seats are left")
        elif command.kind == "book":
            self.booked.put(booking, own + command.seats)
            self._tell(record, "booked", left - command.seats)
        elif command.seats > own:
            self._tell(record, "refused", left, f"{own} seats are booked")
        else:
            self.booked.put(booking, own - command.seats)
            self._tell(record, "cancelled", left + command.seats)

    def _tell(
        self,
        record: Record[str, Command],
        kind: Literal["released", "booked", "cancelled", "refused"],
        left: int,
        reason: str = "",
    ) -> None:
        command = record.value
        self.left.put(record.key, left)
        event = Event(command.id, kind, record.key, command.customer, command.seats, left, reason)
        self.context.forward(record.with_value(event))


def with_event(customer: str, event: Event, seats: dict[str, int]) -> dict[str, int]:
    """What a customer has, by concert, after an event."""
    change = event.seats if event.kind == "booked" else -event.seats
    changed = {**seats, event.concert: seats.get(event.concert, 0) + change}
    return {concert: count for concert, count in changed.items() if count}


def add_commands(builder: StreamsBuilder) -> None:
    """The side that changes things."""
    for name, value in (
        ("seats-left", Serdes.long),
        ("seats-booked", Serdes.long),
        ("commands-handled", Serdes.string),
    ):
        builder.add_state_store(Stores.key_value_store(Stores.persistent_key_value(name), Serdes.string, value))
    commands = builder.stream(COMMANDS, Consumed(Serdes.string, Serdes.json(Command)))
    decided = commands.process(Decide, "seats-left", "seats-booked", "commands-handled", name="decide-seats")
    decided.to(EVENTS, Produced(Serdes.string, Serdes.json(Event)))


def add_queries(builder: StreamsBuilder) -> None:
    """The side that is asked. It changes nothing, and may be behind."""
    events: KStream[str, Event] = builder.stream(EVENTS, Consumed(Serdes.string, Serdes.json(Event)))
    answers = events.select_key(lambda concert, event: event.command)
    answers.to_table(Materialized(ANSWERS, Serdes.string, Serdes.json(Event)))
    (
        events.filter(lambda concert, event: event.kind in ("booked", "cancelled"))
        .group_by(lambda concert, event: event.customer, Grouped(Serdes.string, Serdes.json(Event), "by-customer"))
        .aggregate(dict, with_event, Materialized(BOOKINGS, value=Serdes.json(dict[str, int])))
    )


def add_to(builder: StreamsBuilder) -> None:
    """Both sides; as they meet in one topic, they may as well be applications of their own."""
    add_commands(builder)
    add_queries(builder)


def topology() -> Topology:
    """Both sides in one application."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()
