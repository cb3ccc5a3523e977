"""A lane: some tasks of an application, batch after batch."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millstream.kafka.partitioner import partition_for
from millstream.processors.user_context import HostContext
from millstream.spark.frames import Bundle, Parcel, merged
from millstream.spark.global_tables import GlobalTables
from millstream.spark.inputs import Inputs, Partition
from millstream.spark.outputs import Outputs
from millstream.spark.plan import Slot
from millstream.spark.program import Program
from millstream.spark.slots import TaskSlot
from millstream.spark.statefiles import Version
from millstream.task.records import OutputRecord, RawRecord

log = logging.getLogger("millstream.spark")

_SAMPLE = 50


class Lane:
    """Runs the tasks it owns. Used by one process, one request at a time."""

    def __init__(self, program: Program, index: int) -> None:
        self._program = program
        self._plan = program.plan
        self._index = index
        self._slots = {
            slot: TaskSlot(program, slot, index) for slot in program.plan.slots_of_lane(index, program.lanes)
        }
        self._place = {slot: place for place, slot in enumerate(program.plan.slots)}
        self._internal = {program.real_name(topic): topic for topic in program.topology.internal_topics}
        self._inputs: Inputs | None = None
        self._outputs: Outputs | None = None
        self._globals = GlobalTables(program)
        self._done: dict[tuple[int, int], list[tuple[int, Parcel]]] = {}

    def run(
        self,
        version: Version,
        now: int,
        attempt: int,
        ranges: Mapping[Partition, tuple[int, int]],
        global_ends: Mapping[Partition, int],
        parcels: list[Parcel],
    ) -> list[tuple[int, Parcel]]:
        """Run one wave of a batch: what goes to which lane."""
        finished = self._done.get(version)
        if finished is not None:  # whoever asked before did not live to hear it
            return finished
        begun, started = time.time(), time.perf_counter()
        slots = [slot for slot in self._slots if version.wave in self._plan.parts[slot.sub_topology].topics.values()]
        fresh = any(not self._slots[slot].is_current(version) for slot in slots)
        if self._outputs is None or fresh or attempt > 0:
            # Somebody else may have had this lane, or still have it: shut them out before reading how far they came.
            self._renew_outputs()
            committed = self._committed(slots, version)
        else:
            committed = set()
        if self._globals.advance(global_ends):
            for task_slot in self._slots.values():  # they look at the old tables
                task_slot.close()
        read = self._read(ranges)
        records = _merged(read, parcels) if version.wave else read
        ready = time.perf_counter()
        sent: dict[int, list[Bundle]] = {}
        outputs: list[OutputRecord] = []
        markers: dict[int, int] = {}
        processed = 0
        for slot in slots:
            task_slot = self._slots[slot]
            results = task_slot.run(version, now, self._inputs_of(slot, version.wave, records), self._globals.state)
            processed += task_slot.processed
            results = self._split(slot, results, version, sent)
            if slot not in committed:
                outputs += results
                markers[self._program.marker(slot, version.wave)] = version.batch
        if version.wave == 0:
            self._pass_on(read, sent)
        computed = time.perf_counter()
        for slot in slots:
            self._slots[slot].save(version)
        saved = time.perf_counter()
        if outputs or any(self._slots[slot].changed for slot in slots):
            if self._outputs is None:
                raise AssertionError("no producer")
            self._outputs.write(outputs, markers)
        written = time.perf_counter()
        for slot in slots:
            self._slots[slot].finish(version)
        statistics = {
            "lane": self._index,
            "begun": begun,
            "wave": version.wave,
            "read": sum(map(len, read.values())),
            "record_bytes": _usual_size(read),
            "processed": processed,
            "written": len(outputs),
            "read_s": ready - started,
            "process_s": computed - ready,
            "save_s": saved - computed,
            "write_s": written - saved,
            "tasks": {slot.task_id: self._slots[slot].statistics() for slot in slots},
        }
        result = self._parcels(version, now, sent, statistics)
        self._done = {version: result}
        return result

    def close(self) -> None:
        """Give everything back."""
        for slot in self._slots.values():
            slot.close()
        if self._inputs is not None:
            self._inputs.close()
        if self._outputs is not None:
            self._outputs.close()
        self._globals.close()

    def _renew_outputs(self) -> None:
        if self._outputs is not None:
            self._outputs.close()
        self._outputs = Outputs(self._program, self._index)

    def _committed(self, slots: list[Slot], version: Version) -> set[Slot]:
        """The tasks whose outputs of this wave are already out."""
        if self._outputs is None:
            return set()
        markers = {self._program.marker(slot, version.wave): slot for slot in slots}
        found = self._outputs.committed(markers)
        return {markers[marker] for marker, batch in found.items() if batch >= version.batch}

    def _read(self, ranges: Mapping[Partition, tuple[int, int]]) -> dict[Partition, list[RawRecord]]:
        wanted = {partition: span for partition, span in ranges.items() if span[0] < span[1]}
        if not wanted:
            return {}
        if self._inputs is None:
            self._inputs = Inputs(self._program.config)
        return self._inputs.read(wanted)

    def _inputs_of(
        self, slot: Slot, wave: int, records: Mapping[Partition, list[RawRecord]]
    ) -> dict[Partition, list[RawRecord]]:
        topics = self._plan.parts[slot.sub_topology].topics
        names = {self._program.real_name(topic) for topic, at in topics.items() if at == wave}
        return {
            partition: found
            for partition, found in records.items()
            if found and partition[0] in names and partition[1] == slot.partition
        }

    def _split(
        self, slot: Slot, results: list[OutputRecord], version: Version, sent: dict[int, list[Bundle]]
    ) -> list[OutputRecord]:
        """Put records for repartition topics into bundles; the others are outputs."""
        internal = self._internal
        if not internal:
            return results
        outputs: list[OutputRecord] = []
        bundles: dict[Partition, list[RawRecord]] = {}
        counts = {topic: self._plan.partitions_of(plain) for topic, plain in internal.items()}
        for topic, partition, key, value, timestamp, headers in results:
            count = counts.get(topic)
            if count is None:
                outputs.append((topic, partition, key, value, timestamp, headers))
                continue
            if partition is None:
                partition = 0 if key is None else partition_for(key, count)
            place = (topic, partition)
            found = bundles.get(place)
            if found is None:
                found = bundles[place] = []
            found.append((key, value, timestamp, headers, len(found)))
        origin = version.wave * len(self._place) + self._place[slot]
        for (topic, partition), records in bundles.items():
            self._send(topic, internal[topic], partition, origin, records, sent)
        return outputs

    def _pass_on(self, read: Mapping[Partition, list[RawRecord]], sent: dict[int, list[Bundle]]) -> None:
        """Send on what was read here for tasks of later waves."""
        for (topic, partition), records in read.items():
            later = [part for part in self._plan.readers(topic) if records and self._plan.parts[part].topics[topic] > 0]
            for part in later:
                self._send_to(Slot(part, partition), topic, partition, -1, records, sent)

    def _send(
        self,
        topic: str,
        plain: str,
        partition: int,
        origin: int,
        records: list[RawRecord],
        sent: dict[int, list[Bundle]],
    ) -> None:
        for part in self._plan.readers(plain):
            self._send_to(Slot(part, partition), topic, partition, origin, records, sent)

    def _send_to(
        self,
        slot: Slot,
        topic: str,
        partition: int,
        origin: int,
        records: list[RawRecord],
        sent: dict[int, list[Bundle]],
    ) -> None:
        wave = self._plan.parts[slot.sub_topology].topics[self._internal.get(topic, topic)]
        lane = self._plan.lane_of(slot, self._program.lanes)
        sent.setdefault(wave * self._program.lanes + lane, []).append(Bundle(topic, partition, origin, records))

    def _parcels(
        self, version: Version, now: int, sent: Mapping[int, list[Bundle]], statistics: dict[str, Any]
    ) -> list[tuple[int, Parcel]]:
        """A parcel for each lane and wave that gets something, one to this lane for every wave, the statistics."""
        lanes = self._program.lanes
        parcels = [(key % lanes, Parcel(key // lanes, version.batch, now, found)) for key, found in sent.items()]
        if version.wave == 0:
            parcels += [(self._index, Parcel(wave, version.batch, now, [])) for wave in range(1, self._plan.waves)]
        parcels.append((self._index, Parcel(-1, version.batch, now, [], statistics)))
        return parcels


def _merged(read: Mapping[Partition, list[RawRecord]], parcels: list[Parcel]) -> dict[Partition, list[RawRecord]]:
    records = merged(parcels)
    for partition, found in read.items():
        records.setdefault(partition, []).extend(found)
    return records


def _usual_size(read: Mapping[Partition, list[RawRecord]]) -> float:
    """Bytes of a record, by some of each partition."""
    sizes = [len(key or b"") + len(value or b"") for records in read.values() for key, value, *_ in records[:_SAMPLE]]
    return sum(sizes) / len(sizes) if sizes else 0.0


class LaneContext(HostContext):
    """The context of a task on Spark: the batch's clock, and the partitions of topics."""

    plan_partitions: Mapping[str, int] = {}
    batch_time: int = 0

    def now(self) -> int:
        """The batch's time, which is the same when a batch is run again."""
        return self.batch_time

    def partition_count(self, topic: str) -> int:
        """How many partitions a topic has; 1 for one that is not known."""
        return self.plan_partitions.get(topic, 1)

    def default_partition(self, topic: str, key: bytes) -> int | None:
        """Where Kafka's partitioner puts a key."""
        count = self.plan_partitions.get(topic)
        return None if count is None else partition_for(key, count)


def state_directory(program: Program, slot: Slot) -> Path:
    """Where a task's persistent stores keep their files while a lane works on them."""
    base = program.config.state_dir or Path(tempfile.gettempdir()) / "millstream"
    return Path(base) / program.config.application_id / slot.task_id
