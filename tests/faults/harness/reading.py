"""Reading committed records of topics from their beginning on."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from .topics import PARTITIONS, admin

_PATIENCE_SECONDS = 120.0


class Reader:
    """Reads all partitions of some topics; what is not committed is not seen."""

    def __init__(self, bootstrap: str, topics: Sequence[str]) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"reader-{uuid.uuid4().hex}",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 50,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._bootstrap = bootstrap
        self._partitions = [TopicPartition(topic, number, 0) for topic in topics for number in range(PARTITIONS)]
        self._consumer.assign(self._partitions)
        self._at_end: dict[tuple[str, int], int] = {}

    def poll(self, seconds: float = 0.05) -> Iterator[Message]:
        """What came; a broker that is away is no error."""
        for message in self._consumer.consume(5_000, seconds):
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                self._at_end[message.topic() or "", message.partition() or 0] = message.offset() or 0
            elif error.fatal():
                raise KafkaException(error)

    def read_to_end(self, *, decided: bool = False) -> Iterator[Message]:
        """All that is there now; transactions that are still open are waited for, unless what is decided is enough."""
        places = [(at.topic, at.partition) for at in self._partitions]
        # The consumer itself knows only of what is decided.
        ends = admin(self._bootstrap).end_offsets(places, committed=decided)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while any(self._at_end.get(at, 0) < end for at, end in ends.items()):
            yield from self.poll()
            if time.monotonic() > deadline:
                raise TimeoutError(f"a transaction stays open: {self._at_end} of {ends}")

    def close(self) -> None:
        """Leave."""
        self._consumer.close()
