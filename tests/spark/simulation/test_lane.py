"""What one lane of two hundred does in a batch: a real one, with Kafka in memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.spark.exchange.parcels import Bundle, Parcel
from millstream.spark.lanes.lane import Lane
from millstream.spark.plan import Partition
from millstream.spark.program import Program
from millstream.task.records import RawRecord

from ..lanes.memory import MEMBERSHIP, Kafka, request
from .large import BUYS, LANES, ORDERS, PARTITIONS, cpu_seconds, program


class LaneOfMany:
    """Lane 0 of many, which takes so many new records of each of its partitions."""

    def __init__(self, kafka: Kafka, found: Program) -> None:
        self.program = found
        self.lane = Lane(found, 0)
        self._kafka = kafka
        self._chance = random.Random(1)
        plan = found.plan
        self._read = [(t, p) for t in (ORDERS, BUYS) for p in range(plan.external[t])]
        self._mine = [place for place in self._read if plan.reading_lane(*place, found.lanes) == 0]
        self.batch = 0

    def take(self, records: int) -> list[tuple[int, Parcel]]:
        """Run the first wave of a batch."""
        self.batch += 1
        ranges: dict[Partition, tuple[int, int]] = {}
        for place in self._mine:
            log = self._kafka.topics.setdefault(place, [])
            start = len(log)
            log += [(self._text(), self._text(), 1_000 + at, None, at) for at in range(start, start + records)]
            ranges[place] = (start, len(log))
        return self.lane.run(request(self.batch, ranges))

    def _text(self) -> bytes:
        return f"text-{self._chance.randrange(1_000_000)}".encode()


Make = Callable[..., LaneOfMany]


@pytest.fixture
def lane_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Make:
    """`lane_of(partitions, lanes)`: lane 0 of them, on a broker of its own."""

    def make(partitions: int = PARTITIONS, lanes: int = LANES) -> LaneOfMany:
        kafka = Kafka()
        kafka.serve_lanes(monkeypatch)
        return LaneOfMany(kafka, program(tmp_path / str(partitions), partitions, lanes))

    return make


def test_a_record_costs_the_same_however_many_partitions_there_are(lane_of: Make) -> None:
    """To find the bundle of a re-keyed record, those of all partitions were gone through."""

    def seconds(partitions: int) -> float:
        many = lane_of(partitions, partitions // 5)
        many.take(1)  # makes its tasks
        return cpu_seconds(lambda: many.take(1_000))[0]

    assert seconds(PARTITIONS) < 2 * seconds(100), "the same, measured; four times as long before"


def test_a_lane_sends_to_each_other_one_a_single_parcel(lane_of: Make) -> None:
    """So an exchange has at most lanes times lanes of them, 40,000 rows of Spark's shuffle."""
    sent = [to for to, parcel in lane_of().take(1_000) if parcel.wave == 1 and parcel.bundles]
    assert len(sent) == len(set(sent)) == LANES


def test_what_comes_from_all_lanes_is_taken_at_once(lane_of: Make) -> None:
    many = lane_of()
    found = many.program
    topic = found.real_name(next(iter(found.topology.internal_topics)))
    own = [task.partition for task in found.plan.tasks_of_lane(0, LANES) if task.sub_topology == 1]
    rows: list[RawRecord] = [(b"key", b"value", 1_000, None, 0)]

    def parcel(lane: int) -> Parcel:
        origins = range(lane, PARTITIONS, LANES)
        bundles = [Bundle(topic, partition, origin, rows) for origin in origins for partition in own]
        return Parcel(1, many.batch, 5_000, bundles, content=f"content-{many.batch}", membership=MEMBERSHIP)

    def take() -> None:
        many.take(0)
        many.lane.run(request(many.batch, wave=1, parcels=map(parcel, range(LANES))))

    assert cpu_seconds(take)[0] < 0.5, "60 ms, measured, for 5,000 bundles"
