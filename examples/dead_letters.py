"""Bad records: some cannot be read, some cannot be processed. The rest goes on, and none is lost.

python examples/dead_letters.py
"""

from __future__ import annotations

import logging

from millstream import (
    Consumed,
    LogAndContinueExceptionHandler,
    LogAndContinueProcessingExceptionHandler,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)
from millstream.testing import TopologyTestDriver

RECORDS = [
    ("b1", b'{"euro": 20}'),
    ("b2", b"this is no json"),
    ("b3", b'{"dollars": 20}'),
    ("b4", b'{"euro": 7}'),
]


def cents(payment: dict[str, int]) -> int:
    return payment["euro"] * 100  # raises for payments in dollars


def topology() -> Topology:
    builder = StreamsBuilder()
    payments = builder.stream("payments", Consumed(Serdes.string, Serdes.json))
    payments.map_values(cents, name="to-cents").to("paid", Produced(value=Serdes.long))
    return builder.build()


def main() -> None:
    logging.getLogger("millstream").setLevel(logging.ERROR)  # the handlers warn about every record they skip
    config = StreamsConfig(
        application_id="payments",
        deserialization_exception_handler=LogAndContinueExceptionHandler(),
        processing_exception_handler=LogAndContinueProcessingExceptionHandler(),
        dead_letter_queue_topic="payments-dead-letters",
    )
    with TopologyTestDriver(topology(), config) as driver:
        payments = driver.input_topic("payments", Serdes.string, Serdes.bytes)
        for key, value in RECORDS:
            payments.pipe(key, value)
        for key, amount in driver.output_topic("paid", Serdes.string, Serdes.long).read_key_values():
            print(f"paid: {key}, {amount} cents")
        for letter in driver.output_topic("payments-dead-letters", Serdes.string, Serdes.bytes).read_records():
            error = (letter.headers.last("__streams.errors.exception") or b"").decode()
            print(f"dead letter: {letter.value.decode()} ({error})")
        print(f"skipped {driver.dropped_records_total} of {len(RECORDS)} records")


if __name__ == "__main__":
    main()
