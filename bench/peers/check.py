"""Does the peer do what it is measured for? Its final results are compared with a plain computation in Python.

.venv/bin/python bench/peers/check.py [--records N] [--lines N] [--latency SECONDS]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from millstream.kafka.broker import DevBroker

sys.path.append(str(Path(__file__).parents[1]))

from data import Record, create_topics, read_all

from peers.inputs import WORKLOADS, Input, Scale, fill_for, inputs
from peers.run import GUARANTEES, run_kafka_streams, run_kafka_streams_latency

MINUTE_MS = 60_000
WINDOW_MS = 5_000

#: Final value by key; for `filter`, `table` and `join`, whose results are no updates, all of them by their ids.
Results = dict[Any, Any]


def expected(workload: str, records: Iterable[Record]) -> Results:
    """What a workload gives for these records."""
    results: Counter[Any] = Counter()
    match workload:
        case "filter":
            invoices: Results = {}
            for record in records:
                order = orjson.loads(record.value)
                if order["amount"] > 50:
                    invoices[order["id"]] = (record.key, order["amount"] * 1.2)
            return invoices
        case "sum" | "sum-many" | "sum-uncached":
            for record in records:
                results[record.key] += orjson.loads(record.value)["amount"]
        case "window":
            for record in records:  # in order, so that none is late
                start = record.timestamp - record.timestamp % MINUTE_MS
                results[(record.key or b"") + start.to_bytes(8, "big")] += 1
        case "wordcount":
            for record in records:
                results.update(record.value.split(b" "))
        case "rekey":
            results.update(b"group-%d" % (orjson.loads(record.value)["id"] % 5000) for record in records)
        case _:
            raise ValueError(f"no such workload: {workload}")
    return dict(results)


def expected_of(workload: str, found: Sequence[Input]) -> Results:
    """What a workload gives for its inputs."""
    match workload:
        case "table":
            names = {record.key: orjson.loads(record.value)["name"] for record in found[1].records()}
            return {orjson.loads(record.value)["id"]: (record.key, names[record.key]) for record in found[0].records()}
        case "join":
            partners: dict[bytes | None, list[tuple[int, Any]]] = {}
            for record in found[1].records():
                partners.setdefault(record.key, []).append((record.timestamp, orjson.loads(record.value)))
            joined: Results = {}
            for record in found[0].records():
                one = orjson.loads(record.value)
                for timestamp, other in partners.get(record.key, ()):
                    if abs(timestamp - record.timestamp) <= WINDOW_MS:
                        joined[one["id"], other["id"]] = (record.key, one["amount"] + other["amount"])
            return joined
        case _:
            return expected(workload, found[0].records())


def final_results(workload: str, bootstrap: str, topic: str) -> Results:
    """What lies in an output topic, as `expected` gives it. What is not an update must not be there twice."""
    results: Results = {}
    for key, value in read_all(bootstrap, topic):
        if value is None:
            raise ValueError(f"{workload}: {key!r} has no value")
        if workload in ("filter", "table", "join"):
            invoice = orjson.loads(value)
            ident = tuple(invoice["id"]) if workload == "join" else invoice["id"]
            if ident in results:
                raise ValueError(f"{workload}: {ident} is there twice")
            results[ident] = (key, invoice["total"])
        else:
            results[key] = int.from_bytes(value, "big", signed=True)
    return results


def main() -> None:
    """Run all workloads under both guarantees on small data and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--latency", type=float, default=0, help="seconds to measure latency for")
    given = parser.parse_args()
    wrong = 0
    with DevBroker() as broker:
        bootstrap = broker.bootstrap_servers
        scale = Scale(given.records, given.lines, given.records)
        fill_for(bootstrap, list(WORKLOADS), scale)
        for workload in WORKLOADS:
            found = inputs(workload, scale)
            topic, count = ",".join(each.topic for each in found), sum(each.size for each in found)
            right = expected_of(workload, found)
            for guarantee in GUARANTEES:
                output = f"check-{workload}-{guarantee}"
                create_topics(bootstrap, output)
                row = run_kafka_streams(bootstrap, workload, guarantee, topic, count, output_topic=output)
                correct = final_results(workload, bootstrap, output) == right
                wrong += not correct
                print(json.dumps({"correct": correct, **row}), flush=True)
        if given.latency:
            for guarantee in GUARANTEES[1:]:
                print(json.dumps(run_kafka_streams_latency(bootstrap, guarantee, seconds=given.latency)), flush=True)
    if wrong:
        sys.exit(f"{wrong} runs gave wrong results")


if __name__ == "__main__":
    main()
