"""Orchestration: a process manager books all parts of a trip, or none.

    millstream run examples.patterns.orchestration.app

The manager sends one command after the other and waits for the reply to each. A refusal, or no reply in time, makes it
undo what was done, in reverse order. Commands, replies, its state and its timers are one transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal

from millstream import (
    Consumed,
    KStream,
    Processor,
    ProcessorContext,
    Produced,
    PunctuationType,
    Record,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)

config = StreamsConfig(application_id="orchestration", processing_guarantee="exactly_once_v2")

TRIPS, REPLIES, OUTCOMES = "trips", "trip-replies", "trip-outcomes"
CAPACITIES, COMMANDS = "trip-capacities", "trip-commands"
#: Commands about resources of a partner, which is somebody else's service, and may never answer.
PARTNER_COMMANDS = "trip-partner-commands"
LOOK_AT_CLOCK_EVERY = timedelta(milliseconds=500)

Action = Literal["do", "undo"]


@dataclass(frozen=True)
class Step:
    """So much of a resource, such as 1 of `flight/LH1` or 300 of `card/ann`, and how long it may take to get it."""

    resource: str
    amount: int
    timeout_ms: int = 60_000


@dataclass(frozen=True)
class Trip:
    """What a customer wants: all of it, or nothing."""

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Command:
    """What the manager wants to be done; it may come again and must then change nothing."""

    trip: str
    step: int
    action: Action
    amount: int


@dataclass(frozen=True)
class Reply:
    """What became of a command, and what is free of the resource after it."""

    step: int
    action: Action
    done: bool
    free: int


@dataclass(frozen=True)
class Saga:
    """What the manager remembers of a trip: which command it waits for, and until when."""

    steps: tuple[Step, ...]
    state: Literal["doing", "undoing", "booked", "failed"]
    at: int
    deadline: int

    @property
    def waits_for(self) -> tuple[int, Action] | None:
        if self.state == "doing":
            return self.at, "do"
        return (self.at, "undo") if self.state == "undoing" else None


class Manager(Processor[str, Trip | Reply, str, Command | str]):
    """Drives every trip to its end. Forwards commands, keyed by resource, and outcomes, keyed by trip."""

    def init(self, context: ProcessorContext[str, Command | str]) -> None:
        super().init(context)
        self.sagas = context.state_store("trip-sagas")
        self.waiting = context.state_store("trip-deadlines")  # of open sagas alone: what the timer has to look at
        context.schedule(LOOK_AT_CLOCK_EVERY, PunctuationType.WALL_CLOCK_TIME, self.look_at_clock)

    def process(self, record: Record[str, Trip | Reply]) -> None:
        saga: Saga | None = self.sagas.get(record.key)
        if isinstance(record.value, Trip):
            if saga is None:  # else the request came twice
                self._go_on(record.key, Saga(record.value.steps, "doing", 0, 0), record.timestamp)
        elif saga is not None and saga.waits_for == (record.value.step, record.value.action):
            self._go_on(record.key, self._after(saga, record.value), record.timestamp)
        # Other replies came too late: what they tell of is undone, or being undone.

    def _after(self, saga: Saga, reply: Reply) -> Saga:
        if saga.state == "doing" and reply.done:
            return replace(saga, at=saga.at + 1)
        # A step that was refused needs no undoing, a step that was undone is done with: the one before is next.
        return replace(saga, state="undoing", at=saga.at - 1)

    def look_at_clock(self, now: int) -> None:
        for trip, deadline in list(self.waiting.all()):
            if deadline <= now:
                # Nobody knows whether the step was done, or will be: it is undone as well. An undo is never given up.
                self._go_on(trip, replace(self.sagas.get(trip), state="undoing"), now)

    def _go_on(self, trip: str, saga: Saga, timestamp: int) -> None:
        """Send the next command, or end."""
        if saga.state == "doing" and saga.at == len(saga.steps):
            saga = replace(saga, state="booked")
        elif saga.state == "undoing" and saga.at < 0:
            saga = replace(saga, state="failed")
        wanted = saga.waits_for
        if wanted is None:
            self.waiting.delete(trip)
            self.context.forward(Record(trip, saga.state, timestamp))
        else:
            # The clock of the batch, which is the same if the batch is run again.
            step = saga.steps[saga.at]
            saga = replace(saga, deadline=self.context.current_system_time_ms() + step.timeout_ms)
            self.waiting.put(trip, saga.deadline)
            self.context.forward(Record(step.resource, Command(trip, *wanted, step.amount), timestamp))
        self.sagas.put(trip, saga)


class ResourceDesk(Processor[str, Command | int, str, Reply]):
    """Flights, hotels and cards alike: gives what is free, and takes it back. Records are keyed by resource."""

    def init(self, context: ProcessorContext[str, Reply]) -> None:
        super().init(context)
        self.free = context.state_store("trip-free")
        self.bookings = context.state_store("trip-bookings")

    def process(self, record: Record[str, Command | int]) -> None:
        command, free = record.value, self.free.get(record.key) or 0
        if isinstance(command, int):
            self.free.put(record.key, free + command)
            return
        booking = f"{command.trip}/{command.step}"
        state = self.bookings.get(booking)
        if command.action == "do":
            if state is None and free >= command.amount:
                state, free = "done", free - command.amount
            done = state == "done"  # not if it was undone already
            state = state or "refused"
        else:
            if state == "done":
                free += command.amount
            state, done = "undone", True
        self.bookings.put(booking, state)
        self.free.put(record.key, free)
        reply = Reply(command.step, command.action, done, free)
        self.context.forward(Record(command.trip, reply, record.timestamp))


def add_manager(builder: StreamsBuilder) -> None:
    """Requests and replies in, commands and outcomes out."""
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("trip-sagas"), Serdes.string, Serdes.json(Saga))
    )
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("trip-deadlines"), Serdes.string, Serdes.long)
    )
    trips: KStream[str, Any] = builder.stream(TRIPS, Consumed(Serdes.string, Serdes.json(Trip)))
    replies: KStream[str, Any] = builder.stream(REPLIES, Consumed(Serdes.string, Serdes.json(Reply)))
    decisions = trips.merge(replies).process(Manager, "trip-sagas", "trip-deadlines", name="manager")
    decisions.filter(lambda key, decision: isinstance(decision, Command)).to(
        lambda resource, command, context: PARTNER_COMMANDS if resource.startswith("partner/") else COMMANDS,
        Produced(Serdes.string, Serdes.json(Command)),
    )
    decisions.filter(lambda key, decision: isinstance(decision, str)).to(
        OUTCOMES, Produced(Serdes.string, Serdes.string)
    )


def add_resources(builder: StreamsBuilder) -> None:
    """Commands in, replies out."""
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("trip-free"), Serdes.string, Serdes.long)
    )
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("trip-bookings"), Serdes.string, Serdes.string)
    )
    capacities: KStream[str, Any] = builder.stream(CAPACITIES, Consumed(Serdes.string, Serdes.json(int)))
    commands: KStream[str, Any] = builder.stream(COMMANDS, Consumed(Serdes.string, Serdes.json(Command)))
    (
        capacities.merge(commands)
        .process(ResourceDesk, "trip-free", "trip-bookings", name="resource-desk")
        .to(REPLIES, Produced(Serdes.string, Serdes.json(Reply)))
    )


def add_to(builder: StreamsBuilder) -> None:
    """The manager and those who work for it."""
    add_manager(builder)
    add_resources(builder)


def topology() -> Topology:
    """The manager and those who work for it, in one application."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()
