"""Request and reply: numbers for those who wait at a counter, asked for and given over topics.

    millstream run examples.patterns.request_reply.app

A request says where its reply goes, which id the reply must have, and until when anybody waits for it. A reply is
written in the same transaction as the number that it gives away: nobody hears of a number that was taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from millstream import (
    Consumed,
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

config = StreamsConfig(application_id="request-reply", processing_guarantee="exactly_once_v2")

REQUESTS = "number-requests"
REPLIES_PREFIX = "number-replies-"


@dataclass(frozen=True)
class Request:
    """A request for the next number; requests are keyed by counter."""

    id: str
    client: str
    deadline: int


@dataclass(frozen=True)
class Reply:
    """The number, for the request of that id."""

    id: str
    counter: str
    number: int


@dataclass(frozen=True)
class Given:
    """A number that was given, and how long the request may come again."""

    number: int
    deadline: int


class Counter(Processor[str, Request, str, Reply]):
    """Gives every request that is still waited for the next number; a request that comes again gets the same one."""

    def init(self, context: ProcessorContext[str, Reply]) -> None:
        super().init(context)
        self.numbers = context.state_store("counter-numbers")
        self.given = context.state_store("counter-given")
        context.schedule(timedelta(seconds=10), PunctuationType.WALL_CLOCK_TIME, self.forget)

    def process(self, record: Record[str, Request]) -> None:
        request = record.value
        if request.deadline <= self.context.current_system_time_ms():
            return  # nobody waits any more, so nothing is done
        given: Given | None = self.given.get(request.id)
        if given is None:
            given = Given((self.numbers.get(record.key) or 0) + 1, request.deadline)
            self.numbers.put(record.key, given.number)
            self.given.put(request.id, given)
        self.context.forward(Record(request.client, Reply(request.id, record.key, given.number), record.timestamp))

    def forget(self, now: int) -> None:
        """Requests whose time is over cannot come again."""
        for request, given in list(self.given.all()):
            if given.deadline <= now:
                self.given.delete(request)


def add_to(builder: StreamsBuilder) -> None:
    """Requests in, replies to the topic of each client out."""
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("counter-numbers"), Serdes.string, Serdes.long)
    )
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("counter-given"), Serdes.string, Serdes.json(Given))
    )
    (
        builder.stream(REQUESTS, Consumed(Serdes.string, Serdes.json(Request)))
        .process(Counter, "counter-numbers", "counter-given", name="counter")
        .to(lambda client, reply, context: REPLIES_PREFIX + client, Produced(Serdes.string, Serdes.json(Reply)))
    )


def topology() -> Topology:
    """Those who answer; start as many as you like."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()
