"""A task's state in Kafka: its changes on their way there, and the way back."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.changelogs import Changelog
from millstream.hosting.old_times import OldTimes
from millstream.hosting.restoring import fill
from millstream.hosting.task_changes import LEAST_TIME, change_records, clocks_of, set_clocks
from millstream.hosting.task_note import encode
from millstream.spark.plan import Partition, TaskId
from millstream.spark.program import Program
from millstream.spark.state.origin import Origin
from millstream.state.store import StateStore
from millstream.task.records import OutputRecord


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
        self._old_times = OldTimes(program.topology, self._logs, program.config)

    def records(
        self,
        stores: Mapping[str, StateStore],
        changes: Mapping[str, Mapping[bytes, bytes | None]],
        progress: bytes,
        stream_time: int,
    ) -> list[OutputRecord]:
        """What is to be written of a wave's changes."""
        if not self._logs:
            return []
        self._old_times.look(stream_time)
        records = change_records(self._logs, self._id.partition, stores, changes, stream_time)
        note = encode(
            progress,
            clocks_of(self._logs, stores),
            {name: self._program.whole.get(name, "") for name in self._logs},
        )
        records.append((*self._program.notes, self._id.name.encode(), note, max(stream_time, LEAST_TIME), None))
        return records

    def rebuild(self, stores: Mapping[str, StateStore], origin: Origin) -> tuple[bytes | None, int]:
        """Fill a task's stores from Kafka; answers its progress (None: it has none yet) and how many records came."""
        note = origin.note(self._id.name)
        if note is None:
            return None, 0
        logs: dict[Partition, list[StateStore]] = {}
        for name, found in self._logs.items():
            logs.setdefault((found.topic, self._id.partition), []).append(stores[name])
        count = fill(self._program.config, logs, {partition: origin.end(partition) for partition in logs})
        set_clocks(self._logs, stores, note)
        return note.progress, count
