"""Millstream and Kafka Streams on the same broker and the same data, one after the other.

.venv/bin/python bench/peers_main.py [--orders N] [--lines N] [--workloads filter,sum,...] [--rounds N] [--no-latency]

Two stream threads against two lanes, in turns; of several rounds the median counts. For both, the clock runs from the
first record that comes in to the moment when all results are committed; starting is shown apart. The final results of
every run are compared with a plain computation: a wrong one ends the benchmark. Prints a table of ratios and where
Millstream's time goes, and writes bench/out/peers.json and bench/out/peers.svg.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from millstream.kafka.broker import DevBroker

BENCH = Path(__file__).parent
sys.path.insert(0, str(BENCH))

from data import (  # noqa: E402
    KEYS,
    LINES,
    LINES_TOPIC,
    ORDERS,
    ORDERS_TOPIC,
    create_topics,
    delete_topics,
    fill,
    lines,
    orders,
    probe_latency,
)
from peers.check import Results, expected, final_results  # noqa: E402
from peers.run import EXACTLY_ONCE, GUARANTEES, WORKLOADS, run_kafka_streams, run_kafka_streams_latency  # noqa: E402
from peers_report import Row, latency_row, report, start_row, throughput_row  # noqa: E402

OUT = BENCH / "out"
LANES = 2


def run_millstream(
    bootstrap: str, workload: str, guarantee: str, topic: str, records: int, output: str
) -> dict[str, Any]:
    """A workload in a process of its own."""
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
    """A stateful count at 200 records per second."""
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
    command += ["--launched", str(time.time())]
    return [*command, "--guarantee", guarantee, "--input", topic, "--output", output, "--records", str(records)]


def compare(bootstrap: str, workloads: list[str], order_count: int, line_count: int, rounds: int) -> list[Row]:
    """Throughput of both, in turns."""
    rows: list[Row] = []
    for workload in workloads:
        words = workload == "wordcount"
        topic, records = (LINES_TOPIC, line_count) if words else (ORDERS_TOPIC, order_count)
        right = expected(workload, lines(line_count) if words else orders(order_count, KEYS))
        for guarantee in GUARANTEES:
            runs: dict[str, list[dict[str, Any]]] = {"millstream": [], "kafka_streams": []}
            for _ in range(rounds):
                for name in runs:
                    output = f"{name}-{workload}-{time.time_ns()}"
                    create_topics(bootstrap, output)
                    runs[name].append(_run(name, bootstrap, workload, guarantee, topic, records, output))
                    _check(f"{name}, {workload}, {guarantee}", final_results(workload, bootstrap, output), right)
                    delete_topics(bootstrap, prefix=output)
                print(json.dumps({name: found[-1] for name, found in runs.items()}), flush=True)
            speed = [statistics.median(run["records_per_s"] for run in runs[name]) for name in runs]
            rows.append(throughput_row(workload, guarantee, *map(round, speed), stages=_stages(runs["millstream"][-1])))
            if workload == "sum":
                first = [min(run["first_result_seconds_from_launch"] for run in runs[name]) for name in runs]
                rows.append(start_row(workload, guarantee, *first))
    return rows


def _stages(run: dict[str, Any]) -> dict[str, float]:
    """What both lanes did with their time, in seconds."""
    stages = {name.removesuffix("-seconds-total"): seconds for name, seconds in run["stages"].items()}
    return {**stages, "between batches": max(0.0, round(LANES * run["seconds"] - sum(stages.values()), 2))}


def _run(
    name: str, bootstrap: str, workload: str, guarantee: str, topic: str, records: int, output: str
) -> dict[str, Any]:
    if name == "millstream":
        return run_millstream(bootstrap, workload, guarantee, topic, records, output)
    return run_kafka_streams(bootstrap, workload, guarantee, topic, records, output_topic=output)


def _check(what: str, found: Results, right: Results) -> None:
    if found != right:
        sys.exit(f"{what}: wrong results")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=ORDERS)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-latency", action="store_true")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    with DevBroker() as broker:
        bootstrap = broker.bootstrap_servers
        fill(bootstrap, orders_count=arguments.orders, keys=KEYS, lines_count=arguments.lines)
        rows = compare(bootstrap, arguments.workloads.split(","), arguments.orders, arguments.lines, arguments.rounds)
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
