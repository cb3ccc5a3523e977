"""The same application on this machine and on a cluster: throughput and latency of `local[2]` and of two workers.

.venv/bin/python bench/cluster.py [--workloads sum,wordcount] [--orders N] [--lines N] [--rounds N] [--no-latency]
    [--mode continuous|micro_batch] [--batch-records N]

The cluster is a master and two workers with one core each, at addresses and with temporary directories of their own
(tests/spark/cluster.py), on the same cores as everything else. Both run exactly once, in turns; medians count. Where
lanes moved, state would have been restored: how many records were is printed, too.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from millstream.kafka.broker import DevBroker

BENCH = Path(__file__).parent
sys.path.insert(0, str(BENCH))
sys.path.insert(0, str(BENCH.parent))

from data import LINES, ORDERS, create_topics, delete_topics, probe_latency  # noqa: E402
from millstream_runs import command, last_line  # noqa: E402
from peers.check import expected_of, final_results  # noqa: E402
from peers.inputs import Scale, fill_for, inputs  # noqa: E402
from peers.run import EXACTLY_ONCE  # noqa: E402
from tests.spark.cluster import can_hide, standalone  # noqa: E402

HERE = "local[2]"
#: How much of the throughput of one machine there must be, and how many times its latency there may be.
THROUGHPUT_TO_REACH = 0.85
LATENCY_TO_REACH = 1.3


@dataclass(frozen=True)
class Way:
    """How both run.

    Args:
        mode: of processing.
        batch_records: at most so many in a batch.
    """

    mode: str
    batch_records: int | None


def run(bootstrap: str, workload: str, scale: Scale, master: str, way: Way) -> dict[str, Any]:
    """One workload; wrong results end the benchmark."""
    found = inputs(workload, scale)
    output = f"cluster-{workload}-{time.time_ns()}"
    create_topics(bootstrap, output)
    topic, records = ",".join(each.topic for each in found), sum(each.size for each in found)
    result = last_line(command(bootstrap, workload, EXACTLY_ONCE, topic, output, records, master=master, **asdict(way)))
    if final_results(workload, bootstrap, output) != expected_of(workload, found):
        sys.exit(f"{workload} on {master}: wrong results")
    delete_topics(bootstrap, prefix=output)
    return result


def latency(bootstrap: str, master: str, way: Way) -> float:
    """The median, in milliseconds, of a count at 200 records per second."""
    source, output = f"latency-in-{time.time_ns()}", f"latency-out-{time.time_ns()}"
    create_topics(bootstrap, source, output)
    with subprocess.Popen(  # noqa: S603 - our own script
        command(bootstrap, "latency", EXACTLY_ONCE, source, output, 0, master=master, **asdict(way)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            sys.exit(f"latency on {master} did not start")
        result = probe_latency(bootstrap, source, output)
        process.communicate(timeout=120)
    return float(result["p50_ms"])


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default="sum,wordcount")
    parser.add_argument("--orders", type=int, default=ORDERS)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-latency", action="store_true")
    parser.add_argument("--mode", default="continuous", choices=["continuous", "micro_batch"])
    parser.add_argument("--batch-records", type=int)
    given = parser.parse_args()
    way = Way(given.mode, given.batch_records)
    if not can_hide():
        sys.exit("this machine does not allow mount namespaces, which keep the workers apart")
    workloads, scale = given.workloads.split(","), Scale(given.orders, given.lines, 0)
    with DevBroker() as broker, standalone() as cluster:
        bootstrap, masters = broker.bootstrap_servers, (HERE, cluster.master)
        fill_for(bootstrap, workloads, scale)
        for workload in workloads:
            runs: dict[str, list[dict[str, Any]]] = {master: [] for master in masters}
            for _ in range(given.rounds):
                for master in masters:
                    runs[master].append(run(bootstrap, workload, scale, master, way))
            here, there = (statistics.median(one["records_per_s"] for one in runs[master]) for master in masters)
            restored = sum(one["restored"] for one in runs[cluster.master])
            batches = runs[cluster.master][-1]["batches"]
            first = statistics.median(one["first_result_seconds_from_launch"] for one in runs[cluster.master])
            print(
                f"{workload}: {there:,.0f} records/s on the cluster, {here:,.0f} on {HERE}: {there / here:.2f} "
                f"(goal {THROUGHPUT_TO_REACH}); {restored:,.0f} records restored; {batches:.0f} commits; "
                f"first result after {first:.1f} s",
                flush=True,
            )
        if not given.no_latency:
            here_ms, there_ms = (latency(bootstrap, master, way) for master in masters)
            print(
                f"latency, p50: {there_ms:.1f} ms on the cluster, {here_ms:.1f} on {HERE}: {there_ms / here_ms:.2f} "
                f"(goal {LATENCY_TO_REACH})"
            )


if __name__ == "__main__":
    main()
