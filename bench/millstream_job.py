"""Millstream's side of the comparison: one workload in a process of its own.

.venv/bin/python bench/millstream_job.py --bootstrap HOST:PORT --workload sum --guarantee exactly_once_v2 \
    --input TOPIC --output TOPIC --records N
.venv/bin/python bench/millstream_job.py ... --workload latency      # runs until its standard input ends
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from millstream import (
    Consumed,
    Grouped,
    JoinWindows,
    KafkaStreams,
    Materialized,
    Produced,
    Serdes,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)

JSON = Consumed(Serdes.string, Serdes.json)
LINES = Consumed(Serdes.bytes, Serdes.string)
LONGS = Produced(Serdes.string, Serdes.long)
MINUTE = timedelta(minutes=1)
#: When nothing happens for so long, nothing is under way.
_REST_SECONDS = 1.5


def filter_orders(builder: StreamsBuilder, source: str, sink: str) -> None:
    (
        builder.stream(source, JSON)
        .filter(lambda key, order: order["amount"] > 50)
        .map_values(lambda order: {"id": order["id"], "total": order["amount"] * 1.2})
        .to(sink, Produced(Serdes.string, Serdes.json))
    )


def sum_per_key(builder: StreamsBuilder, source: str, sink: str) -> None:
    (
        builder.stream(source, JSON)
        .group_by_key()
        .aggregate(lambda: 0, lambda key, order, total: total + order["amount"], Materialized(value=Serdes.long))
        .to_stream()
        .to(sink, LONGS)
    )


def window_count(builder: StreamsBuilder, source: str, sink: str) -> None:
    (
        builder.stream(source, JSON)
        .group_by_key()
        .windowed_by(TimeWindows.of_size(MINUTE, grace=MINUTE))
        .count()
        .to_stream()
        .to(sink, Produced(Serdes.time_windowed(Serdes.string, MINUTE), Serdes.long))
    )


def word_count(builder: StreamsBuilder, source: str, sink: str) -> None:
    (
        builder.stream(source, LINES)
        .flat_map_values(lambda line: line.split(" "))
        .group_by(lambda key, word: word, Grouped(Serdes.string, Serdes.string))
        .count()
        .to_stream()
        .to(sink, LONGS)
    )


def rekey(builder: StreamsBuilder, source: str, sink: str) -> None:
    (
        builder.stream(source, JSON)
        .group_by(lambda key, order: f"group-{order['id'] % 5000}", Grouped(Serdes.string, Serdes.json))
        .count()
        .to_stream()
        .to(sink, LONGS)
    )


def table_join(builder: StreamsBuilder, source: str, sink: str) -> None:
    orders, customers = source.split(",")
    (
        builder.stream(orders, JSON)
        .join(builder.table(customers, JSON), lambda order, customer: {"id": order["id"], "total": customer["name"]})
        .to(sink, Produced(Serdes.string, Serdes.json))
    )


def stream_join(builder: StreamsBuilder, source: str, sink: str) -> None:
    left, right = (builder.stream(topic, JSON) for topic in source.split(","))
    (
        left.join(
            right,
            lambda one, other: {"id": [one["id"], other["id"]], "total": one["amount"] + other["amount"]},
            JoinWindows.of_time_difference(timedelta(seconds=5), grace=timedelta(seconds=5)),
            StreamJoined(Serdes.string, Serdes.json, Serdes.json),
        ).to(sink, Produced(Serdes.string, Serdes.json))
    )


def latency_count(builder: StreamsBuilder, source: str, sink: str) -> None:
    builder.stream(source, JSON).group_by_key().count().to_stream().to(sink, LONGS)


WORKLOADS: dict[str, Callable[[StreamsBuilder, str, str], None]] = {
    "filter": filter_orders,
    "sum": sum_per_key,
    "window": window_count,
    "wordcount": word_count,
    "rekey": rekey,
    "sum-many": sum_per_key,
    "sum-uncached": sum_per_key,
    "table": table_join,
    "join": stream_join,
    "latency": latency_count,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "workload", "guarantee", "input", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--records", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--mode", default="continuous")
    parser.add_argument("--batch-records", type=int, help="at most so many in a batch, in batches")
    parser.add_argument("--master", help="of Spark; without, Spark runs in this process")
    parser.add_argument("--launched", type=float, default=time.time(), help="when the process was asked for")
    arguments = parser.parse_args()
    builder = StreamsBuilder()
    WORKLOADS[arguments.workload](builder, arguments.input, arguments.output)
    with tempfile.TemporaryDirectory() as directory:
        config = StreamsConfig(
            application_id=f"millstream-{arguments.workload}-{time.time_ns()}",
            bootstrap_servers=arguments.bootstrap,
            processing_guarantee=arguments.guarantee,
            processing_mode=arguments.mode,
            master=arguments.master or f"local[{arguments.threads}]",
            checkpoint_location=f"{directory}/checkpoint",
        )
        if arguments.batch_records is not None:
            config = replace(config, max_batch_records=arguments.batch_records)
        if arguments.workload == "sum-uncached":
            config = replace(config, statestore_cache_max_bytes=0)
        streams = KafkaStreams(builder.build(), config)
        started = time.time()
        streams.start()
        try:
            if arguments.workload == "latency":
                print("ready", flush=True)
                sys.stdin.read()
                result: dict[str, Any] = {}
            else:
                result = measured(streams, arguments.records, started, arguments.launched)
        finally:
            streams.close()
    print(json.dumps({"workload": arguments.workload, "guarantee": arguments.guarantee, **result}))


def measured(streams: KafkaStreams, records: int, started: float, launched: float) -> dict[str, Any]:
    """Wait until everything is processed and committed, also behind repartition topics."""
    commits, since = -1.0, time.monotonic()
    while True:
        if streams.failure is not None:
            raise streams.failure
        totals, now = streams.metrics(), time.monotonic()
        if totals["records-consumed-total"] < records or totals["records-lag"] or totals["commit-total"] != commits:
            commits, since = totals["commit-total"], now
        elif now > since + _REST_SECONDS:
            break
        time.sleep(0.05)
    begun, ended, first = streams.statistics.span()
    return {
        "records": records,
        "seconds": round(ended - begun, 3),
        "records_per_s": round(records / (ended - begun)),
        "seconds_from_start": round(ended - started, 3),
        "first_result_seconds": round(first - started, 3),
        "first_result_seconds_from_launch": round(first - launched, 3),
        "batches": totals["commit-total"],
        "restored": totals["restored-records-total"],
        "stages": {name: round(value, 2) for name, value in totals.items() if name.endswith("-seconds-total")},
    }


if __name__ == "__main__":
    main()
