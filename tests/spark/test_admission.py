"""What a batch takes, without a broker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream import Consumed, GlobalKTable, JoinWindows, Serdes, StreamsBuilder, StreamsConfig
from millstream.kafka.admin import Partition
from millstream.spark.admission import LAST, Admission
from millstream.spark.plan import Plan
from millstream.spark.program import Program

from .topics import Times

TEXT = Consumed(Serdes.string, Serdes.string)


class Broker(Times):
    """Topics with as many records as there are times.

    Attributes:
        made: how often a topic was made, if more than once.
        begin: the first offset that is still there, if it is not 0.
    """

    def __init__(self, times: Mapping[Partition, list[int]]) -> None:
        super().__init__(times)
        self.made: dict[str, int] = {}
        self.begin: dict[Partition, int] = {}

    def end_offsets(self, partitions: Iterable[Partition], *, committed: bool | None = None) -> dict[Partition, int]:
        return {place: len(self.times[place]) for place in partitions}

    def begin_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {place: self.begin.get(place, 0) for place in partitions}

    def committed_offsets(self, partitions: Iterable[Partition], group: str | None = None) -> dict[Partition, int]:
        return {}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return {topic: f"{topic}-{self.made.get(topic, 1)}" for topic in topics}

    def topics(self, *, internal: bool = False) -> dict[str, int]:
        return {topic: 1 + max(number for name, number in self.times if name == topic) for topic, _ in self.times}


def admission(builder: StreamsBuilder, broker: Broker, directory: Path, **options: Any) -> Admission:
    counts: dict[str, int] = {}
    for topic, partition in broker.times:
        counts[topic] = max(counts.get(topic, 0), partition + 1)
    topology = builder.build()
    config = StreamsConfig(max_batch_records=1_000, **options)
    program = Program("run", topology, Plan(topology, counts), config, 2, str(directory), None)
    return Admission(program, broker, directory / "pause")


def stateless(*topics: str) -> StreamsBuilder:
    builder = StreamsBuilder()
    for topic in topics:
        builder.stream(topic, TEXT).map_values(str.upper).to("out")
    return builder


def sizes(start: dict[str, Any], end: dict[str, Any]) -> dict[str, int]:
    return {
        f"{topic}-{partition}": offset - start["topics"][topic][partition]
        for topic, offsets in end["topics"].items()
        for partition, offset in offsets.items()
    }


def test_a_batch_takes_its_share_of_each_partition(tmp_path: Path) -> None:
    broker = Broker({("in", 0): [0] * 3_000, ("in", 1): [0] * 1_000})
    found = admission(stateless("in"), broker, tmp_path)
    start = found.beginning()
    end = found.next(start)
    assert sizes(start, end) == {"in-0": 750, "in-1": 250}
    assert end["batch"] == 1


def test_the_next_batch_keeps_what_was_promised(tmp_path: Path) -> None:
    broker = Broker({("in", 0): [0] * 3_000, ("in", 1): [0] * 1_000})
    found = admission(stateless("in"), broker, tmp_path)
    first = found.next(found.beginning())
    assert first["sure"] == {"in": {"0": 750 + 375, "1": 250 + 125}}
    # The batch was slow: the next is to be half as large, but not smaller than promised.
    (tmp_path / "pause").with_suffix(LAST).write_text(json.dumps({"batch_seconds": 60.0, "record_bytes": 10.0}))
    broker.times["in", 0].extend([0] * 100_000)
    second = found.next(first)
    assert sizes(first, second)["in-1"] >= 125
    assert sum(sizes(first, second).values()) <= 1_002
    # Also by somebody who has only read of it.
    again = admission(stateless("in"), broker, tmp_path).next({**first, "sure": {"in": {"0": 2_000, "1": 900}}})
    assert sizes(first, again)["in-1"] >= 650


def test_nothing_is_promised_beyond_what_is_there(tmp_path: Path) -> None:
    broker = Broker({("in", 0): [0] * 1_100})
    found = admission(stateless("in"), broker, tmp_path)
    first = found.next(found.beginning())
    assert first["sure"] == {"in": {"0": 1_100}}
    assert "sure" not in found.next(first)


@pytest.mark.parametrize("idle", [timedelta(0), timedelta(seconds=1), None])
def test_nothing_is_promised_of_topics_that_meet(tmp_path: Path, idle: timedelta | None) -> None:
    builder = StreamsBuilder()
    windows = JoinWindows.of_time_difference(timedelta(seconds=1))
    builder.stream("a", TEXT).join(builder.stream("b", TEXT), lambda left, right: left, windows).to("out")
    builder.stream("alone", TEXT).to("out")
    times = list(range(5_000))
    broker = Broker({("a", 0): times, ("b", 0): times, ("alone", 0): times})
    found = admission(builder, broker, tmp_path, max_task_idle=idle)
    assert found.next(found.beginning())["sure"].keys() == {"alone"}


def test_nothing_is_promised_where_batches_have_global_tables(tmp_path: Path) -> None:
    builder = stateless("in")
    table: GlobalKTable[str, str] = builder.global_table("names", TEXT)
    assert table is not None
    broker = Broker({("in", 0): [0] * 3_000, ("names", 0): [0]})
    found = admission(builder, broker, tmp_path)
    assert "sure" not in found.next(found.beginning())


def test_batches_are_not_closer_than_the_commit_interval_unless_they_are_full(tmp_path: Path) -> None:
    broker = Broker({("in", 0): [0] * 10})
    found = admission(stateless("in"), broker, tmp_path, commit_interval=timedelta(hours=1))
    first = found.next(found.beginning())
    assert sizes(found.beginning(), first) == {"in-0": 10}
    broker.times["in", 0].extend([0] * 10)
    assert found.next(first) == first  # later
    broker.times["in", 0].extend([0] * 5_000)
    assert sizes(first, found.next(first)) == {"in-0": 1_000}
