"""A lane: some tasks of an application, batch after batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TopicPartition

from millstream.hosting.copartitioning import KeyPlaces
from millstream.hosting.producing.transactions import ProducerStuck
from millstream.hosting.range_consumer import RangeConsumer
from millstream.spark.exchange.merging import merged
from millstream.spark.exchange.parcels import STAGES, Parcel
from millstream.spark.exchange.sending import Sending
from millstream.spark.lanes.ahead import Done, WorkAhead
from millstream.spark.lanes.context import leave_state_directories
from millstream.spark.lanes.global_tables import GlobalTables
from millstream.spark.lanes.producer import LaneProducer
from millstream.spark.lanes.versioned_task import VersionedTask
from millstream.spark.lanes.writing import Writing
from millstream.spark.plan import Partition, TaskId
from millstream.spark.program import Program
from millstream.spark.state.checkpoint import marker_name
from millstream.spark.state.markers import Marker, check_marker, input_offset
from millstream.spark.state.statefiles import Version
from millstream.task.records import RawRecord
from millstream.task.watching.watch import Watch

log = logging.getLogger("millstream.spark")

_SAMPLE = 50
#: How many records a lane reads before it is asked for them.
_MOST_AHEAD = 100_000
#: Waves that are done in this time write their outputs as they go: their transactions stay far from timing out.
_SOON_SECONDS = 10.0


@dataclass(frozen=True)
class WaveRequest:
    """One wave of a batch, for one lane.

    Args:
        version: the batch and the wave.
        now: the batch's time.
        attempt: how often it was tried before.
        ranges: the offsets to read.
        global_ends: how far global tables are to be.
        parcels: what came from other tasks.
        guaranteed: up to where the next batch goes at least.
        content: what the batch is, see `markers.content_of`.
        membership: of the application's owner.
    """

    version: Version
    now: int
    attempt: int
    ranges: Mapping[Partition, tuple[int, int]]
    global_ends: Mapping[Partition, int]
    parcels: list[Parcel]
    guaranteed: Mapping[Partition, int]
    content: str
    membership: bytes


class Lane:
    """Runs the tasks it owns. Used by one process, one request at a time."""

    def __init__(self, program: Program, index: int) -> None:
        self._program = program
        self._plan = program.plan
        self._index = index
        #: Sees what its tasks do, while somebody looks.
        self.watch = Watch(program.config.application_id)
        self._tasks = {
            task_id: VersionedTask(program, task_id, index, self.watch)
            for task_id in program.plan.tasks_of_lane(index, program.lanes)
        }
        self._consumer: RangeConsumer | None = None
        self._producer: LaneProducer | None = None
        self._globals = GlobalTables(program)
        #: The usual size of a record that it reads; 0 if that is not known.
        self._record_bytes = 0.0
        #: How long the last wave took.
        self._last_seconds = float("inf")
        self._done: dict[tuple[int, int], list[tuple[int, Parcel]]] = {}
        self._work_ahead = WorkAhead(self._tasks)
        self._key_places = KeyPlaces(
            program.topology, program.plan.topics_of, program.plan.external, program.plan.internal
        )

    def run(self, request: WaveRequest) -> list[tuple[int, Parcel]]:
        """Run one wave of a batch: what goes to which lane."""
        version = request.version
        finished = self._done.get(version)
        if finished is not None:  # whoever asked before did not live to hear it
            return finished
        laps = _Laps()
        ahead: dict[Partition, Done] = {}
        if version.wave == 0:
            ahead, laps.seconds["process_s"] = self._work_ahead.claim(version, request.attempt, request.ranges)
        task_ids = self._tasks_of(version.wave)
        outputs, known = self._take_over(request, task_ids, {done.task_id for done in ahead.values()})
        committed = {task_id for task_id in task_ids if self._is_out(task_id, known, request)}
        self._begin(request, task_ids, ahead, known)
        sending = Sending(self._program, self._index, version)
        at_once = request.attempt == 0 and self._last_seconds < _SOON_SECONDS
        writing = Writing(self._program, outputs, committed, at_once=at_once)
        try:
            read = self._process(request, task_ids, ahead, sending, writing, laps)
            written = writing.count
            for task_id in task_ids:
                writing.add(task_id, self._tasks[task_id].save(version))
            laps.end("save_s")
            if writing.count or any(self._tasks[task_id].changed for task_id in task_ids):
                todo = [task_id for task_id in task_ids if task_id not in committed]
                writing.commit([*self._markers(request, todo), *self._input_offsets(request)], request.membership)
            laps.end("write_s")
        except ProducerStuck:
            raise
        except BaseException:
            outputs.abort()
            raise
        for task_id in task_ids:
            self._tasks[task_id].finish(version)
        self._last_seconds = sum(laps.seconds.values())
        statistics = self._statistics(request, task_ids, read, written, laps)
        result = sending.parcels(request.now, request.content, request.membership, statistics)
        self._done = {version: result}
        if request.guaranteed:
            spans = {partition: (request.ranges[partition][1], end) for partition, end in request.guaranteed.items()}
            self._work_ahead.allow(version, self._alone(request.ranges), spans)
        return result

    def _tasks_of(self, wave: int) -> list[TaskId]:
        """The tasks that take something in a wave."""
        return [task_id for task_id in self._tasks if wave in self._waves_of(task_id)]

    def _waves_of(self, task_id: TaskId) -> set[int]:
        return set(self._plan.parts[task_id.sub_topology].topics.values())

    def _take_over(
        self, request: WaveRequest, task_ids: list[TaskId], ahead: set[TaskId]
    ) -> tuple[LaneProducer, Mapping[str, Marker]]:
        """Be the one that writes for this lane; answers what is known of its tasks, by marker names.

        Nothing is asked where this lane did the wave before: nobody can have come further in between, as Kafka takes
        commits from the application's owner alone.
        """
        fresh = any(
            not self._tasks[task_id].is_current(request.version) for task_id in task_ids if task_id not in ahead
        )
        if self._producer is not None and not fresh and request.attempt == 0:
            return self._producer, {}
        # Somebody else may have had this lane, or still have it: shut them out before reading how far they came.
        if self._producer is None or self._producer.used:
            self._producer = self._new_outputs()
        names = {
            self._program.marker(task_id, wave): marker_name(task_id, wave)
            for task_id in task_ids
            for wave in self._waves_of(task_id)
        }
        found = self._producer.committed(names)
        return self._producer, {names[at]: marker for at, marker in found.items() if marker is not None}

    def _is_out(self, task_id: TaskId, known: Mapping[str, Marker], request: WaveRequest) -> bool:
        """Whether a task's outputs of this wave are already out.

        Raises:
            StreamsError: outputs are out that are not of this history.
        """
        if not self._program.config.exactly_once:
            return False
        for wave in self._waves_of(task_id):
            marker = known.get(marker_name(task_id, wave))
            if marker is not None:
                check_marker(marker, self._program.checkpoint_id, request.version.batch, request.content)
        marker = known.get(marker_name(task_id, request.version.wave))
        return marker is not None and marker.batch == request.version.batch

    def _begin(
        self, request: WaveRequest, task_ids: list[TaskId], ahead: Mapping[Partition, Done], known: Mapping[str, Marker]
    ) -> None:
        """Have all tasks as they were before the wave, or further where work was done ahead."""
        if self._globals.advance(request.global_ends):
            for task in self._tasks.values():  # they look at the old tables
                task.close()
        begun = {done.task_id for done in ahead.values()}
        for task_id in task_ids:
            markers = (known.get(marker_name(task_id, wave)) for wave in self._waves_of(task_id))
            states = [marker.state for marker in markers if marker is not None and marker.state is not None]
            self._tasks[task_id].begin(
                request.version,
                request.now,
                self._globals.state,
                ahead=task_id in begun,
                at_least=max(states, default=None),
            )

    def _markers(self, request: WaveRequest, task_ids: list[TaskId]) -> list[TopicPartition]:
        """What is to be known of tasks once their outputs are out."""
        version, program = request.version, self._program
        return [
            Marker(
                program.checkpoint_id,
                marker_name(task_id, version.wave),
                version.batch,
                request.content,
                self._tasks[task_id].state,
            ).at(program.progress_topic, program.marker(task_id, version.wave))
            for task_id in task_ids
        ]

    def _input_offsets(self, request: WaveRequest) -> list[TopicPartition]:
        """Where the batch ends in the partitions that this lane has read; what it made of them goes with it."""
        if request.version.wave:
            return []
        beside = self._program.committed(request.version.batch)
        return [input_offset(partition, end, beside) for partition, (_, end) in request.ranges.items()]

    def _statistics(
        self, request: WaveRequest, task_ids: list[TaskId], read: int, written: int, laps: _Laps
    ) -> dict[str, Any]:
        """What the driver is told."""
        return {
            "lane": self._index,
            "begun": time.time() if self._consumer is None or self._consumer.begun is None else self._consumer.begun,
            "wave": request.version.wave,
            "batch": request.version.batch,
            "read": read,
            "content": request.content,
            "ends": [(*partition, end) for partition, (_, end) in request.ranges.items()],
            "record_bytes": self._record_bytes,
            "processed": sum(self._tasks[task_id].processed for task_id in task_ids),
            "written": written,
            "key_places": self._key_places.take(),
            **laps.seconds,
            "tasks": {task_id.name: self._tasks[task_id].statistics() for task_id in task_ids},
        }

    def _process(
        self,
        request: WaveRequest,
        task_ids: list[TaskId],
        ahead: Mapping[Partition, Done],
        sending: Sending,
        writing: Writing,
        laps: _Laps,
    ) -> int:
        """Have all tasks take what is for them; answers how many records were read."""
        ranges, version = request.ranges, request.version
        alone = self._alone(ranges)
        for done in ahead.values():
            writing.add(done.task_id, sending.split(done.task_id, done.outputs))
        laps.end("write_s")
        # In a fixed order, as tasks take partitions with equal times in it.
        whole = merged(request.parcels) | {partition: [] for partition in ranges if partition not in alone}
        count = sum(done.count for done in ahead.values())
        left = {partition: (done.end, ranges[partition][1]) for partition, done in ahead.items()}
        for partition, records in self._read({**ranges, **left}):
            count += len(records)
            laps.end("read_s")
            taker = alone.get(partition)
            if taker is None:
                whole[partition] += records
            else:
                results = self._tasks[taker].process({partition: records})
                laps.end("process_s")
                writing.add(taker, sending.split(taker, results))
                laps.end("write_s")
        laps.end("read_s")
        for task_id in task_ids:
            task = self._tasks[task_id]
            results = task.process(self._inputs_of(task_id, version.wave, whole)) + task.end()
            writing.add(task_id, sending.split(task_id, results))
        if version.wave == 0:
            sending.pass_on(whole)
        laps.end("process_s")
        return count

    def prepare(self) -> None:
        """Meet the broker while Spark is still planning."""
        self._producer = self._new_outputs()
        self._consumer = RangeConsumer(self._program.config, reset=self._program.reset_of)
        topics = {topic for part in self._plan.parts.values() for topic in part.topics}
        self._consumer.meet(topics - set(self._plan.internal))

    def work_ahead(self) -> bool:
        """Use the time until the next request: begin with what it will ask for. False if there is nothing to do."""
        if self._consumer is None or not self._record_bytes:
            return False
        if self._work_ahead.work(self._consumer):
            return True
        room = self._program.config.max_batch_bytes / self._program.lanes / self._record_bytes
        return self._consumer.read_ahead(min(_MOST_AHEAD, int(room)))

    def close(self) -> None:
        """Give everything back."""
        for task in self._tasks.values():
            task.close()
        if self._consumer is not None:
            self._consumer.close()
        if self._producer is not None:
            self._producer.close()
        self._globals.close()
        leave_state_directories(self._program)

    def _new_outputs(self) -> LaneProducer:
        if self._producer is not None:
            self._producer.close()
        return LaneProducer(self._program, self._index)

    def _read(self, ranges: Mapping[Partition, tuple[int, int]]) -> Iterator[tuple[Partition, list[RawRecord]]]:
        wanted = {partition: span for partition, span in ranges.items() if span[0] < span[1]}
        if not wanted:
            return
        if self._consumer is None:
            self._consumer = RangeConsumer(self._program.config, reset=self._program.reset_of)
        for partition, records in self._consumer.read(wanted):
            self._record_bytes = _usual_size(records)
            self._key_places.look(partition, records)
            yield partition, records

    def _alone(self, ranges: Mapping[Partition, tuple[int, int]]) -> dict[Partition, TaskId]:
        """Partitions that are all one task takes in this wave, and that no other task takes.

        It can have their records as they come, which keeps less in memory, and that near the processor; a task with
        several partitions takes their records by time, so that all must be there.
        """
        takers: dict[TaskId, list[Partition]] = {}
        for (topic, partition), (start, end) in ranges.items():
            parts = self._plan.readers(topic)
            for part in parts if start < end else ():
                takers.setdefault(TaskId(part, partition), []).append((topic, partition))
        return {
            taken[0]: task_id
            for task_id, taken in takers.items()
            if len(taken) == 1
            and len(self._plan.readers(taken[0][0])) == 1
            and self._plan.parts[task_id.sub_topology].topics[taken[0][0]] == 0
        }

    def _inputs_of(
        self, task_id: TaskId, wave: int, records: Mapping[Partition, list[RawRecord]]
    ) -> dict[Partition, list[RawRecord]]:
        topics = self._plan.parts[task_id.sub_topology].topics
        names = {self._program.real_name(topic) for topic, at in topics.items() if at == wave}
        return {
            partition: found
            for partition, found in records.items()
            if found and partition[0] in names and partition[1] == task_id.partition
        }


class _Laps:
    """How long each stage took."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._last = time.perf_counter()

    def end(self, stage: str) -> None:
        """What was done since the last end belongs to this stage."""
        now = time.perf_counter()
        self.seconds[stage] += now - self._last
        self._last = now


def _usual_size(records: list[RawRecord]) -> float:
    """Bytes of a record, by some of them."""
    sizes = [len(key or b"") + len(value or b"") for key, value, *_ in records[:_SAMPLE]]
    return sum(sizes) / len(sizes) if sizes else 0.0
