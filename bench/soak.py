"""A long look at an application on Spark: it survives crashes, and stays as it is.

.venv/bin/python bench/soak.py [--only crashes|steady] [--runs N] [--minutes N] [--rate N] [--seed N]

Crashes: runs with a broker of their own, in which drivers, lanes, Python workers, executors and the broker are killed
at random moments; after each, every result has to be there exactly once (tests/spark/crashes.py). Run N of seed S is
the same kills in the same order whenever it is run; only the moments differ a little.

Steady: one application with a fixed number of keys for some minutes; memory and throughput of each minute are shown and
have to stay flat. The numbers are also in bench/out/soak.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from confluent_kafka import Producer

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.spark import crashes

from millstream import (
    Consumed,
    Grouped,
    KafkaStreams,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import NewTopic

OUT = Path(__file__).parent / "out"
PARTITIONS = 4
KEYS = 10_000
#: How much more than in the minutes after the start memory may be at the end, and how much less throughput.
MEMORY_GROWTH, THROUGHPUT_LOSS = 1.15, 0.85
WARM_MINUTES = 2

LOCAL = (
    crashes.kill_driver,
    crashes.kill_jvm,
    crashes.kill_worker,
    crashes.kill_reader,
    crashes.kill_lane,
    crashes.kill_broker,
)
CLUSTER = (crashes.kill_executor, crashes.kill_worker, crashes.kill_lane, crashes.kill_broker, crashes.kill_driver)


# --- crashes


def crash_runs(runs: int, seed: int) -> int:
    """Answers how many runs went wrong."""
    wrong = 0
    for number in range(runs):
        chance = random.Random(seed * 1_000 + number)
        cluster = number % 4 == 3
        # Each kind comes first in its turn; what follows is chance.
        kinds = CLUSTER if cluster else LOCAL
        kills = [kinds[(number - number // 4 if not cluster else number // 4) % len(kinds)]]
        kills += chance.choices(kinds, k=chance.randint(1, 3))
        chance.shuffle(kills)
        begun = time.monotonic()
        directory = Path(tempfile.mkdtemp(prefix="millstream-soak-"))
        names = ", ".join(kill.__name__.removeprefix("kill_") for kill in kills)
        try:
            crashes.crash(
                directory,
                kills,
                records=4_000,
                seed=seed * 1_000 + number,
                master="local-cluster[2,1,1024]" if cluster else "local[2]",
                stores=chance.choice(("rocksdb", "memory")),
            )
        except Exception as error:
            wrong += 1
            print(f"run {number:2}: WRONG after {names}: {error}\n  see {directory}", flush=True)
        else:
            shutil.rmtree(directory, ignore_errors=True)
            print(f"run {number:2}: exactly once after {names} ({time.monotonic() - begun:.0f} s)", flush=True)
    return wrong


# --- steady


@dataclass(frozen=True)
class Minute:
    """What one minute was like."""

    minute: int
    records_a_second: float
    lag: float
    driver_mb: float
    jvm_mb: float
    lanes_mb: float
    workers_mb: float
    checkpoint_mb: float
    checkpoint_files: int
    dropped: float

    @property
    def memory_mb(self) -> float:
        """Of all processes of the application."""
        return self.driver_mb + self.jvm_mb + self.lanes_mb + self.workers_mb


def steady(minutes: int, rate: int) -> bool:
    """Whether memory and throughput stayed flat."""
    directory = Path(tempfile.mkdtemp(prefix="millstream-soak-"))
    properties = {"log.retention.check.interval.ms": "10000", "log.segment.bytes": str(64 * 1024 * 1024)}
    found: list[Minute] = []
    try:
        with DevBroker(directory / "broker", properties) as broker:
            config = _config(broker.bootstrap_servers, directory)
            kept = {"retention.bytes": str(256 * 1024 * 1024)}
            Admin(config).create_topics([NewTopic(name, PARTITIONS, kept) for name in ("in", "counts", "seconds")])
            with KafkaStreams(_topology(), config) as streams:
                feeder = subprocess.Popen(  # noqa: S603 - this script
                    [sys.executable, __file__, "--feed", broker.bootstrap_servers, "--rate", str(rate)]
                )
                print(_HEAD, flush=True)
                try:
                    for minute in range(1, minutes + 1):
                        before, begun = streams.metrics()["records-consumed-total"], time.monotonic()
                        if streams.wait(timedelta(minutes=1)):
                            break
                        found.append(_measure(streams, minute, before, begun, directory))
                        print(_line(found[-1]), flush=True)
                finally:
                    feeder.kill()
                    feeder.wait()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    OUT.mkdir(exist_ok=True)
    (OUT / "soak.json").write_text(json.dumps([asdict(minute) for minute in found], indent=2))
    return _is_flat(found)


def _config(bootstrap: str, directory: Path) -> StreamsConfig:
    return StreamsConfig(
        application_id="soak",
        bootstrap_servers=bootstrap,
        processing_guarantee="exactly_once_v2",
        processing_mode="micro_batch",
        num_stream_threads=2,
        checkpoint_location=directory / "checkpoint",
        state_dir=directory / "state",
    )


def _topology() -> Topology:
    """A count of each key, and of each key and second: windows come and go."""
    builder = StreamsBuilder()
    grouped = builder.stream("in", Consumed(Serdes.string, Serdes.string)).group_by_key(
        Grouped(Serdes.string, Serdes.string)
    )
    numbers = Produced(Serdes.string, Serdes.long)
    grouped.count(materialized=Materialized("counts")).to_stream().to("counts", numbers)
    windows = grouped.windowed_by(TimeWindows.of_size(timedelta(seconds=1), grace=timedelta(seconds=5)))
    (
        windows.count(materialized=Materialized("seconds", retention=timedelta(seconds=10)))
        .to_stream()
        .select_key(lambda window, count: window.key)
        .to("seconds", numbers)
    )
    return builder.build()


def _feed(bootstrap: str, rate: int) -> None:
    """Produce at a steady rate until killed."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "partitioner": "murmur2_random"})
    begun, number = time.monotonic(), 0
    while True:
        for _ in range(rate // 50):
            producer.produce("in", "x" * 20, f"key-{number * 7919 % KEYS}")
            number += 1
        producer.poll(0)
        time.sleep(max(0.0, number / rate - (time.monotonic() - begun)))


def _measure(streams: KafkaStreams, minute: int, before: float, begun: float, directory: Path) -> Minute:
    metrics = streams.metrics()
    memory = _memory(os.getpid())
    files = [path for path in (directory / "checkpoint").rglob("*") if path.is_file()]
    return Minute(
        minute,
        (metrics["records-consumed-total"] - before) / (time.monotonic() - begun),
        metrics["records-lag"],
        memory["driver"],
        memory["jvm"],
        memory["lanes"],
        memory["workers"],
        sum(_size(path) for path in files) / 2**20,
        len(files),
        metrics["dropped-records-total"],
    )


def _memory(driver: int) -> dict[str, float]:
    """Resident memory in MB of this process and those below it, but not of the broker and the feeder."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                commands[int(entry.name)] = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
    kinds = {"driver": 0.0, "jvm": 0.0, "lanes": 0.0, "workers": 0.0}
    for pid, command in commands.items():
        if pid == driver:
            kind = "driver"
        elif "spark.lanes.server\0" in command and command.rstrip("\0").endswith(f"\0{driver}"):
            kind = "lanes"
        elif "org.apache.spark" in command and parents[pid] == driver:
            kind = "jvm"
        elif "pyspark" in command and "java" not in command and _is_below(pid, driver, parents):
            kind = "workers"
        else:
            continue
        kinds[kind] += _resident(pid)
    return kinds


def _is_below(pid: int, driver: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != driver:
        pid = parents[pid]
    return pid == driver


def _resident(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


_HEAD = "minute  records/s      lag  driver MB   JVM MB  lanes MB  workers MB  checkpoint MB  files  dropped"


def _line(found: Minute) -> str:
    return (
        f"{found.minute:6}  {found.records_a_second:9,.0f}  {found.lag:7,.0f}  {found.driver_mb:9,.0f}  "
        f"{found.jvm_mb:7,.0f}  {found.lanes_mb:8,.0f}  {found.workers_mb:10,.0f}  {found.checkpoint_mb:13,.1f}  "
        f"{found.checkpoint_files:5}  {found.dropped:7,.0f}"
    )


def _is_flat(found: list[Minute]) -> bool:
    """Compare the third after the start with the last one."""
    warm = found[WARM_MINUTES:]
    if len(warm) < 4:
        print("too short to tell whether it stays flat")
        return bool(found)
    part = len(warm) // 2
    early, late = warm[:part], warm[-part:]
    memory = _mean([m.memory_mb for m in late]) / _mean([m.memory_mb for m in early])
    throughput = _mean([m.records_a_second for m in late]) / _mean([m.records_a_second for m in early])
    flat = memory <= MEMORY_GROWTH and throughput >= THROUGHPUT_LOSS
    print(f"memory {memory:.2f} times, throughput {throughput:.2f} times: {'flat' if flat else 'NOT FLAT'}")
    return flat


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def main() -> None:
    """Run what is asked for; the exit code says whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("crashes", "steady"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--feed", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.feed:
        _feed(arguments.feed, arguments.rate)
    well = True
    if arguments.only != "crashes":
        well = steady(arguments.minutes, arguments.rate)
    if arguments.only != "steady":
        wrong = crash_runs(arguments.runs, arguments.seed)
        print(f"{arguments.runs - wrong} of {arguments.runs} crash runs exactly once")
        well = well and not wrong
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
