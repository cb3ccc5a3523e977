"""Kafka for lanes, in memory: topics to read, outputs with their markers, and producers that shut each other out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from millstream import Serdes, StreamsConfig, Topology
from millstream.changelogs import changelogs_of
from millstream.errors import FencedError
from millstream.hosting.range_consumer import RangeConsumer
from millstream.spark.lanes import lane as lane_module
from millstream.spark.lanes.lane import WaveRequest
from millstream.spark.lanes.producer import LaneProducer
from millstream.spark.plan import Partition, Plan
from millstream.spark.program import Program
from millstream.spark.state.checkpoint import Checkpoint
from millstream.spark.state.markers import Marker, read_marker
from millstream.spark.state.statefiles import Version
from millstream.task.records import OutputRecord, RawRecord

MEMBERSHIP = b"the owner's"


class Kafka:
    """A broker in memory; lanes that are made after `serve_lanes` use it."""

    def __init__(self) -> None:
        self.topics: dict[Partition, list[RawRecord]] = {}
        #: Committed outputs, and what was committed with them.
        self.outputs: list[OutputRecord] = []
        self.markers: dict[int, Marker] = {}
        self.inputs: dict[Partition, int] = {}
        self.memberships: list[bytes] = []
        self.producers: list[MemoryProducer] = []
        self.consumers: list[MemoryConsumer] = []
        #: How often somebody asked for markers.
        self.asked = 0
        #: Called before each commit; what it raises is the broker's answer.
        self.on_commit: Callable[[], None] = lambda: None

    def serve_lanes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Be the broker of lanes."""
        monkeypatch.setattr(lane_module, "LaneProducer", lambda program, lane: MemoryProducer(self, program, lane))
        monkeypatch.setattr(lane_module, "RangeConsumer", lambda config, *, reset: MemoryConsumer(self))

    def add(self, topic: str, partition: int, *keys: str) -> None:
        """Records with these keys."""
        log = self.topics.setdefault((topic, partition), [])
        for key in keys:
            log.append((key.encode(), b"x", 1_000 + len(log), None, len(log)))

    def counts(self) -> list[tuple[str, int]]:
        """The committed outputs of a count: keys and numbers."""
        return [((key or b"").decode(), int.from_bytes(value or b"", "big")) for _, _, key, value, *_ in self.outputs]


class MemoryProducer(LaneProducer):
    """Commits to memory; a newer one of the same lane shuts it out."""

    def __init__(self, kafka: Kafka, program: Program, lane: int) -> None:
        self._kafka = kafka
        self._exactly_once = program.config.exactly_once
        self._lane = lane
        self.used = False
        self.pending: list[OutputRecord] = []
        self.aborted = 0
        self.closed = False
        kafka.producers.append(self)

    def committed(self, partitions: Iterable[int]) -> dict[int, Marker | None]:
        self._kafka.asked += 1
        return {partition: self._kafka.markers.get(partition) for partition in partitions}

    def write(self, records: Iterable[OutputRecord]) -> None:
        self.used = True
        self.pending += records

    def flush(self) -> None:
        pass

    def commit(self, offsets: list[TopicPartition], membership: bytes) -> None:
        self.used = True
        self._kafka.on_commit()
        if [other for other in self._kafka.producers if other._lane == self._lane][-1] is not self:
            raise FencedError("this run of the application is not its owner any more")
        self._kafka.outputs += self.pending
        self._kafka.memberships.append(membership)
        if self._exactly_once:
            for at in offsets:
                if at.topic.endswith("-progress"):
                    marker = read_marker(at)
                    assert marker is not None
                    self._kafka.markers[at.partition] = marker
                else:
                    self._kafka.inputs[at.topic, at.partition] = at.offset
        self.pending = []

    def abort(self) -> None:
        self.aborted += 1
        self.pending = []

    def close(self) -> None:
        self.closed = True


class MemoryConsumer(RangeConsumer):
    """Fetches from memory; what is done with the records is the real one's."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._fetched: dict[Partition, int] = {}
        self._waiting = {}
        self._position = {}
        self._end = {}
        self._astray = set()
        self._topic = None
        self.begun = 1.0
        self.met: set[str] = set()
        self.closed = False
        kafka.consumers.append(self)

    def meet(self, topics: Iterable[str]) -> None:
        self.met |= set(topics)

    def close(self) -> None:
        self.closed = True

    def _fetch_from(self, starts: Mapping[Partition, int]) -> None:
        self._fetched.update(starts)

    def _fetch(self, count: int, seconds: float) -> int:
        fetched = 0
        for partition, start in self._fetched.items():
            records = self._kafka.topics[partition][start : start + count - fetched]
            self._waiting[partition] += records
            self._fetched[partition] += len(records)
            fetched += len(records)
        return fetched


def program_of(
    topology: Topology,
    topics: Mapping[str, int],
    directory: Path,
    *,
    lanes: int = 1,
    checkpoint_id: str = "c1",
    with_changelogs: bool = False,
    **options: Any,
) -> Program:
    """A topology as lanes get it; its checkpoint and its stores are in the directory."""
    config = StreamsConfig(
        **{
            "application_id": "app",
            "processing_guarantee": "exactly_once_v2",
            "default_key_serde": Serdes.string,
            "default_value_serde": Serdes.string,
            "statestore_cache_max_bytes": 0,
            "state_dir": directory / "state" / uuid.uuid4().hex,  # what is one process here would be several
            **options,
        }
    )
    plan, location = Plan(topology, topics), str(directory / "checkpoint")
    markers = Checkpoint(location).compare(config.application_id, topology, plan, lanes, checkpoint_id).markers
    changelogs = changelogs_of(topology, config.application_id) if with_changelogs else {}
    return Program("run", topology, plan, config, lanes, location, None, checkpoint_id, markers, changelogs)


def request(
    batch: int,
    ranges: Mapping[Partition, tuple[int, int]] | None = None,
    *,
    wave: int = 0,
    attempt: int = 0,
    parcels: Iterable[Any] = (),
    guaranteed: Mapping[Partition, int] | None = None,
) -> WaveRequest:
    """What a lane is asked to do."""
    return WaveRequest(
        Version(batch, wave),
        5_000,
        attempt,
        ranges or {},
        {},
        list(parcels),
        guaranteed or {},
        f"content-{batch}",
        MEMBERSHIP,
    )


def statistics_of(answer: list[tuple[int, Any]]) -> dict[str, Any]:
    """What a lane tells the driver of a wave."""
    (found,) = [parcel.statistics for _, parcel in answer if parcel.wave == -1]
    return dict(found)
