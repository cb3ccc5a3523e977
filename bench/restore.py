"""Restoring a store from its changelog, when everything local is lost; Kafka Streams does the same from the same topic.

.venv/bin/python bench/restore.py [--keys 2000000] [--rounds 3]

An application counts per key, exactly once, with RocksDB. Its checkpoint is deleted, and it is started again: the clock
runs from the first task that begins to be restored to the last that is there, with all that belongs to it (Millstream
also writes its state files in that time). Kafka Streams, two threads, restores the same changelog into RocksDB; its own
listener tells when. Medians of the rounds, in turns. Writes bench/out/restore.json.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from confluent_kafka import Producer

from millstream import Consumed, KafkaStreams, Materialized, Serdes, StreamsBuilder, StreamsConfig, Topology
from millstream.jvm.java import find_java
from millstream.kafka.broker import DevBroker

BENCH = Path(__file__).parent
sys.path.insert(0, str(BENCH))

from data import create_topics  # noqa: E402
from peers.build import build  # noqa: E402
from peers.run import JAVA_OPTIONS  # noqa: E402

OUT = BENCH / "out"
APPLICATION, SOURCE = "restored", "restore-input"
_SAID = re.compile(r"restored ([\d,]+) records from Kafka in ([\d.]+) s")


class Restored(logging.Handler):
    """Hears what tasks say of their restoration."""

    def __init__(self) -> None:
        super().__init__()
        self.records = 0
        self._begun, self._ended = float("inf"), 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of a task that was restored."""
        if found := _SAID.search(record.getMessage()):
            self.records += int(found[1].replace(",", ""))
            self._begun = min(self._begun, record.created - float(found[2]))
            self._ended = max(self._ended, record.created)

    @property
    def seconds(self) -> float:
        """From the first that began to the last that was there."""
        return self._ended - self._begun


def topology() -> Topology:
    """A count per key."""
    builder = StreamsBuilder()
    builder.stream(SOURCE, Consumed(Serdes.string, Serdes.string)).group_by_key().count(
        materialized=Materialized("counts")
    )
    return builder.build()


def run_once(bootstrap: str, directory: Path) -> Restored:
    """Run the application until it has read everything; answers what was restored at its start."""
    heard = Restored()
    logger = logging.getLogger("millstream.restore")
    logger.addHandler(heard)
    config = StreamsConfig(
        application_id=APPLICATION,
        bootstrap_servers=bootstrap,
        processing_guarantee="exactly_once_v2",
        processing_mode="micro_batch",
        num_stream_threads=2,
        checkpoint_location=directory / "checkpoint",
        state_dir=directory / "state",
    )
    streams = KafkaStreams(topology(), config)
    streams.start(once=True)
    if not streams.wait(timedelta(minutes=20)):
        sys.exit("the application does not end")
    logger.removeHandler(heard)
    return heard


def run_kafka_streams(bootstrap: str) -> dict[str, float]:
    """Kafka Streams restores the same."""
    with tempfile.TemporaryDirectory() as state:
        command = [find_java(), *JAVA_OPTIONS, "-cp", build(), "RestoreTimer", bootstrap, APPLICATION, SOURCE, state]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    if done.returncode:
        sys.exit(f"Kafka Streams failed:\n{done.stderr[-3000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def fill(bootstrap: str, first: int, keys: int) -> None:
    """A record of each key."""
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 50})
    for number in range(first, first + keys):
        while True:
            try:
                producer.produce(SOURCE, b"x", b"key-%09d" % number)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    rates: dict[str, list[float]] = {"millstream": [], "kafka_streams": []}
    with tempfile.TemporaryDirectory() as temporary, DevBroker(Path(temporary, "broker")) as broker:
        directory, bootstrap = Path(temporary), broker.bootstrap_servers
        create_topics(bootstrap, SOURCE)
        fill(bootstrap, 0, given.keys)
        run_once(bootstrap, directory)
        for number in range(given.rounds):
            theirs = run_kafka_streams(bootstrap)
            shutil.rmtree(directory / "checkpoint")
            fill(bootstrap, given.keys + number, 1)  # something to do
            ours = run_once(bootstrap, directory)
            rates["kafka_streams"].append(theirs["records"] / theirs["seconds"])
            rates["millstream"].append(ours.records / ours.seconds)
            print(
                f"millstream {ours.records:,} records in {ours.seconds:.1f} s, "
                f"Kafka Streams {theirs['records']:,} in {theirs['seconds']:.1f} s",
                flush=True,
            )
    medians = {name: round(statistics.median(found)) for name, found in rates.items()}
    ratio = medians["millstream"] / medians["kafka_streams"]
    print(f"records restored per second: {medians}, ratio {ratio:.2f}")
    (OUT / "restore.json").write_text(json.dumps({**medians, "ratio": round(ratio, 2)}))


if __name__ == "__main__":
    main()
