"""Does the peer do what it is measured for? Its final results are compared with a plain computation in Python.

.venv/bin/python bench/peers/check.py [--records N] [--keys N] [--lines N] [--latency SECONDS]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from millstream.kafka.broker import DevBroker

sys.path.append(str(Path(__file__).parents[1]))

from data import LINES_TOPIC, ORDERS_TOPIC, Record, create_topics, fill, lines, orders, read_all

from peers.run import GUARANTEES, WORKLOADS, run_kafka_streams, run_kafka_streams_latency

MINUTE_MS = 60_000

#: Final value by key; for `filter`, which keeps no state, all results by their order's id.
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
        case "sum":
            for record in records:
                results[record.key] += orjson.loads(record.value)["amount"]
        case "window":
            for record in records:  # in order, so that none is late
                start = record.timestamp - record.timestamp % MINUTE_MS
                results[(record.key or b"") + start.to_bytes(8, "big")] += 1
        case "wordcount":
            for record in records:
                results.update(record.value.split(b" "))
        case _:
            raise ValueError(f"no such workload: {workload}")
    return dict(results)


def final_results(workload: str, bootstrap: str, topic: str) -> Results:
    """What lies in an output topic, as `expected` gives it. For `filter`, an order that is there twice is an error."""
    results: Results = {}
    for key, value in read_all(bootstrap, topic):
        if value is None:
            raise ValueError(f"{workload}: {key!r} has no value")
        if workload == "filter":
            invoice = orjson.loads(value)
            if invoice["id"] in results:
                raise ValueError(f"{workload}: order {invoice['id']} is there twice")
            results[invoice["id"]] = (key, invoice["total"])
        else:
            results[key] = int.from_bytes(value, "big", signed=True)
    return results


def main() -> None:
    """Run all workloads under both guarantees on small data and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--latency", type=float, default=0, help="seconds to measure latency for")
    given = parser.parse_args()
    wrong = 0
    with DevBroker() as broker:
        bootstrap = broker.bootstrap_servers
        fill(bootstrap, orders_count=given.records, keys=given.keys, lines_count=given.lines)
        for workload in WORKLOADS:
            words = workload == "wordcount"
            topic, count = (LINES_TOPIC, given.lines) if words else (ORDERS_TOPIC, given.records)
            right = expected(workload, lines(count) if words else orders(count, given.keys))
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
