"""Dead letters: transfers that cannot be read or booked are put aside, none is lost, and after a fix they are replayed.

    millstream run examples.patterns.dead_letters.app
    millstream run examples.patterns.dead_letters.replay

A letter is written in the same transaction in which its record is skipped, with the bytes as they came, and where they
came from and what went wrong in its headers.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream import (
    Consumed,
    Grouped,
    KStream,
    LogAndContinueExceptionHandler,
    LogAndContinueProcessingExceptionHandler,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)

TRANSFERS, RETRIES, TOTALS, LETTERS = "transfers", "transfers-retry", "transfer-totals", "transfers-dead-letters"

config = StreamsConfig(
    application_id="dead-letters",
    processing_guarantee="exactly_once_v2",
    deserialization_exception_handler=LogAndContinueExceptionHandler(),
    processing_exception_handler=LogAndContinueProcessingExceptionHandler(),
    dead_letter_queue_topic=LETTERS,
)

#: Cents for a unit of each currency that is known. The fix of this story is another line here.
RATES = {"EUR": 100}
FIXED_RATES = {**RATES, "USD": 90}


@dataclass(frozen=True)
class Transfer:
    """An amount in some currency, for the account that is the record's key."""

    currency: str
    amount: int


def add_to(builder: StreamsBuilder, rates: dict[str, int]) -> None:
    """Transfers, new ones and those that are tried again, in; the total of each account out."""
    transfers: KStream[str, Transfer] = builder.stream(
        [TRANSFERS, RETRIES], Consumed(Serdes.string, Serdes.json(Transfer))
    )
    (
        transfers.map_values(lambda transfer: rates[transfer.currency] * transfer.amount, name="to-cents")
        .group_by_key(Grouped(Serdes.string, Serdes.json(int)))
        .reduce(lambda total, cents: total + cents, Materialized("transfer-totals", value=Serdes.json(int)))
        .to_stream()
        .to(TOTALS, Produced(Serdes.string, Serdes.json(int)))
    )


def topology() -> Topology:
    """Before the fix."""
    builder = StreamsBuilder()
    add_to(builder, RATES)
    return builder.build()


def fixed() -> Topology:
    """After it. State and positions stay: nothing but a rate is different."""
    builder = StreamsBuilder()
    add_to(builder, FIXED_RATES)
    return builder.build()
