"""A lane that has much state is killed: how long until the first new result of its tasks, with a standby and without.

.venv/bin/python bench/takeover.py [--megabytes 2000] [--row-bytes 300] [--standbys 1 0]

An application with two lanes, exactly once, RocksDB. All rows lie in the tasks of one lane, which is killed with
`kill -9` once everything is processed (and, with a standby, once the other lane has it in reserve). Meanwhile a record
of a counted key goes to each of its partitions twenty times a second. The clock runs from the kill to the first result
of a record that was produced after it, and to the moment at which every partition has given one. At the end, every
count must be there from 1 to n, once. Writes bench/out/takeover.json.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from millstream import Consumed, Grouped, KafkaStreams, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig
from millstream.kafka.broker import DevBroker
from millstream.topology.topology import Topology

BENCH = Path(__file__).parent
sys.path.insert(0, str(BENCH))

from data import create_topics  # noqa: E402

OUT = BENCH / "out"
PARTITIONS = 4
PROBE = b"probe"
_PROBE_SECONDS = 0.05
_PATIENCE_SECONDS = 1800.0
_QUIET_SECONDS = 8.0


def topology(source: str, out: str) -> Topology:
    """The last value of each key, with how many there were; of keys that probe, that is the result."""
    builder = StreamsBuilder()
    (
        builder.stream(source, Consumed(Serdes.bytes, Serdes.bytes))
        .group_by_key(Grouped(Serdes.bytes, Serdes.bytes))
        .aggregate(
            lambda: b"",
            lambda key, value, kept: (int.from_bytes(kept[:8], "big") + 1).to_bytes(8, "big") + value,
            materialized=Materialized("rows", Serdes.bytes, Serdes.bytes, caching=False),
        )
        .to_stream()
        .filter(lambda key, row: key.startswith(b"probe"))
        .to(out, Produced(Serdes.bytes, Serdes.bytes))
    )
    return builder.build()


class Probe:
    """Sends a record of its key to each partition again and again, and sees what comes back."""

    def __init__(self, bootstrap: str, source: str, out: str, partitions: list[int]) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        settings = {"bootstrap.servers": bootstrap, "group.id": "probe", "isolation.level": "read_committed"}
        self._consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        self._consumer.assign([TopicPartition(out, number, 0) for number in range(PARTITIONS)])
        self._source, self._partitions = source, partitions
        self._stop = threading.Event()
        self.sent = dict.fromkeys(partitions, 0)
        #: By partition: the counts that came back, each with when it was sent and when it came.
        self.back: dict[int, list[tuple[int, float, float]]] = {number: [] for number in partitions}
        self._threads = [threading.Thread(target=self._send), threading.Thread(target=self._receive)]
        self._ended = False
        for thread in self._threads:
            thread.start()

    def _send(self) -> None:
        while not self._stop.wait(_PROBE_SECONDS):
            for number in self._partitions:
                sent = repr(time.time()).encode()
                self._producer.produce(self._source, sent, PROBE + b"-%d" % number, number)
                self.sent[number] += 1
            self._producer.flush()

    def _receive(self) -> None:
        while not self._ended:
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                value, key = message.value() or b"", message.key() or b""
                number = int(key.rpartition(b"-")[2])
                self.back[number].append((int.from_bytes(value[:8], "big"), float(value[8:]), time.time()))

    def since(self, moment: float) -> list[float]:
        """Of each partition that has answered since a moment, how long after it; records before it do not count."""
        firsts = [[came for _, sent, came in list(back) if sent > moment] for back in self.back.values()]
        return sorted(min(came) - moment for came in firsts if came)

    def finish(self) -> None:
        """Send no more, wait for what is under way, and see that every count is there, once."""
        self._stop.set()
        self._threads[0].join()
        until(lambda: all(len(self.back[number]) >= self.sent[number] for number in self._partitions), "all counts")
        time.sleep(1)  # whatever comes twice
        self.close()
        for number in self._partitions:
            found = [count for count, _, _ in self.back[number]]
            if found != list(range(1, self.sent[number] + 1)):
                sys.exit(f"partition {number}: {self.sent[number]} were sent, and {len(found)} counts came back")

    def close(self) -> None:
        """End."""
        self._stop.set()
        self._ended = True
        for thread in self._threads:
            thread.join()
        self._consumer.close()


def until(condition: Any, what: str) -> None:
    """Wait for something."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what} did not come")
        time.sleep(0.05)


def fill(bootstrap: str, source: str, partitions: list[int], rows: int, row_bytes: int) -> None:
    """Rows for the tasks of these partitions."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.size": 1_000_000})
    for number in range(rows):
        key, partition = b"key-%012d" % number, partitions[number % len(partitions)]
        while True:
            try:
                producer.produce(source, os.urandom(row_bytes), key, partition)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def measure(bootstrap: str, megabytes: int, row_bytes: int, standbys: int) -> dict[str, float]:
    """One kill."""
    source, out, rows = f"in-{standbys}", f"out-{standbys}", megabytes * 1_000_000 // row_bytes
    create_topics(bootstrap, source, out, partitions=PARTITIONS)
    config = StreamsConfig(
        application_id=f"takeover-{standbys}",
        bootstrap_servers=bootstrap,
        processing_guarantee="exactly_once_v2",
        processing_mode="continuous",
        num_stream_threads=2,
        num_standby_replicas=standbys,
    )
    streams = KafkaStreams(topology(source, out), config)
    streams.start()
    probe: Probe | None = None
    try:
        until(lambda: len(streams.lanes()) == 2 and all(streams.lanes().values()), "lanes with tasks")
        lane, tasks = next(iter(streams.lanes().items()))
        partitions = sorted(int(task.partition("_")[2]) for task in tasks)
        fill(bootstrap, source, partitions, rows, row_bytes)
        until(lambda: streams.metrics()["process-total"] >= rows, "all rows")
        if standbys:
            until(lambda: is_warm(streams.metrics()), "standbys")
        probe = Probe(bootstrap, source, out, partitions)
        until(lambda: all(len(back) > 20 for back in probe.back.values()), "first results")
        before = streams.metrics()["restored-records-total"]
        latency = [came - sent for back in probe.back.values() for _, sent, came in back[-10:]]
        runtime: Any = streams._runtime
        process = runtime._job.lanes[lane].process
        print(f"{standbys} standbys: {rows:,} rows in {len(tasks)} tasks of lane {lane}; it is killed", flush=True)
        os.kill(process, signal.SIGKILL)
        killed = time.time()
        until(lambda: len(probe.since(killed)) == len(partitions), "results of all tasks")
        answers = probe.since(killed)
        # Until the lane that comes in its place has its share, too.
        until(lambda: len(streams.lanes()) == 2 and all(streams.lanes().values()), "both lanes")
        time.sleep(_QUIET_SECONDS)
        gaps = longest_gaps(probe, killed)
        probe.finish()
        restored = streams.metrics()["restored-records-total"] - before
    finally:
        if probe is not None:
            probe.close()
        streams.close(timedelta(seconds=60))
    return {
        "megabytes": megabytes,
        "rows": rows,
        "standbys": standbys,
        "first_result_seconds": round(answers[0], 2),
        "all_tasks_seconds": round(answers[-1], 2),
        "longest_gap_later_seconds": round(gaps, 2),
        "latency_before_seconds": round(sorted(latency)[len(latency) // 2], 3),
        "restored_records": restored,
    }


def is_warm(metrics: dict[str, float]) -> bool:
    """Whether all tasks are in reserve; the marks of transactions count as records."""
    return metrics["standby-tasks"] >= PARTITIONS and metrics["standby-records-lag"] < 100


def longest_gaps(probe: Probe, killed: float) -> float:
    """How long nothing came, at most, after the first result of each task: when tasks move once more."""
    longest = 0.0
    for back in probe.back.values():
        times = [came for _, sent, came in list(back) if sent > killed]
        longest = max([longest, *(later - one for one, later in pairwise(times))])
    return longest


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--row-bytes", type=int, default=300)
    parser.add_argument("--standbys", type=int, nargs="+", default=[1, 0])
    given = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    found = []
    for standbys in given.standbys:
        with tempfile.TemporaryDirectory() as temporary, DevBroker(Path(temporary, "broker")) as broker:
            found.append(measure(broker.bootstrap_servers, given.megabytes, given.row_bytes, standbys))
            print(json.dumps(found[-1]), flush=True)
    (OUT / "takeover.json").write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
