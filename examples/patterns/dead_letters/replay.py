"""Replays dead letters: each goes to the retry topic once more, and aside for good when that did not help.

millstream run examples.patterns.dead_letters.replay --once
"""

from __future__ import annotations

from millstream import (
    Consumed,
    Headers,
    Processor,
    Produced,
    Record,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)

from .app import LETTERS, RETRIES

config = StreamsConfig(application_id="dead-letters-replay", processing_guarantee="exactly_once_v2")

PARKED = "transfers-parked"
ATTEMPTS = "replay-attempts"
MAX_ATTEMPTS = 2


class Address(Processor[bytes, bytes, bytes, bytes]):
    """Counts how often a letter was sent, and takes the last error off, so that the next one is the only one."""

    def process(self, record: Record[bytes, bytes]) -> None:
        attempts = int(record.headers.last(ATTEMPTS) or b"0")
        if attempts >= MAX_ATTEMPTS:
            self.context.forward(record)  # with the error that it died of
            return
        kept = [(name, value) for name, value in record.headers if not name.startswith("__streams.errors.")]
        headers = Headers((name, value) for name, value in kept if name != ATTEMPTS)
        headers.add(ATTEMPTS, str(attempts + 1).encode())
        self.context.forward(record.with_headers(headers))


def add_to(builder: StreamsBuilder) -> None:
    """Letters in, retries and hopeless ones out. Bytes stay as they are."""
    (
        builder.stream(LETTERS, Consumed(Serdes.bytes, Serdes.bytes))
        .process(Address, name="address")
        .to(
            lambda key, value, context: PARKED if "__streams.errors.exception" in context.headers else RETRIES,
            Produced(Serdes.bytes, Serdes.bytes),
        )
    )


def topology() -> Topology:
    """The replay, a job of its own: it is run when something was fixed."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()
