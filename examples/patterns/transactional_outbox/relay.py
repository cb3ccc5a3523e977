"""The relay: sends what is in the outbox to Kafka, oldest first, and then deletes it.

    python -m examples.patterns.transactional_outbox.relay shop.db

A crash between the two makes it send some events again, never none. SQLite has one writer at a time, so numbers become
visible in their order. Of another database one reads the log: there a smaller number may be committed later.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from contextlib import closing

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from .app import RELAYED
from .shop import connect

_BATCH = 50
_PAUSE_SECONDS = 0.05


def relay_some(database: sqlite3.Connection, producer: Producer) -> int:
    """Send the oldest events and delete them; answers how many there were."""
    rows = database.execute("SELECT number, order_id, kind, payload FROM outbox ORDER BY number LIMIT ?", (_BATCH,))
    found = rows.fetchall()
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    for number, order, kind, payload in found:
        event = {"number": number, "kind": kind, "payload": json.loads(payload)}
        producer.produce(RELAYED, json.dumps(event), order, on_delivery=delivered)
    producer.flush()
    if failed:
        raise KafkaException(failed[0])
    if found:
        with database:
            database.execute("DELETE FROM outbox WHERE number <= ?", (found[-1][0],))
    return len(found)


def main() -> None:
    (path,) = sys.argv[1:]
    servers = os.environ.get("MILLSTREAM_BOOTSTRAP_SERVERS", "localhost:9092")
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "partitioner": "murmur2_random"})
    with closing(connect(path)) as database:
        while True:
            if not relay_some(database, producer):
                time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main()
