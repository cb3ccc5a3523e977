"""Records per second through agents, in process.

    .venv/bin/python bench/agents.py [--records N] [--rounds N]

A sum per key as an agent, beside the same in the DSL: both get the same batches of raw Kafka records and are run in
turns, as in bench/task.py. Then an agent that awaits 10 ms for each record, beside doing that one by one.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import millstream.agents as faust
from millstream import StreamsBuilder, StreamsConfig, Topology
from millstream.serdes import Serdes
from millstream.task.task import Task
from task import Batch, Output, build_sum, orders, timed

WAIT = 0.01


def summing(*, yields: bool) -> Topology:
    """A sum per key; with `yields` every new sum is a record of its own."""
    app = faust.App("bench")
    topic = app.topic("orders", key_type=str)
    out = app.topic("out", key_type=str, value_serializer=Serdes.long)
    sums = app.Table("sums", key_type=str, value_type=Serdes.long, default=int)

    async def add(stream: faust.Stream) -> None:
        async for key, order in stream.items():
            sums[key] += order["amount"]

    async def add_and_tell(stream: faust.Stream) -> AsyncIterator[int]:
        async for key, order in stream.items():
            total = sums[key] = sums[key] + order["amount"]
            yield total

    if yields:
        app.agent(topic, sink=[out])(add_and_tell)
    else:
        app.agent(topic)(add)
    return app.topology()


def dsl() -> Topology:
    """The same in the DSL."""
    builder = StreamsBuilder()
    build_sum(builder)
    return builder.build()


def runner(task: Task) -> Callable[[Batch], Output]:
    """What a host does with a batch."""

    def run(batch: Batch) -> Output:
        task.add_records("orders", 0, batch)
        task.process_all()
        task.commit()
        task.take_changes()
        return task.take_outputs()

    return run


@contextmanager
def task_of(topology: Topology) -> Iterator[Task]:
    """A task that is closed at the end."""
    task = Task(topology, StreamsConfig(application_id="bench"))
    try:
        yield task
    finally:
        task.close()


def sums_per_key(records: int, rounds: int) -> None:
    batches = orders(records)
    ways: dict[str, Callable[[], Topology]] = {
        "DSL": dsl,
        "agent": lambda: summing(yields=False),
        "agent, yields every sum": lambda: summing(yields=True),
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, build in ways.items():
            with task_of(build()) as task:
                seconds, _results = timed(runner(task), batches)
            best[name] = min(best[name], seconds)
    for name, seconds in best.items():
        print(f"{name:<26}{records / seconds:>12,.0f} records/s  {best['DSL'] / seconds:.2f} of the DSL")


def io(records: int) -> None:
    app = faust.App("io")
    topic = app.topic("orders", key_type=str)
    out = app.topic("out", key_type=str)

    @app.agent(topic, sink=[out])
    async def ask(stream: faust.Stream) -> AsyncIterator[Any]:
        async for order in stream:
            await asyncio.sleep(WAIT)
            yield order["id"]

    batch = [(f"k{offset}".encode(), *rest, offset) for offset, (_, *rest, _o) in enumerate(orders(records)[0])]
    with task_of(app.topology()) as task:
        start = time.perf_counter()
        results = runner(task)(batch)
        taken = time.perf_counter() - start
    assert len(results) == len(batch)
    rate = len(batch) / taken
    print(f"awaiting 10 ms each: {rate:,.0f} records/s, {rate * WAIT:,.0f} times one by one at its best")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    sums_per_key(arguments.records, arguments.rounds)
    io(10_000)
