"""CPU time per record of workloads that live in their stores: joins, and aggregations of many keys.

    .venv/bin/python bench/stores.py [--only NAME] [--records N] [--rounds N] [--memory BYTES ...]

Each workload runs in one task, in this process, as a host runs it: a batch in, commit, results and changes out. Columns
are where rows are kept: in memory, and on disk with each of the given memory bounds (0: RocksDB takes every row). What
the columns give is compared: it must be the same. CPU time of the process counts, with RocksDB's own threads, so that
other work on the machine matters less; the best round counts.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import logging
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import orjson

from millstream import (
    Consumed,
    JoinWindows,
    Materialized,
    Produced,
    Serdes,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)
from millstream.task.task import Task

Record = tuple[bytes | None, bytes | None, int, Any, int]
#: The records of one batch, by topic.
Batch = dict[str, list[Record]]

BATCH = 20_000
JSON = Consumed(Serdes.string, Serdes.json)
OUT = Produced(Serdes.string, Serdes.json)
JOINED = StreamJoined(Serdes.string, Serdes.json, Serdes.json)


class Shape(NamedTuple):
    """What the input looks like."""

    keys: int
    #: Records of each topic in a millisecond.
    density: float = 10
    #: How far a record may lie behind the newest one, in milliseconds.
    late_ms: int = 0
    #: Bytes of ballast in a value.
    ballast: int = 20


class Workload(NamedTuple):
    """A topology and its input."""

    name: str
    build: Callable[[StreamsBuilder], None]
    shape: Shape
    topics: tuple[str, ...] = ("left", "right")


def batches(workload: Workload, records: int) -> Iterator[Batch]:
    """JSON records of all topics, in turns and by time."""
    shape, topics = workload.shape, workload.topics
    rng = random.Random(7)
    ballast = "x" * shape.ballast
    batch: Batch = {topic: [] for topic in topics}
    for number in range(records):
        topic = topics[number % len(topics)]
        value = {"id": number, "amount": rng.randrange(200), "other": f"key-{rng.randrange(shape.keys)}", "x": ballast}
        key = f"key-{rng.randrange(shape.keys)}".encode()
        time_ms = int(number / len(topics) / shape.density) + 100_000
        if shape.late_ms:
            time_ms -= rng.randrange(shape.late_ms)
        batch[topic].append((key, orjson.dumps(value), time_ms, None, number // len(topics)))
        if (number + 1) % BATCH == 0:
            yield batch
            batch = {topic: [] for topic in topics}
    if any(batch.values()):
        yield batch


def both(left: Any, right: Any) -> Any:
    return {"left": left and left["id"], "right": right and right["id"]}


def stream_join(kind: str, window_ms: int, grace_ms: int = 0) -> Callable[[StreamsBuilder], None]:
    def build(builder: StreamsBuilder) -> None:
        left, right = builder.stream("left", JSON), builder.stream("right", JSON)
        windows = JoinWindows.of_time_difference(
            timedelta(milliseconds=window_ms), grace=timedelta(milliseconds=grace_ms)
        )
        getattr(left, kind)(right, both, windows, JOINED).to("out", OUT)

    return build


def sum_per_key(builder: StreamsBuilder) -> None:
    (
        builder.stream("left", JSON)
        .group_by_key()
        .aggregate(
            lambda: 0,
            lambda key, order, total: total + order["amount"],
            materialized=Materialized("sums", value=Serdes.long),
        )
        .to_stream()
        .to("out", Produced(Serdes.string, Serdes.long))
    )


def window_sum(builder: StreamsBuilder) -> None:
    (
        builder.stream("left", JSON)
        .group_by_key()
        .windowed_by(TimeWindows.of_size(timedelta(seconds=10), grace=timedelta(seconds=10)))
        .count(materialized=Materialized("counts"))
        .to_stream()
        .to("out", Produced(Serdes.time_windowed(Serdes.string, timedelta(seconds=10)), Serdes.long))
    )


def table_join(builder: StreamsBuilder) -> None:
    left, right = builder.table("left", JSON), builder.table("right", JSON)
    left.join(right, both).to_stream().to("out", OUT)


def foreign_key_join(builder: StreamsBuilder) -> None:
    left, right = builder.table("left", JSON), builder.table("right", JSON)
    left.join(right, both, foreign_key=lambda value: value["other"]).to_stream().to("out", OUT)


def stream_table(builder: StreamsBuilder) -> None:
    table = builder.table("right", JSON, Materialized("right"))
    builder.stream("left", JSON).join(table, both).to("out", OUT)


WORKLOADS = (
    Workload("stream-stream inner, 100,000 keys, 5 s", stream_join("join", 5_000), Shape(100_000)),
    Workload("stream-stream inner, 1,000 keys, 100 ms", stream_join("join", 100), Shape(1_000)),
    Workload(
        "stream-stream inner, 20,000 keys, 1 s, late", stream_join("join", 1_000, 3_000), Shape(20_000, late_ms=3_000)
    ),
    Workload("stream-stream inner, 100,000 keys, 5 s, 1 kB", stream_join("join", 5_000), Shape(100_000, ballast=1_000)),
    Workload("stream-stream left, 100,000 keys, 5 s", stream_join("left_join", 5_000), Shape(100_000)),
    Workload("stream-stream outer, 100,000 keys, 5 s", stream_join("outer_join", 5_000), Shape(100_000)),
    Workload("table-table, 20,000 keys", table_join, Shape(20_000)),
    Workload("foreign key, 20,000 keys", foreign_key_join, Shape(20_000)),
    Workload("stream-table, 20,000 keys", stream_table, Shape(20_000)),
    Workload("sum, 1,000,000 keys", sum_per_key, Shape(1_000_000), ("left",)),
    Workload("windowed count, 20,000 keys", window_sum, Shape(20_000), ("left",)),
)


def run(workload: Workload, input_batches: list[Batch], config: StreamsConfig) -> tuple[float, str]:
    """Seconds of CPU time for all batches, and a digest of all results."""
    builder = StreamsBuilder(config)
    workload.build(builder)
    task = Task(builder.build(), config)
    results = hashlib.sha256()
    internal = {f"{config.application_id}-{topic}" for topic in builder.build().internal_topics}
    seconds = 0.0
    gc.collect()
    gc.disable()  # as lanes do: they collect between batches
    for batch in input_batches:
        before = time.process_time()
        for topic, records in batch.items():
            task.add_records(topic, 0, records)
        task.process_all()
        task.commit()
        outputs = task.take_outputs()
        while looped := [record for record in outputs if record[0] in internal]:
            outputs = [record for record in outputs if record[0] not in internal]
            for topic, _, key, value, timestamp, headers in looped:
                task.add_records(topic, 0, [(key, value, timestamp, headers, 0)])
            task.process_all()
            task.commit()
            outputs += task.take_outputs()
        task.take_changes()
        gc.collect(1)
        seconds += time.process_time() - before
        for output in outputs:
            results.update(repr(output).encode())
    task.close()
    gc.enable()
    return seconds, results.hexdigest()


def configured(directory: str, bound: int | None) -> StreamsConfig:
    """Rows in memory (None), or on disk behind so many bytes of memory."""
    config = StreamsConfig(application_id="bench", app_configs={"emit_interval_ms_outer_join": 0})
    if bound is None:
        return config
    return replace(config, state_dir=directory, statestore_memory_max_bytes=bound)


def measure(workload: Workload, records: int, rounds: int, bounds: list[int]) -> None:
    """Print a line: microseconds per record for each place of the rows."""
    found = list(batches(workload, records))
    places: list[int | None] = [None, *bounds]
    best = [float("inf")] * len(places)
    digests = set()
    for _ in range(rounds):
        for column, bound in enumerate(places):
            with tempfile.TemporaryDirectory() as directory:
                seconds, digest = run(workload, found, configured(directory, bound))
            best[column] = min(best[column], seconds)
            digests.add(digest)
    print(f"{workload.name:<48}" + "".join(f"{seconds / records * 1e6:>14.1f}" for seconds in best), flush=True)
    if len(digests) > 1:
        sys.exit("the columns differ in their results")


def main() -> None:
    """Measure all workloads, or some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="part of a workload's name")
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--memory", type=int, nargs="*", default=[256 << 20, 16 << 20, 0])
    arguments = parser.parse_args()
    logging.getLogger("millstream").setLevel(logging.ERROR)  # a foreign-key join says which responses came too late
    heads = ["in memory", *(f"{bound >> 20} MB" for bound in arguments.memory)]
    print(f"{'microseconds per record':<48}" + "".join(f"{head:>14}" for head in heads))
    for workload in WORKLOADS:
        if arguments.only in workload.name:
            measure(workload, arguments.records, arguments.rounds, arguments.memory)


if __name__ == "__main__":
    main()
