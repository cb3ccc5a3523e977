"""Millstream and Kafka Streams on the same broker and the same data, one after the other.

.venv/bin/python bench/peers_main.py [--orders N] [--lines N] [--workloads filter,sum,...] [--no-latency]

Two stream threads against two lanes. Prints a table of ratios and writes bench/out/peers.json and bench/out/peers.svg.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from millstream.kafka.broker import DevBroker

BENCH = Path(__file__).parent
sys.path.insert(0, str(BENCH))

from data import KEYS, LINES, LINES_TOPIC, ORDERS, ORDERS_TOPIC, create_topics, fill, probe_latency  # noqa: E402
from peers.run import EXACTLY_ONCE, GUARANTEES, WORKLOADS, run_kafka_streams, run_kafka_streams_latency  # noqa: E402
from peers_report import Row, latency_row, report, start_row, throughput_row  # noqa: E402

OUT = BENCH / "out"


def run_millstream(bootstrap: str, workload: str, guarantee: str, topic: str, records: int) -> dict[str, Any]:
    """A workload in a process of its own."""
    output = f"millstream-{workload}-{time.time_ns()}"
    create_topics(bootstrap, output)
    process = subprocess.run(  # noqa: S603 - our own script
        _command(bootstrap, workload, guarantee, topic, output, records),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=(OUT / "millstream.log").open("w"),
        text=True,
        timeout=900,
    )
    if process.returncode != 0:
        sys.exit(f"millstream {workload}, {guarantee} failed:\n{(OUT / 'millstream.log').read_text()[-3000:]}")
    result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return result


def run_millstream_latency(bootstrap: str, guarantee: str) -> dict[str, Any]:
    """A stateful count under 200 records a second."""
    source, output = f"latency-in-{time.time_ns()}", f"latency-out-{time.time_ns()}"
    create_topics(bootstrap, source, output)
    with subprocess.Popen(  # noqa: S603 - our own script
        _command(bootstrap, "latency", guarantee, source, output, 0),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(OUT / "millstream.log").open("w"),
        text=True,
    ) as process:
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            sys.exit("millstream latency did not start")
        result = probe_latency(bootstrap, source, output)
        process.communicate(timeout=120)
    return result


def _command(bootstrap: str, workload: str, guarantee: str, topic: str, output: str, records: int) -> list[str]:
    command = [sys.executable, str(BENCH / "millstream_job.py"), "--bootstrap", bootstrap, "--workload", workload]
    return [*command, "--guarantee", guarantee, "--input", topic, "--output", output, "--records", str(records)]


def compare(bootstrap: str, workloads: list[str], orders: int, lines: int) -> list[Row]:
    """Throughput of both, in turns."""
    rows: list[Row] = []
    for workload in workloads:
        topic, records = (LINES_TOPIC, lines) if workload == "wordcount" else (ORDERS_TOPIC, orders)
        for guarantee in GUARANTEES:
            theirs = run_kafka_streams(bootstrap, workload, guarantee, topic, records)
            ours = run_millstream(bootstrap, workload, guarantee, topic, records)
            rows.append(throughput_row(workload, guarantee, ours["records_per_s"], theirs["records_per_s"]))
            if workload == "sum":
                rows.append(
                    start_row(workload, guarantee, ours["first_result_seconds"], theirs["first_result_seconds"])
                )
            print(json.dumps({"millstream": ours, "kafka_streams": theirs}), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=ORDERS)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--no-latency", action="store_true")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    with DevBroker() as broker:
        bootstrap = broker.bootstrap_servers
        fill(bootstrap, orders_count=arguments.orders, keys=KEYS, lines_count=arguments.lines)
        rows = compare(bootstrap, arguments.workloads.split(","), arguments.orders, arguments.lines)
        if not arguments.no_latency:
            theirs = run_kafka_streams_latency(bootstrap, EXACTLY_ONCE)
            ours = run_millstream_latency(bootstrap, EXACTLY_ONCE)
            rows += [
                latency_row(name, EXACTLY_ONCE, ours[f"{name}_ms"], theirs[f"{name}_ms"]) for name in ("p50", "p99")
            ]
            print(json.dumps({"millstream": ours, "kafka_streams": theirs}), flush=True)
    report(rows)


if __name__ == "__main__":
    main()
