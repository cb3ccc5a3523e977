"""Many persistent queries in the lanes of one engine: what they cost when idle, and how soon each has a result.

.venv/bin/python bench/many_queries.py [--queries 40]

Starts a broker and an engine with two lanes on Spark, then queries over one stream: filters, counts, windows. CPU and
memory are those of all processes of the engine (Python, the JVM, lanes) but the broker.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from millstream import StreamsConfig
from millstream.kafka.broker import DevBroker
from millstream.sql.engine.api import Ksql

_TICKS = os.sysconf("SC_CLK_TCK")
_IDLE_SECONDS = 20.0
_SHAPES = (
    "CREATE STREAM q{n} AS SELECT * FROM orders WHERE amount > {n};",
    "CREATE TABLE q{n} AS SELECT id, COUNT(*) AS orders FROM orders GROUP BY id;",
    "CREATE TABLE q{n} AS SELECT id, SUM(amount) AS total FROM orders WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY id;",
    "CREATE STREAM q{n} AS SELECT id, amount * {n} AS larger FROM orders;",
)


def processes(without: int) -> list[int]:
    """This process and all below it, but one and what is below that."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    found, waiting = [], [os.getpid()]
    while waiting:
        process = waiting.pop()
        if process != without:
            found.append(process)
            waiting += [child for child, parent in parents.items() if parent == process]
    return found


def usage(of: list[int]) -> tuple[float, float]:
    """CPU seconds so far, and megabytes that are nobody else's."""
    seconds, megabytes = 0.0, 0.0
    for process in of:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            seconds += (int(fields[11]) + int(fields[12])) / _TICKS
            for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    megabytes += int(line.split()[1]) / 1024
        except OSError:
            continue
    return seconds, megabytes


def wait_for(consumer: Consumer, topics: set[str], since: float) -> dict[str, float]:
    """When each topic had a record more, in seconds since then."""
    found: dict[str, float] = {}
    while len(found) < len(topics):
        message = consumer.poll(30)
        if message is None:
            raise SystemExit(f"no result in {topics - found.keys()}")
        if message.error() is None:
            found.setdefault(str(message.topic()), time.perf_counter() - since)
    return found


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=40)
    count = parser.parse_args().queries
    with tempfile.TemporaryDirectory() as directory, DevBroker(Path(directory) / "broker") as broker:
        config = StreamsConfig(
            application_id="many",
            bootstrap_servers=broker.bootstrap_servers,
            num_stream_threads=2,
            state_dir=Path(directory) / "state",
        )
        with Ksql(config, {"auto.offset.reset": "earliest"}) as ksql:
            ksql.execute(
                "CREATE STREAM orders (id STRING KEY, amount INT) "
                "WITH (kafka_topic='orders', partitions=2, value_format='JSON');"
            )
            times = []
            for number in range(count):
                began = time.perf_counter()
                ksql.execute(_SHAPES[number % len(_SHAPES)].format(n=number))
                times.append(time.perf_counter() - began)
            print(f"CREATE .. AS: median {statistics.median(times):.2f} s, the last {times[-1]:.2f} s", flush=True)
            topics = {f"Q{number}" for number in range(count)}
            consumer = Consumer(
                {
                    "bootstrap.servers": broker.bootstrap_servers,
                    "group.id": "bench",
                    "isolation.level": "read_committed",
                }
            )
            consumer.assign([TopicPartition(topic, partition, 0) for topic in topics for partition in range(2)])
            began = time.perf_counter()
            ksql.execute("INSERT INTO orders VALUES ('first', 1000);")
            print(f"first result everywhere after {max(wait_for(consumer, topics, began).values()):.1f} s", flush=True)
            pid = broker.pid
            before, _ = usage(processes(pid))
            time.sleep(_IDLE_SECONDS)
            after, megabytes = usage(processes(pid))
            share = (after - before) / _IDLE_SECONDS / (os.cpu_count() or 1)
            print(f"idle: {share:.1%} of all cores, {megabytes:,.0f} MB without the broker", flush=True)
            for number in range(5):
                began = time.perf_counter()
                ksql.execute(f"INSERT INTO orders VALUES ('later{number}', 1000);")
                found = sorted(wait_for(consumer, topics, began).values())
                print(
                    f"a record's results: median {found[len(found) // 2]:.2f} s, the last {found[-1]:.2f} s", flush=True
                )
            consumer.close()


if __name__ == "__main__":
    main()
