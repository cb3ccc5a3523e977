"""The data of the benchmark, the same for all systems, and a probe for their latency.

.venv/bin/python bench/data.py fill --bootstrap HOST:PORT [--orders N] [--keys N] [--lines N]
.venv/bin/python bench/data.py latency --bootstrap HOST:PORT --input TOPIC --output TOPIC [--rate N] [--seconds N]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import orjson
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

PARTITIONS = 4
ORDERS_TOPIC = "bench-orders"
LINES_TOPIC = "bench-lines"
MANY_TOPIC = "bench-orders-many"
CUSTOMERS_TOPIC = "bench-customers"
SHIPMENTS_TOPIC = "bench-shipments"
PAYMENTS_TOPIC = "bench-payments"

ORDERS = 2_000_000
KEYS = 10_000
LINES = 200_000
WORDS_A_LINE = 8
VOCABULARY = 5_000

#: The first record's time: a full minute, so that windows start with the data.
EPOCH_MS = 1_750_000_020_000
RECORDS_A_MS = 10

_SEED = 7
_CHUNK = 10_000
_LOG_LEVEL = 3  # errors: a broker that was just started makes clients try again, which is no news


class Record(NamedTuple):
    """A record to produce; the key's hash says the partition unless one is given."""

    key: bytes | None
    value: bytes
    timestamp: int
    partition: int


# --- topics


def create_topics(bootstrap: str, *names: str, partitions: int = PARTITIONS) -> None:
    """Create topics whose records are kept whatever their timestamps are."""
    topics = [NewTopic(name, partitions, 1, config={"retention.ms": "-1"}) for name in names]
    admin = AdminClient(
        {"bootstrap.servers": bootstrap, "log_level": _LOG_LEVEL}
    )  # must live until the futures are done
    for future in admin.create_topics(topics).values():
        future.result()


def delete_topics(bootstrap: str, *, prefix: str) -> None:
    """Delete all topics whose names have this prefix."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": _LOG_LEVEL})
    names = [name for name in admin.list_topics(timeout=30).topics if name.startswith(prefix)]
    for future in (admin.delete_topics(names) if names else {}).values():
        future.result()


def end_offsets(bootstrap: str, topic: str) -> list[int]:
    """The end offset of each partition, as a reader of committed records sees it."""
    consumer = _consumer(bootstrap)
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        return [consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=30)[1] for p in sorted(partitions)]
    finally:
        consumer.close()


def read_all(bootstrap: str, topic: str) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Key and value of all committed records in a topic, in order within a partition."""
    consumer = _consumer(bootstrap)
    try:
        ends = dict(enumerate(end_offsets(bootstrap, topic)))
        consumer.assign([TopicPartition(topic, p, 0) for p in ends])
        while ends:
            for message in consumer.consume(_CHUNK, timeout=0.5):
                error = message.error()
                if error is None:
                    yield message.key(), message.value()
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise RuntimeError(f"{topic} cannot be read: {error}")
            positions = consumer.position([TopicPartition(topic, p) for p in ends])
            for position in positions:  # it moves over the markers of transactions too
                if position.offset >= ends[position.partition]:
                    del ends[position.partition]
    finally:
        consumer.close()


def _consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": _LOG_LEVEL,
            "group.id": "bench-reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )


# --- data


def orders(records: int = ORDERS, keys: int = KEYS, seed: int = _SEED) -> Iterator[Record]:
    """JSON orders under customers' names, ten per millisecond."""
    rng = random.Random(seed)
    names = [f"customer-{n}".encode() for n in range(keys)]
    regions = ("eu", "us", "apac")
    amounts = range(200)
    note = "x" * 20
    for start in range(0, records, _CHUNK):
        size = min(_CHUNK, records - start)
        drawn = zip(
            range(start, start + size),
            rng.choices(names, k=size),
            rng.choices(regions, k=size),
            rng.choices(amounts, k=size),
            strict=True,
        )
        for number, key, region, amount in drawn:
            value = orjson.dumps({"id": number, "region": region, "amount": amount, "note": note})
            yield Record(key, value, EPOCH_MS + number // RECORDS_A_MS, -1)


def customers(keys: int = KEYS) -> Iterator[Record]:
    """A row for each name, older than all orders."""
    for number in range(keys):
        value = orjson.dumps({"name": f"Customer {number}", "tier": number % 3})
        yield Record(f"customer-{number}".encode(), value, EPOCH_MS - 1, -1)


def lines(records: int = LINES, partitions: int = PARTITIONS) -> Iterator[Record]:
    """Lines of text; the n-th word of the vocabulary comes 1/n as often as the first."""
    rng = random.Random(_SEED)
    words = [f"word{n}" for n in range(VOCABULARY)]
    weights = list(accumulate(1 / (n + 1) for n in range(VOCABULARY)))
    for start in range(0, records, _CHUNK):
        size = min(_CHUNK, records - start)
        drawn = rng.choices(words, cum_weights=weights, k=size * WORDS_A_LINE)
        for n in range(size):
            line = " ".join(drawn[n * WORDS_A_LINE : (n + 1) * WORDS_A_LINE])
            number = start + n
            yield Record(None, line.encode(), EPOCH_MS + number // RECORDS_A_MS, number % partitions)


def produce(bootstrap: str, topic: str, records: Iterable[Record]) -> int:
    """Write records to a topic that is empty; when it returns, all of them are there. Gives their number."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": _LOG_LEVEL,
            "compression.type": "lz4",
            "linger.ms": 20,
            "batch.num.messages": 10_000,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 500_000,
            "partitioner": "murmur2_random",  # as Java's clients do it
            "enable.idempotence": True,  # order is kept when a request is tried again
        }
    )
    count = 0
    for key, value, timestamp, partition in records:
        while True:
            try:
                producer.produce(topic, value, key, partition, timestamp=timestamp)
                break
            except BufferError:
                producer.poll(0.1)
        count += 1
    producer.flush()
    there = sum(end_offsets(bootstrap, topic))
    if there != count:
        raise RuntimeError(f"{topic} has {there} records instead of {count}")
    return count


def fill(bootstrap: str, *, orders_count: int = ORDERS, keys: int = KEYS, lines_count: int = LINES) -> None:
    """Create both input topics and fill them."""
    create_topics(bootstrap, ORDERS_TOPIC, LINES_TOPIC)
    produce(bootstrap, ORDERS_TOPIC, orders(orders_count, keys))
    produce(bootstrap, LINES_TOPIC, lines(lines_count))


# --- latency


def probe_latency(
    bootstrap: str, input_topic: str, output_topic: str, *, rate: int = 200, seconds: float = 30, warmup: float = 10
) -> dict[str, Any]:
    """Measure the latency of a running count per key, from a process of its own.

    The job reads strings as keys, counts, and writes its counts as 8 bytes, big-endian. See `measure_latency`.
    """
    command = [sys.executable, __file__, "latency", "--bootstrap", bootstrap, "--input", input_topic]
    command += ["--output", output_topic, "--rate", str(rate), "--seconds", str(seconds), "--warmup", str(warmup)]
    probe = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - it is this file
    result: dict[str, Any] = json.loads(probe.stdout.splitlines()[-1])
    return result


def measure_latency(
    bootstrap: str, input_topic: str, output_topic: str, *, rate: int, seconds: float, warmup: float, keys: int = 100
) -> dict[str, Any]:
    """Send records at a steady rate and see when a committed count that includes them comes back.

    A record's latency is the time from its sending to the arrival of the first count of its key that includes it:
    a cache in front of the output may leave out counts, but each record is in one. Only the records sent after
    `warmup` seconds are measured.
    """
    # The topics may have been used before: names of its own make each key's count begin at 1.
    names = [f"{time.time_ns()}-{n}" for n in range(keys)]
    sent: dict[bytes, list[float]] = {name.encode(): [] for name in names}
    reader = _Reader(bootstrap, output_topic, sent)
    reader.start()
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": _LOG_LEVEL,
            "linger.ms": 0,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
        }
    )
    rng = random.Random(_SEED)
    total = round(rate * (warmup + seconds))
    start = time.monotonic()
    measured_from = start + warmup
    for number in range(total):
        time.sleep(max(0.0, start + number / rate - time.monotonic()))
        key = rng.choice(names).encode()
        value = orjson.dumps({"n": number, "sent": time.time()})
        sent[key].append(time.monotonic())
        producer.produce(input_topic, value, key)
        producer.poll(0)
    took = time.monotonic() - start
    producer.flush()
    reader.finish(total, timeout=60)
    latencies = sorted(latency for when, latency in reader.latencies if when >= measured_from)
    expected = sum(when >= measured_from for times in sent.values() for when in times)
    return {
        "rate": round(total / took, 1),
        "records": expected,
        "missing": expected - len(latencies),
        "counts_seen": reader.results,
        "counts_repeated": reader.repeated,
        "p50_ms": _percentile(latencies, 0.5),
        "p99_ms": _percentile(latencies, 0.99),
        "max_ms": _percentile(latencies, 1.0),
    }


class _Reader(threading.Thread):
    """Reads counts and notes how long each record took to be in one."""

    def __init__(self, bootstrap: str, topic: str, sent: dict[bytes, list[float]]) -> None:
        super().__init__(daemon=True)
        self.latencies: list[tuple[float, float]] = []
        self.results = 0
        self.repeated = 0
        self._sent = sent
        self._known = dict.fromkeys(sent, 0)
        self._ended = threading.Event()
        self._consumer = _consumer(bootstrap)
        ends = end_offsets(bootstrap, topic)
        self._consumer.assign([TopicPartition(topic, p, offset) for p, offset in enumerate(ends)])

    def run(self) -> None:
        while not self._ended.is_set():
            message = self._consumer.poll(0.2)
            now = time.monotonic()
            if message is None or message.error() is not None:
                continue
            key, value = message.key(), message.value()
            if key not in self._sent or value is None:
                continue
            count = int.from_bytes(value, "big")
            known = self._known[key]
            if count <= known:
                self.repeated += 1
                continue
            self.results += 1
            self.latencies.extend((when, now - when) for when in self._sent[key][known:count])
            self._known[key] = count
        self._consumer.close()

    def finish(self, total: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while len(self.latencies) < total and time.monotonic() < deadline:
            time.sleep(0.05)
        self._ended.set()
        self.join()


def _percentile(ordered: list[float], share: float) -> float | None:
    """In milliseconds; None without data."""
    if not ordered:
        return None
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)] * 1000, 1)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    filling = commands.add_parser("fill", help="create the input topics and fill them")
    filling.add_argument("--bootstrap", required=True)
    filling.add_argument("--orders", type=int, default=ORDERS)
    filling.add_argument("--keys", type=int, default=KEYS)
    filling.add_argument("--lines", type=int, default=LINES)
    probing = commands.add_parser("latency", help="measure the latency of a running count per key")
    probing.add_argument("--bootstrap", required=True)
    probing.add_argument("--input", required=True)
    probing.add_argument("--output", required=True)
    probing.add_argument("--rate", type=int, default=200)
    probing.add_argument("--seconds", type=float, default=30)
    probing.add_argument("--warmup", type=float, default=10)
    given = parser.parse_args()
    if given.command == "fill":
        fill(given.bootstrap, orders_count=given.orders, keys=given.keys, lines_count=given.lines)
    else:
        result = measure_latency(
            given.bootstrap, given.input, given.output, rate=given.rate, seconds=given.seconds, warmup=given.warmup
        )
        print(json.dumps(result))


if __name__ == "__main__":
    main()
