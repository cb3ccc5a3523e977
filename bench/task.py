"""Records per second through a task, beside a hand-written loop that does only the same work.

Both get the same batches of raw Kafka records (bytes) and give raw records (bytes). The loop is what a person would
write for this one job, without any framework: it deserialises, calls the user's functions, keeps its state in a dict
and serialises the results, one result per key and batch where the engine's cache gives one.

    .venv/bin/python bench/task.py [--records N] [--rounds N]

Ratios are taken within one run: the two are timed in turns, and the best round of each counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from millstream import Consumed, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig, TimeWindows
from millstream.task.task import Task

Batch = list[tuple[bytes | None, bytes | None, int, Any, int]]
Output = list[tuple[Any, ...]]

BATCH = 10_000
KEYS = 1_000
MINUTE = 60_000


class Workload(NamedTuple):
    """One job, done twice."""

    name: str
    limit: float
    build: Callable[[StreamsBuilder], None]
    loop: Callable[[], Callable[[Batch], Output]]
    #: Records of a table, read before the clock starts.
    rows: int = 0


def orders(records: int) -> list[Batch]:
    """JSON orders under 1,000 customers, ten per millisecond, in batches."""
    rng = random.Random(7)
    raw: Batch = []
    for offset in range(records):
        order = {
            "id": offset,
            "region": rng.choice(["eu", "us", "apac"]),
            "amount": rng.randrange(200),
            "note": "x" * 20,
        }
        key = f"customer-{rng.randrange(KEYS)}".encode()
        raw.append((key, orjson.dumps(order), offset // 10, None, offset))
    return [raw[start : start + BATCH] for start in range(0, records, BATCH)]


def customers() -> Batch:
    """A row for each customer."""
    return [
        (f"customer-{n}".encode(), orjson.dumps({"name": f"Customer {n}", "tier": n % 3}), 0, None, n)
        for n in range(KEYS)
    ]


CONSUMED = Consumed(Serdes.string, Serdes.json)


# --- filter + map_values


def expensive(key: str, order: dict[str, Any]) -> bool:
    return bool(order["amount"] > 50)


def invoice(order: dict[str, Any]) -> dict[str, Any]:
    return {"id": order["id"], "total": order["amount"] * 1.2}


def build_filter(builder: StreamsBuilder) -> None:
    builder.stream("orders", CONSUMED).filter(expensive).map_values(invoice).to(
        "out", Produced(Serdes.string, Serdes.json)
    )


def loop_filter() -> Callable[[Batch], Output]:
    loads, dumps = orjson.loads, orjson.dumps

    def run(batch: Batch) -> Output:
        out: Output = []
        for raw_key, raw_value, timestamp, headers, _offset in batch:
            key = raw_key.decode()  # type: ignore[union-attr]
            order = loads(raw_value)  # type: ignore[arg-type]
            if expensive(key, order):
                out.append(("out", None, key.encode(), dumps(invoice(order)), timestamp, headers))
        return out

    return run


# --- sum per key


def add_amount(key: str, order: dict[str, Any], total: int) -> int:
    return total + int(order["amount"])


def build_sum(builder: StreamsBuilder) -> None:
    (
        builder.stream("orders", CONSUMED)
        .group_by_key()
        .aggregate(lambda: 0, add_amount, materialized=Materialized("sums", value=Serdes.long))
        .to_stream()
        .to("out", Produced(Serdes.string, Serdes.long))
    )


def loop_sum() -> Callable[[Batch], Output]:
    loads, pack = orjson.loads, Serdes.long.serialize
    totals: dict[str, int] = {}

    def run(batch: Batch) -> Output:
        changed: dict[str, int] = {}
        for raw_key, raw_value, timestamp, _headers, _offset in batch:
            key = raw_key.decode()  # type: ignore[union-attr]
            order = loads(raw_value)  # type: ignore[arg-type]
            totals[key] = add_amount(key, order, totals.get(key, 0))
            changed[key] = timestamp
        return [("out", None, key.encode(), pack(totals[key]), timestamp, None) for key, timestamp in changed.items()]

    return run


# --- tumbling window count


def build_window(builder: StreamsBuilder) -> None:
    (
        builder.stream("orders", CONSUMED)
        .group_by_key()
        .windowed_by(TimeWindows.of_size(timedelta(minutes=1), grace=timedelta(minutes=1)))
        .count(materialized=Materialized("counts"))
        .to_stream()
        .to("out", Produced(Serdes.time_windowed(Serdes.string, timedelta(minutes=1)), Serdes.long))
    )


def loop_window() -> Callable[[Batch], Output]:
    loads, pack = orjson.loads, Serdes.long.serialize
    counts: dict[tuple[str, int], int] = {}
    newest = 0

    def run(batch: Batch) -> Output:
        nonlocal newest
        changed: dict[tuple[str, int], int] = {}
        for raw_key, raw_value, timestamp, _headers, _offset in batch:
            key = raw_key.decode()  # type: ignore[union-attr]
            loads(raw_value)  # type: ignore[arg-type]  # a bad record must not be counted
            if timestamp > newest:
                newest = timestamp
            start = timestamp - timestamp % MINUTE
            if start + MINUTE > newest - MINUTE:
                window = (key, start)
                counts[window] = counts.get(window, 0) + 1
                changed[window] = timestamp
        return [
            ("out", None, key.encode() + pack(start), pack(counts[key, start]), timestamp, None)
            for (key, start), timestamp in changed.items()
        ]

    return run


# --- stream-table join


def with_customer(order: dict[str, Any], customer: dict[str, Any]) -> dict[str, Any]:
    return {"id": order["id"], "name": customer["name"]}


def build_join(builder: StreamsBuilder) -> None:
    table = builder.table("customers", CONSUMED, Materialized("customers"))
    builder.stream("orders", CONSUMED).join(table, with_customer).to("out", Produced(Serdes.string, Serdes.json))


def loop_join() -> Callable[[Batch], Output]:
    loads, dumps = orjson.loads, orjson.dumps
    table = {raw_key.decode(): loads(raw_value) for raw_key, raw_value, *_ in customers()}  # type: ignore[union-attr,arg-type]

    def run(batch: Batch) -> Output:
        out: Output = []
        for raw_key, raw_value, timestamp, headers, _offset in batch:
            key = raw_key.decode()  # type: ignore[union-attr]
            order = loads(raw_value)  # type: ignore[arg-type]
            row = table.get(key)
            if row is not None:
                out.append(("out", None, key.encode(), dumps(with_customer(order, row)), timestamp, headers))
        return out

    return run


WORKLOADS = (
    Workload("filter + map_values", 2.5, build_filter, loop_filter),
    Workload("sum per key", 2.5, build_sum, loop_sum),
    Workload("tumbling window count", 4.0, build_window, loop_window),
    Workload("stream-table join", 4.0, build_join, loop_join, rows=KEYS),
)


def engine(workload: Workload) -> Callable[[Batch], Output]:
    """The workload in a task, as a host runs it: a batch in, commit, results and changes out."""
    builder = StreamsBuilder()
    workload.build(builder)
    task = Task(builder.build(), StreamsConfig(application_id="bench"))
    if workload.rows:
        task.add_records("customers", 0, customers())
        task.process_all()
        task.commit()
        task.take_changes()

    def run(batch: Batch) -> Output:
        task.add_records("orders", 0, batch)
        task.process_all()
        task.commit()
        task.take_changes()
        return task.take_outputs()

    return run


def timed(run: Callable[[Batch], Output], batches: list[Batch]) -> tuple[float, Output]:
    """Seconds for all batches, and all results."""
    results: Output = []
    gc.collect()
    start = time.perf_counter()
    for batch in batches:
        results.extend(run(batch))
    return time.perf_counter() - start, results


def same_results(mine: Output, theirs: Output) -> bool:
    """Equal but for the order of keys within a batch, which the loop does not care about."""
    return sorted(map(repr, mine)) == sorted(map(repr, theirs))


def measure(workload: Workload, batches: list[Batch], rounds: int) -> dict[str, Any]:
    """Time engine and loop in turns."""
    engine_seconds, loop_seconds = [], []
    for _ in range(rounds):
        seconds, loop_results = timed(workload.loop(), batches)
        loop_seconds.append(seconds)
        seconds, engine_results = timed(engine(workload), batches)
        engine_seconds.append(seconds)
        if not same_results(engine_results, loop_results):
            sys.exit(f"{workload.name}: engine and loop differ")
    records = sum(map(len, batches))
    return {
        "workload": workload.name,
        "engine_records_per_s": round(records / min(engine_seconds)),
        "loop_records_per_s": round(records / min(loop_seconds)),
        "ratio": round(min(engine_seconds) / min(loop_seconds), 2),
        "limit": workload.limit,
    }


def main() -> None:
    """Run all workloads, print a table, write bench/out/task.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    batches = orders(arguments.records)
    rows = []
    print(f"{'workload':<24}{'engine rec/s':>14}{'loop rec/s':>14}{'time ratio':>12}{'at most':>9}")
    for workload in WORKLOADS:
        row = measure(workload, batches, arguments.rounds)
        rows.append(row)
        print(
            f"{row['workload']:<24}{row['engine_records_per_s']:>14,}{row['loop_records_per_s']:>14,}"
            f"{row['ratio']:>12}{row['limit']:>9}",
            flush=True,
        )
    out = Path(__file__).parent / "out"
    out.mkdir(exist_ok=True)
    (out / "task.json").write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
