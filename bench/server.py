"""A server over HTTP: many persistent queries, pull queries under load, push queries.

.venv/bin/python bench/server.py [--queries 40] [--rate 20000] [--seconds 20] [--push 50] [--rows 50] [--only push]

Starts a broker and `millstream server` with two lanes, each a process of its own. CPU and memory are those of all the
server's processes (Python, the JVM, lanes) without the broker and this program.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import selectors
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit

from confluent_kafka import Consumer, Producer, TopicPartition

from millstream.kafka.broker import DevBroker

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from many_queries import _IDLE_SECONDS, _SHAPES, usage, wait_for
from tests.ksqldb.system.server_process import ServerProcess, until

_STREAM = (
    "CREATE STREAM {name} (id STRING KEY, amount INT) WITH (kafka_topic='{name}', partitions=2, value_format='JSON');"
)
_KEYS = 10_000


def told(name: str, seconds: Sequence[float]) -> None:
    """Print what was measured."""
    p99 = quantiles(seconds, n=100)[98]
    worst = max(seconds)
    print(f"{name}: p50 {median(seconds) * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms, worst {worst * 1e3:.0f} ms", flush=True)


# --- many persistent queries


def many(server: ServerProcess, servers: str, count: int) -> None:
    """What they cost, and how soon they have results."""
    server.ksql(_STREAM.format(name="orders"))
    times = []
    for number in range(count):
        began = time.perf_counter()
        server.ksql(_SHAPES[number % len(_SHAPES)].format(n=number))
        times.append(time.perf_counter() - began)
    print(
        f"CREATE .. AS: median {median(times):.2f} s, the last {times[-1]:.2f} s, worst {max(times):.2f} s", flush=True
    )
    topics = {f"Q{number}" for number in range(count)}
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, partition, 0) for topic in topics for partition in range(2)])
    began = time.perf_counter()
    server.ksql("INSERT INTO orders VALUES ('first', 1000);")
    print(f"first result everywhere after {max(wait_for(consumer, topics, began).values()):.1f} s", flush=True)
    before, _ = usage(list(server.processes()))
    time.sleep(_IDLE_SECONDS)
    after, megabytes = usage(list(server.processes()))
    share = (after - before) / _IDLE_SECONDS / (os.cpu_count() or 1)
    print(f"idle: {share:.1%} of all cores, {megabytes:,.0f} MB", flush=True)
    for number in range(5):
        began = time.perf_counter()
        server.ksql(f"INSERT INTO orders VALUES ('later{number}', 1000);")
        found = sorted(wait_for(consumer, topics, began).values())
        print(f"a record's results: median {median(found):.2f} s, the last {found[-1]:.2f} s", flush=True)
    consumer.close()


# --- pull queries while records flow


def flow(servers: str, topic: str, rate: int, seconds: float) -> None:
    """Write so many records per second."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "partitioner": "murmur2_random"})
    began, number = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        while number < passed * rate:
            producer.produce(topic, f'{{"AMOUNT":{number % 100}}}', f"k{number % _KEYS}")
            number += 1
        producer.poll(0.01)
    producer.flush(30)
    print(f"{number / seconds:,.0f} records/s were written", flush=True)


def pull(server: ServerProcess, servers: str, rate: int, seconds: float) -> None:
    """Pull queries by key, one after the other on one connection, while a persistent query counts."""
    server.ksql(_STREAM.format(name="flowing"))
    (created,) = server.ksql("CREATE TABLE flowed AS SELECT id, COUNT(*) AS n FROM flowing GROUP BY id;")
    query = created["commandStatus"]["queryId"]
    server.ksql("INSERT INTO flowing VALUES ('k1', 1);")
    until(lambda: server.rows("SELECT * FROM flowed WHERE id = 'k1';"))
    writing = multiprocessing.Process(target=flow, args=(servers, "flowing", rate, seconds))
    writing.start()
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 0, timeout=30)
    times: list[float] = []
    number = 0
    while writing.is_alive():
        number += 1
        body = json.dumps({"sql": f"SELECT * FROM flowed WHERE id = 'k{number % _KEYS}';"})
        began = time.perf_counter()
        connection.request("POST", "/query-stream", body, {"accept": "application/json"})
        connection.getresponse().read()
        times.append(time.perf_counter() - began)
        time.sleep(0.005)
    connection.close()
    writing.join()
    told(f"pull by key, {len(times)} of them", times)
    began = time.perf_counter()
    processed = f'millstream_ksqldb_query_lag{{query="{query}"}} 0.0'
    until(lambda: processed in server.request("GET", "/metrics")[1].decode())
    print(f"the persistent query was done {time.perf_counter() - began:.1f} s after the last record", flush=True)


# --- push queries


class Subscriber:
    """A push query over a socket: notes when the row of a number comes."""

    def __init__(self, url: str, sql: str) -> None:
        parts = urlsplit(url)
        self.connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 0, timeout=30)
        body = json.dumps({"sql": sql, "properties": {"auto.offset.reset": "latest"}})
        self.connection.request("POST", "/query-stream", body)
        self.answer = self.connection.getresponse()
        self.answer.readline()  # the columns
        self.times: dict[int, float] = {}

    def take(self) -> None:
        """Read a row that has come."""
        row: list[Any] = json.loads(self.answer.readline())
        self.times[row[1]] = time.perf_counter()


def push(server: ServerProcess, servers: str, count: int, rows: int) -> None:
    """How soon each subscriber has a row that Kafka has acknowledged; half of them ask the same."""
    server.ksql(_STREAM.format(name="pushed"))
    began = time.perf_counter()
    subscribers = [
        Subscriber(server.url, f"SELECT * FROM pushed WHERE amount >= {-number if number % 2 else 0} EMIT CHANGES;")
        for number in range(count)
    ]
    print(f"{count} push queries after {time.perf_counter() - began:.1f} s", flush=True)
    producer, acknowledged = Producer({"bootstrap.servers": servers, "linger.ms": 0}), dict[int, float]()
    waiting = selectors.DefaultSelector()
    for subscriber in subscribers:
        waiting.register(subscriber.connection.sock, selectors.EVENT_READ, subscriber)
    for number in range(rows):

        def delivered(error: object, _: object, number: int = number) -> None:
            if error is not None:
                raise SystemExit(str(error))
            acknowledged[number] = time.perf_counter()

        producer.produce("pushed", f'{{"AMOUNT":{number}}}', f"k{number}", on_delivery=delivered)
        while number not in acknowledged:
            producer.poll(0.01)
        while not all(number in subscriber.times for subscriber in subscribers):
            found = waiting.select(30)
            if not found:
                raise SystemExit(f"no row {number}")
            for key, _ in found:
                key.data.take()
        time.sleep(0.05)
    told(
        f"a row at each of {count} push queries, after its commit",
        [at - acknowledged[number] for subscriber in subscribers for number, at in subscriber.times.items()],
    )
    for subscriber in subscribers:
        subscriber.answer.close()
        subscriber.connection.close()


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--push", type=int, default=50)
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--only", choices=("many", "pull", "push"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, DevBroker(Path(directory) / "broker") as broker:
        servers = broker.bootstrap_servers
        server = ServerProcess(servers, "bench_", Path(directory) / "server.log")
        try:
            began = time.perf_counter()
            server.wait()
            print(f"the server is there after {time.perf_counter() - began:.1f} s", flush=True)
            if options.only in (None, "push"):
                push(server, servers, options.push, options.rows)
            if options.only in (None, "pull"):
                pull(server, servers, options.rate, options.seconds)
            if options.only in (None, "many"):
                many(server, servers, options.queries)
            began = time.perf_counter()
            print(f"it ends with {server.stop()} after {time.perf_counter() - began:.1f} s", flush=True)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
