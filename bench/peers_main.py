"""Millstream and Kafka Streams on the same broker and the same data, one after the other.

.venv/bin/python bench/peers_main.py [--orders N] [--lines N] [--joined N] [--workloads filter,sum,...]
    [--guarantees exactly_once_v2] [--rounds N] [--no-latency]

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

from data import LINES, ORDERS, create_topics, delete_topics, probe_latency  # noqa: E402
from footprint import Footprint  # noqa: E402
from millstream_runs import command  # noqa: E402
from peers.check import Results, expected_of, final_results  # noqa: E402
from peers.inputs import WORKLOADS, Scale, fill_for, inputs  # noqa: E402
from peers.run import EXACTLY_ONCE, GUARANTEES, run_kafka_streams, run_kafka_streams_latency  # noqa: E402
from peers_report import CPU, MEMORY, Row, latency_row, report, start_row, taken_row, throughput_row  # noqa: E402

OUT = BENCH / "out"
LANES = 2
JOINED = 600_000


def run_millstream(
    bootstrap: str, workload: str, guarantee: str, topic: str, records: int, output: str, mode: str
) -> dict[str, Any]:
    """A workload in a process of its own."""
    with subprocess.Popen(  # noqa: S603 - our own script
        command(bootstrap, workload, guarantee, topic, output, records, mode=mode),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=(OUT / "millstream.log").open("w"),
        text=True,
    ) as process:
        footprint = Footprint(process.pid)
        footprint.start()
        printed = process.communicate(timeout=900)[0]
    if process.returncode != 0:
        sys.exit(f"millstream {workload}, {guarantee} failed:\n{(OUT / 'millstream.log').read_text()[-3000:]}")
    return {**json.loads(printed.splitlines()[-1]), "taken": footprint.finish()}


def run_millstream_latency(bootstrap: str, guarantee: str, mode: str) -> dict[str, Any]:
    """A stateful count at 200 records per second."""
    source, output = f"latency-in-{time.time_ns()}", f"latency-out-{time.time_ns()}"
    create_topics(bootstrap, source, output)
    with subprocess.Popen(  # noqa: S603 - our own script
        command(bootstrap, "latency", guarantee, source, output, 0, mode=mode),
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


def compare(
    bootstrap: str, workloads: list[str], guarantees: list[str], scale: Scale, rounds: int, mode: str
) -> list[Row]:
    """Throughput of both, in turns, and what both took for it.

    Args:
        bootstrap: the broker.
        workloads: which.
        guarantees: with each of these.
        scale: how many records.
        rounds: how often.
        mode: how Millstream processes; see `StreamsConfig.processing_mode`.
    """
    rows: list[Row] = []
    for workload in workloads:
        found = inputs(workload, scale)
        topic, records = ",".join(each.topic for each in found), sum(each.size for each in found)
        right = expected_of(workload, found)
        for guarantee in guarantees:
            runs: dict[str, list[dict[str, Any]]] = {"millstream": [], "kafka_streams": []}
            for _ in range(rounds):
                for name in runs:
                    output = f"{name}-{workload}-{time.time_ns()}"
                    create_topics(bootstrap, output)
                    runs[name].append(_run(name, bootstrap, workload, guarantee, topic, records, output, mode))
                    _check(f"{name}, {workload}, {guarantee}", final_results(workload, bootstrap, output), right)
                    delete_topics(bootstrap, prefix=output)
                print(json.dumps({name: found[-1] for name, found in runs.items()}), flush=True)
            speed = [statistics.median(run["records_per_s"] for run in runs[name]) for name in runs]
            rows.append(throughput_row(workload, guarantee, *map(round, speed), stages=_stages(runs["millstream"][-1])))
            for unit, name in ((MEMORY, "peak_mb"), (CPU, "cpu_seconds")):
                share = 1e6 / records if unit == CPU else 1
                taken = [statistics.median(run["taken"][name] for run in runs[each]) * share for each in runs]
                rows.append(taken_row(workload, guarantee, *taken, unit=unit))
            if workload == "sum":
                start = "first_result_seconds_from_launch"
                first = [statistics.median(run[start] for run in runs[name]) for name in runs]
                rows.append(start_row(workload, guarantee, *first))
    return rows


def _stages(run: dict[str, Any]) -> dict[str, float]:
    """What both lanes did with their time, in seconds; continuously that is not told."""
    if not run["stages"]:
        return {}
    stages = {name.removesuffix("-seconds-total"): seconds for name, seconds in run["stages"].items()}
    return {**stages, "between batches": max(0.0, round(LANES * run["seconds"] - sum(stages.values()), 2))}


def _run(
    name: str, bootstrap: str, workload: str, guarantee: str, topic: str, records: int, output: str, mode: str
) -> dict[str, Any]:
    if name == "millstream":
        return run_millstream(bootstrap, workload, guarantee, topic, records, output, mode)
    return run_kafka_streams(bootstrap, workload, guarantee, topic, records, output_topic=output)


def _check(what: str, found: Results, right: Results) -> None:
    if found != right:
        sys.exit(f"{what}: wrong results")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=ORDERS)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--joined", type=int, default=JOINED, help="records of each side of a join of streams")
    parser.add_argument("--guarantees", default=",".join(GUARANTEES))
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-latency", action="store_true")
    parser.add_argument("--mode", choices=("micro_batch", "continuous"), default="continuous")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    with DevBroker() as broker:
        bootstrap = broker.bootstrap_servers
        workloads, guarantees = arguments.workloads.split(","), arguments.guarantees.split(",")
        scale = Scale(arguments.orders, arguments.lines, arguments.joined)
        fill_for(bootstrap, workloads, scale)
        rows = compare(bootstrap, workloads, guarantees, scale, arguments.rounds, arguments.mode)
        if not arguments.no_latency:
            for guarantee in guarantees:
                # At least once, Kafka Streams keeps results in its caches for half a minute.
                theirs = run_kafka_streams_latency(bootstrap, guarantee) if guarantee == EXACTLY_ONCE else {}
                ours = run_millstream_latency(bootstrap, guarantee, arguments.mode)
                rows += [
                    latency_row(name, guarantee, ours[f"{name}_ms"], theirs.get(f"{name}_ms"))
                    for name in ("p50", "p99")
                ]
                print(json.dumps({"millstream": ours, "kafka_streams": theirs}), flush=True)
    report(rows)


if __name__ == "__main__":
    main()
