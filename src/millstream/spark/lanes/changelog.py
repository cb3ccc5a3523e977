"""A task's state in Kafka: its changes on their way there, and the way back."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import closing

from millstream.changelogs import Changelog
from millstream.spark.plan import Partition, TaskId
from millstream.spark.program import Program
from millstream.spark.state.origin import Origin
from millstream.spark.state.task_note import TaskNote, decode, encode
from millstream.spark.topics.consumer import LaneConsumer
from millstream.state.store import LogRecord, StateStore
from millstream.task.records import OutputRecord, RawRecord

log = logging.getLogger("millstream.restore")

_SAY_SECONDS = 2.0
#: librdkafka takes 0 for "now".
_LEAST_TIME = 1


class TaskChangelog:
    """Where one task keeps its changes.

    Args:
        program: the application.
        task_id: the task.
    """

    def __init__(self, program: Program, task_id: TaskId) -> None:
        self._program = program
        self._id = task_id
        self._logs: dict[str, Changelog] = {
            store: log for store, log in program.changelogs.items() if log.sub_topology == task_id.sub_topology
        }
        self._note = (program.progress_topic, program.note_of(task_id)) if self._logs else None

    def records(
        self,
        stores: Mapping[str, StateStore],
        changes: Mapping[str, Mapping[bytes, bytes | None]],
        progress: bytes,
        stream_time: int,
    ) -> list[OutputRecord]:
        """What is to be written of a wave's changes."""
        if self._note is None:
            return []
        partition, records = self._id.partition, list[OutputRecord]()
        for name, changed in changes.items():
            found = self._logs.get(name)
            if found is not None and not found.is_source:
                topic = found.topic
                records += [
                    (topic, partition, key, value, timestamp if timestamp > 0 else _LEAST_TIME, None)
                    for key, value, timestamp in stores[name].log_records(changed, max(stream_time, _LEAST_TIME))
                ]
        clocks = {name: (clock[0], clock[1] or b"") for name in self._logs if (clock := stores[name].clock())}
        note = encode(progress, clocks, {name: self._program.whole.get(name, "") for name in self._logs})
        records.append((*self._note, self._id.name.encode(), note, max(stream_time, _LEAST_TIME), None))
        return records

    def rebuild(self, stores: Mapping[str, StateStore], origin: Origin) -> tuple[bytes | None, int]:
        """Fill a task's stores from Kafka; answers its progress (None: it has none yet) and how many records came.

        Raises:
            StateStoreError: what Kafka has was written by a later release.
        """
        if self._note is None:
            return None, 0
        logs: dict[Partition, list[StateStore]] = {}
        for name, found in self._logs.items():
            logs.setdefault((found.topic, self._id.partition), []).append(stores[name])
        ends = {partition: origin.end(partition) for partition in [*logs, self._note]}
        note: TaskNote | None = None
        with closing(LaneConsumer(self._program.config, from_the_first=True)) as consumer:
            progress = _Progress(sum(ends.values()))
            for partition, records in consumer.read({at: (0, end) for at, end in ends.items() if end}):
                if partition == self._note:
                    note = self._latest(records, note)
                    continue
                for store in logs[partition]:
                    store.apply_records(_usable(records))
                progress.add(len(records), records[-1][4] + 1, partition)
        for name, clock in ({} if note is None else note.clocks).items():
            if name in self._logs:
                stores[name].apply_changes([clock])
        progress.end()
        return None if note is None else note.progress, progress.count

    def _latest(self, records: list[RawRecord], known: TaskNote | None) -> TaskNote | None:
        """The last note of this task among records of the progress topic."""
        mine = self._id.name.encode()
        for key, value, *_ in reversed(records):
            if key == mine and value is not None:
                return decode(value)
        return known


def _usable(records: list[RawRecord]) -> Iterator[LogRecord]:
    """Records as stores take them. One without a key, in a topic that somebody else writes, is no row."""
    return ((key, value, timestamp) for key, value, timestamp, _, _ in records if key is not None)


class _Progress:
    """Tells now and then how far a task is restored."""

    def __init__(self, total: int) -> None:
        self.count = 0
        self._total = total
        self._at: dict[Partition, int] = {}
        self._begun = self._said = time.monotonic()

    def add(self, count: int, offset: int, partition: Partition) -> None:
        """So many records more, up to an offset."""
        self.count += count
        self._at[partition] = offset
        now = time.monotonic()
        if now - self._said >= _SAY_SECONDS:
            self._said = now
            done = sum(self._at.values())
            rate = self.count / (now - self._begun)
            left = (now - self._begun) * (self._total - done) / max(1, done)
            log.warning(
                "restoring from Kafka, %d %% (%s records, %s per second, %d s left)",
                *(100 * done // max(1, self._total), f"{self.count:,}", f"{rate:,.0f}", left),
            )

    def end(self) -> None:
        """All is there."""
        seconds = time.monotonic() - self._begun
        log.warning("restored %s records from Kafka in %.1f s", f"{self.count:,}", seconds)
