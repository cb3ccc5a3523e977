"""An application on paper: a thousand partitions and two hundred lanes, of the real plan, admission, lanes and files.

Nothing is faked but the broker's answers. Times are CPU times of the thread: nothing else on the machine counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from millstream import (
    Consumed,
    Grouped,
    JoinWindows,
    Materialized,
    Produced,
    Serdes,
    StreamJoined,
    StreamsBuilder,
    Topology,
)
from millstream.kafka.admin import Partition
from millstream.spark.program import Program

from ..lanes.memory import program_of

PARTITIONS, LANES = 1_000, 200
ORDERS, BUYS = "orders", "buys"
_OUTPUTS = ("counts", "values", "pairs")

_T = TypeVar("_T")


def topology() -> Topology:
    """Counts by key, counts by value behind an exchange, and a join: what most applications are made of."""
    builder = StreamsBuilder()
    texts, grouped = Consumed(Serdes.string, Serdes.string), Grouped(Serdes.string, Serdes.string)
    numbers = Produced(Serdes.string, Serdes.long)
    orders, buys = builder.stream(ORDERS, texts), builder.stream(BUYS, texts)
    orders.group_by_key(grouped).count(materialized=Materialized("by-key")).to_stream().to("counts", numbers)
    by_value = orders.group_by(lambda key, value: value, grouped)
    by_value.count(materialized=Materialized("by-value")).to_stream().to("values", numbers)
    orders.join(
        buys,
        lambda order, buy: f"{order}+{buy}",
        JoinWindows.of_time_difference(timedelta(minutes=1), grace=timedelta(0)),
        StreamJoined(Serdes.string, Serdes.string, Serdes.string),
    ).to("pairs", Produced(Serdes.string, Serdes.string))
    return builder.build()


def program(directory: Path, partitions: int = PARTITIONS, lanes: int = LANES, **options: Any) -> Program:
    """The application as lanes get it."""
    topics = dict.fromkeys((ORDERS, BUYS, *_OUTPUTS), partitions)
    return program_of(topology(), topics, directory, lanes=lanes, max_batch_records=100_000_000, **options)


class Broker:
    """Answers for topics that have the same number of records in each partition."""

    def __init__(self, topics: Mapping[str, int]) -> None:
        self.records = 0
        #: How often it was asked something.
        self.requests = 0
        self._topics = dict(topics)

    def end_offsets(self, partitions: Iterable[Partition], *, committed: bool | None = None) -> dict[Partition, int]:
        self.requests += 1
        return dict.fromkeys(partitions, self.records)

    def begin_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        self.requests += 1
        return dict.fromkeys(partitions, 0)

    def committed_offsets(self, partitions: Iterable[Partition], group: str | None = None) -> dict[Partition, int]:
        self.requests += 1
        return {}

    def offsets_for_times(self, times: Mapping[Partition, int]) -> dict[Partition, int]:
        self.requests += 1
        return {partition: min(self.records, at) for partition, at in times.items()}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        self.requests += 1
        return {topic: f"{topic:0>22}" for topic in topics}

    def topics(self, *, internal: bool = False) -> dict[str, int]:
        self.requests += 1
        return dict(self._topics)


def cpu_seconds(work: Callable[[], _T], times: int = 3) -> tuple[float, _T]:
    """The least that something takes of a processor, of a few attempts, and what it gives."""
    least, found = float("inf"), None
    for _ in range(times):
        begun = time.thread_time()
        found = work()
        least = min(least, time.thread_time() - begun)
    return least, found  # type: ignore[return-value]  # it was done once at least
