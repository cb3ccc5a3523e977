"""What an application costs that has nothing to do: CPU time and memory of all its processes.

.venv/bin/python bench/idle.py [--seconds N]

A count per key on four partitions, exactly once, in two lanes; it has counted something, and then nothing comes.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from confluent_kafka import Consumer, Producer
from many_queries import usage

from millstream import Consumed, Grouped, KafkaStreams, Produced, Serdes, StreamsBuilder, StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import NewTopic

_MARK = "MILLSTREAM_IDLE_BENCH"
_SETTLE_SECONDS = 10.0


def run(bootstrap: str, directory: str) -> None:
    """The application, until it is ended."""
    builder = StreamsBuilder()
    texts = builder.stream("in", Consumed(Serdes.string, Serdes.string))
    counted = texts.group_by_key(Grouped(Serdes.string, Serdes.string)).count()
    counted.to_stream().to("out", Produced(Serdes.string, Serdes.long))
    config = StreamsConfig(
        application_id="idle",
        bootstrap_servers=bootstrap,
        processing_guarantee="exactly_once_v2",
        num_stream_threads=2,
        state_dir=Path(directory) / "state",
    )
    with KafkaStreams(builder.build(), config) as streams:
        streams.wait()


def processes() -> list[int]:
    """Of the application."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{_MARK}=1".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(*options.run)
        return
    with tempfile.TemporaryDirectory() as directory, DevBroker(Path(directory) / "broker") as broker:
        servers = broker.bootstrap_servers
        with closing(Admin(StreamsConfig(bootstrap_servers=servers))) as admin:
            admin.create_topics([NewTopic("in", 4), NewTopic("out", 1)])
        command = [sys.executable, __file__, "--run", servers, directory]
        started = subprocess.Popen(command, env={**os.environ, _MARK: "1"}, start_new_session=True)  # noqa: S603 - ours
        try:
            producer = Producer({"bootstrap.servers": servers})
            for number in range(100):
                producer.produce("in", "v", f"k{number}")
            producer.flush(30)
            consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench", "auto.offset.reset": "earliest"})
            consumer.subscribe(["out"])
            if consumer.poll(60) is None:
                raise SystemExit("no result")
            consumer.close()
            time.sleep(_SETTLE_SECONDS)
            before, _ = usage(processes())
            time.sleep(options.seconds)
            after, megabytes = usage(processes())
            share = (after - before) / options.seconds / (os.cpu_count() or 1)
            print(f"idle: {share:.1%} of all cores, {megabytes:,.0f} MB, {len(processes())} processes")
        finally:
            os.killpg(started.pid, signal.SIGTERM)
            started.wait(60)


if __name__ == "__main__":
    main()
