"""Records for benchmarks of the console."""

from __future__ import annotations

import json

from confluent_kafka import Producer

KEYS = 10_000
#: How many records are handed to the client at once, and how many may wait in it.
_CHUNK, _MOST_WAITING = 20_000, 400_000


def fill(bootstrap: str, topic: str, count: int) -> None:
    """Write so many orders of `KEYS` customers to a topic that is there."""
    settings = {"linger.ms": 20, "compression.type": "lz4", "queue.buffering.max.messages": 2 * _MOST_WAITING}
    producer = Producer({"bootstrap.servers": bootstrap, **settings})
    orders = [
        {"key": f"key-{n % KEYS}".encode(), "value": json.dumps({"AMOUNT": n % 100, "PRODUCT": "tea"}).encode()}
        for n in range(_CHUNK)
    ]
    for begun in range(0, count, _CHUNK):
        chunk = orders[: count - begun]
        assert producer.produce_batch(topic, chunk) == len(chunk), "the client does not take them"
        while len(producer) > _MOST_WAITING:
            producer.poll(0.05)
    assert producer.flush(300) == 0, "the broker does not take them"
