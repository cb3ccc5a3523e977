"""Builds all accounts from topics alone: of snapshots and the events after them, or of all events.

python -m examples.patterns.event_sourcing.rebuild [--from-events]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millstream import Serdes

from .app import EVENTS, SNAPSHOTS, Account, Event, rebuild


def read(servers: str, topic: str) -> Iterator[tuple[str, bytes | None]]:
    """The committed records of a topic, from its beginning to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "rebuild",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        unread = set(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number) for number in unread])
        while unread:
            message = consumer.poll(1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                yield (message.key() or b"").decode(), message.value()
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(message.partition() or 0)
            else:
                raise KafkaException(error)
    finally:
        consumer.close()


def accounts(servers: str, *, from_events: bool) -> dict[str, Account]:
    """All open accounts."""
    # Snapshots first: what is committed in between is then in the events.
    snapshot, event = Serdes.json(Account), Serdes.json(Event)
    snapshots = [] if from_events else list(read(servers, SNAPSHOTS))
    return rebuild(
        ((key, None if value is None else snapshot.deserialize(value)) for key, value in snapshots),
        ((key, event.deserialize(value)) for key, value in read(servers, EVENTS) if value is not None),
    )


def main() -> None:
    servers = os.environ.get("MILLSTREAM_BOOTSTRAP_SERVERS", "localhost:9092")
    for key, account in sorted(accounts(servers, from_events="--from-events" in sys.argv).items()):
        print(f"{key}: {account.cents} cents, version {account.version}")


if __name__ == "__main__":
    main()
