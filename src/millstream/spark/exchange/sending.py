"""What a wave sends on: records for repartition topics, and those read here for tasks of later waves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from millstream.kafka.partitioner import partition_many
from millstream.spark.exchange.parcels import Bundle, Parcel
from millstream.spark.plan import Partition, TaskId
from millstream.spark.program import Program
from millstream.spark.state.statefiles import Version
from millstream.task.records import OutputRecord, RawRecord

#: Comes before all tasks in the order of origins.
_READ_HERE = -1
_TOPIC = itemgetter(0)


class Sending:
    """Collects, during one wave of one lane, what goes to which lane and wave."""

    def __init__(self, program: Program, lane: int, version: Version) -> None:
        self._program = program
        self._plan = program.plan
        self._lane = lane
        self._version = version
        self._places = {task_id: place for place, task_id in enumerate(self._plan.tasks)}
        self._internal = {program.real_name(topic): topic for topic in program.topology.internal_topics}
        self._counts = {real: self._plan.partitions_of(plain) for real, plain in self._internal.items()}
        #: By topic, partition and origin.
        self._bundles: dict[tuple[str, int, int], list[RawRecord]] = {}

    def split(self, task_id: TaskId, results: list[OutputRecord]) -> list[OutputRecord]:
        """Keep a task's records for repartition topics; the others are outputs."""
        if not self._internal:
            return results
        origin = self._version.wave * len(self._places) + self._places[task_id]
        outputs: list[OutputRecord] = []
        kept: dict[str, list[OutputRecord]] = {}
        for topic, found in groupby(results, key=_TOPIC):
            (kept.setdefault(topic, []) if topic in self._counts else outputs).extend(found)
        for topic, records in kept.items():
            self._keep(topic, self._counts[topic], origin, records)
        return outputs

    def _keep(self, topic: str, count: int, origin: int, records: list[OutputRecord]) -> None:
        """Put records of one repartition topic into the bundles of their partitions."""
        into: dict[int, list[RawRecord]] = {}  # few of the partitions, where there are many
        for at, (_, chosen, key, value, timestamp, headers) in zip(
            partition_many([record[2] for record in records], count), records, strict=True
        ):
            partition = at if chosen is None else chosen
            bundle = into.get(partition)
            if bundle is None:
                bundle = into[partition] = self._bundles.setdefault((topic, partition, origin), [])
            bundle.append((key, value, timestamp, headers, len(bundle)))

    def pass_on(self, read: Mapping[Partition, list[RawRecord]]) -> None:
        """Send on what tasks of later waves take."""
        for (topic, partition), records in read.items():
            if records and any(self._plan.parts[part].topics[topic] > 0 for part in self._plan.readers(topic)):
                self._bundles[topic, partition, _READ_HERE] = records

    def parcels(
        self, now: int, content: str, membership: bytes, statistics: dict[str, Any]
    ) -> list[tuple[int, Parcel]]:
        """A parcel for each lane and wave that gets something, one to this lane for every wave, the statistics."""
        batch = self._version.batch

        def parcel(wave: int, bundles: list[Bundle]) -> Parcel:
            return Parcel(wave, batch, now, bundles, content=content, membership=membership)

        sent: dict[tuple[int, int], list[Bundle]] = {}
        for (topic, partition, origin), records in self._bundles.items():
            if not records:
                continue
            for lane, wave in self._receivers(topic, partition):
                sent.setdefault((lane, wave), []).append(Bundle(topic, partition, origin, records))
        parcels = [(lane, parcel(wave, bundles)) for (lane, wave), bundles in sent.items()]
        if self._version.wave == 0:
            parcels += [(self._lane, parcel(wave, [])) for wave in range(1, self._plan.waves)]
        parcels.append((self._lane, Parcel(-1, batch, now, [], statistics)))
        return parcels

    def _receivers(self, topic: str, partition: int) -> Iterable[tuple[int, int]]:
        """The lanes and waves of the tasks that take a partition later."""
        plain = self._internal.get(topic, topic)
        for part in self._plan.readers(plain):
            wave = self._plan.parts[part].topics[plain]
            if wave > 0:
                yield self._plan.lane_of(TaskId(part, partition), self._program.lanes), wave
