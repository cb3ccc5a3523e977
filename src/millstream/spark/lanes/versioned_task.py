"""One task of a lane, with its versions."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millstream.hosting.context import NO_THROTTLE
from millstream.hosting.whose import is_at
from millstream.spark.calls.processes import alive
from millstream.spark.lanes.changelog import TaskChangelog
from millstream.spark.lanes.context import LaneContext, state_directory
from millstream.spark.plan import Partition, TaskId
from millstream.spark.program import Program
from millstream.spark.state.statefiles import StateFiles, Version
from millstream.spark.state.storage import filesystem
from millstream.state.store import LogEntry, StateStore
from millstream.task.context import host_context
from millstream.task.globals import GlobalState
from millstream.task.records import OutputRecord, RawRecord
from millstream.task.task import Task
from millstream.task.watching.watch import Watch, watching

log = logging.getLogger("millstream.spark")


class VersionedTask:
    """A task that is as far as its version says, here or, after a look at its files, from anywhere else.

    This is the one place that knows whether the task can be used. It is *clean* after a wave that was finished, and
    only then. Whatever touches it makes it unclean first, so that an error, on whatever path it goes, leaves a task
    that the next wave builds anew from its files.
    """

    def __init__(self, program: Program, task_id: TaskId, lane: int, watch: Watch | None = None) -> None:
        self._program = program
        self._watch = watch
        self._id = task_id
        self._shows_offsets = program.has_user_code
        file_system, root = filesystem(program.checkpoint, program.config.spark)
        self._files = StateFiles(file_system, f"{root}/millstream/state/{task_id.name}")
        self._changelog = TaskChangelog(program, task_id)
        self._task: Task | None = None
        #: The wave after which the task is exactly what its files say; None while something is being done with it.
        self._clean: Version | None = None
        #: Whether all that was done since then are whole chunks of records of the next wave.
        self._ahead = False
        self._saved_progress: bytes | None = None
        self.changed = False
        self.processed = 0
        self._processed_before = 0
        self._had_records = False
        self._state_bytes = 0
        self._restored = 0
        #: Where its persistent stores keep their files.
        self._directory: Path | None = None

    @property
    def state(self) -> Version | None:
        """The version of its last state file; None if it never had any."""
        return self._files.last

    @property
    def state_bytes_written(self) -> int:
        """How many bytes of state files it has written, those included that were merged or written anew."""
        return self._files.written

    def is_current(self, version: Version) -> bool:
        """Whether this copy did the wave before, so that no file can know more."""
        return self._clean == self._before(version)

    def begin(
        self,
        version: Version,
        now: int,
        global_state: GlobalState | None,
        *,
        ahead: bool = False,
        at_least: Version | None = None,
    ) -> None:
        """Be as far as a wave wants it.

        Args:
            version: the wave.
            now: the batch's time.
            global_state: the global tables.
            ahead: go on with what was done of this wave before it was asked for.
            at_least: how new the files must be at least, if somebody knows.
        """
        is_at(self._id.name)
        if not (ahead and self._ahead) and not self.is_current(version):
            self._bring_to(version, now, global_state, at_least)
        task = self._running
        self._clean = None
        task.context.batch_time = now  # type: ignore[attr-defined]
        if not self._ahead:
            self._processed_before = task.metrics.processed_records
            self._had_records = False
        self._ahead = False

    def process_ahead(self, records: Mapping[Partition, list[RawRecord]]) -> list[OutputRecord]:
        """Process records of the next wave, before it has begun."""
        if not self._ahead:
            if self._clean is None:
                raise AssertionError("the task is not clean")
            self._processed_before = self._running.metrics.processed_records
            self._had_records = False
        self._clean, self._ahead = None, False
        outputs = self.process(records)
        self._ahead = True
        return outputs

    def process(self, records: Mapping[Partition, list[RawRecord]]) -> list[OutputRecord]:
        """Process some records of the wave, or all of them; answers the outputs."""
        task = self._running
        is_at(self._id.name)
        for (topic, partition), found in records.items():
            self._had_records = True
            task.add_records(topic, partition, self._numbered(task, (topic, partition), found))
        with watching(self._watch, task):
            task.process_all()
        return task.take_outputs()

    def end(self) -> list[OutputRecord]:
        """There are no more records in this wave; answers the last outputs."""
        task = self._running
        is_at(self._id.name)
        punctuated = task.maybe_punctuate_wall_clock()
        if self._had_records or punctuated:
            with watching(self._watch, task, flushes=True):
                task.commit(until_clean=True)
        self.processed = task.metrics.processed_records - self._processed_before
        return task.take_outputs()

    def save(self, version: Version) -> list[OutputRecord]:
        """Write what the wave changed to the checkpoint; answers what is to be written to changelogs."""
        task = self._running
        changes = task.take_changes()
        progress = task.save()
        self.changed = bool(changes) or progress != self._saved_progress
        if not self.changed:
            return []
        self._state_bytes += self._files.write_changes(version, changes, progress)
        self._saved_progress = progress
        return self._changelog.records(task.state_stores, changes, progress, task.context.stream_time)

    def finish(self, version: Version) -> None:
        """The wave's outputs are out."""
        self._clean = version
        if self._task is not None and self._files.needs_base:
            self._files.write_base(self._task.snapshot(), self._task.save())
        self._files.merge_before(version.batch - 1)
        self._files.forget_before(version.batch - 1)

    def statistics(self) -> dict[str, Any]:
        """What the driver is told."""
        if self._task is None:
            return {}
        metrics = self._task.metrics
        return {
            "processed": metrics.processed_records,
            "dropped": metrics.dropped_records,
            "punctuated": metrics.punctuations,
            "stream_time": self._task.context.stream_time,
            "state_bytes": self._state_bytes,
            "restored": self._restored,
            "state": self.state,
            "due": self._task.next_wall_clock_punctuation,
            "offsets": {f"{topic}-{partition}": at for (topic, partition), at in self._task.positions.items()},
        }

    def close(self) -> None:
        """Let the task go; what it held is in the files."""
        self._clean, self._ahead = None, False
        if self._task is not None:
            task, self._task = self._task, None
            is_at(self._id.name)
            task.close(flush=False)
            if self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def _running(self) -> Task:
        if self._task is None:
            raise AssertionError("no wave has begun")
        return self._task

    def _numbered(self, task: Task, place: Partition, records: list[RawRecord]) -> list[RawRecord]:
        """Records of an exchange with offsets that go on where the last ended, if there is anybody to see them."""
        if not self._shows_offsets or place[0] in self._program.plan.external:
            return records
        first = max(0, task.positions.get(place, 0))
        return [(key, value, time, headers, first + n) for n, (key, value, time, headers, _) in enumerate(records)]

    def _before(self, version: Version) -> Version:
        waves = sorted(set(self._program.plan.parts[self._id.sub_topology].topics.values()))
        index = waves.index(version.wave)
        return Version(version.batch, waves[index - 1]) if index else Version(version.batch - 1, waves[-1])

    def _bring_to(self, version: Version, now: int, global_state: GlobalState | None, at_least: Version | None) -> None:
        """Have the task as it was before a wave, by the changes that it lacks or from the beginning."""
        if self._clean is None or self._clean >= self._before(version) or not self._follow(version, at_least):
            self.close()
            self._task = self._restore(version, now, global_state, at_least)

    def _follow(self, version: Version, at_least: Version | None) -> bool:
        """Apply what others did; False if the files do not go back as far as this copy."""
        task = self._running
        self._clean = None

        def apply(changes: dict[str, list[LogEntry]], progress: bytes) -> None:
            task.apply_changes(changes, progress)
            self._saved_progress = progress

        return self._files.follow(version, apply, at_least)

    def _fresh_directory(self) -> Path:
        """An empty directory: what a lane that was killed left is ahead of the files, and it may not quite be dead."""
        directory = state_directory(self._program, self._id)
        mine = directory / str(os.getpid())
        for left in directory.glob("*"):
            if left == mine or not (left.name.isdigit() and alive(int(left.name))):
                shutil.rmtree(left, ignore_errors=True)
        return mine

    def _restore(self, version: Version, now: int, global_state: GlobalState | None, at_least: Version | None) -> Task:
        program, task_id = self._program, self._id
        context = host_context(program.config, task_id.name, LaneContext, defaults=NO_THROTTLE)
        context.batch_time = now
        context.state_directory = self._directory = self._fresh_directory()
        context.partitions = {
            **program.plan.external,
            **{program.real_name(topic): count for topic, count in program.plan.internal.items()},
        }

        def restore(stores: Mapping[str, StateStore]) -> bytes | None:
            def apply(store: str, entries: list[LogEntry]) -> None:
                if store in stores:
                    stores[store].apply_changes(entries)
                    self._restored += len(entries)

            self._saved_progress = self._files.restore(version, apply, at_least)
            if self._saved_progress is None and program.origin is not None:
                self._saved_progress, count = self._changelog.rebuild(stores, program.origin)
                self._restored += count
                if self._saved_progress is not None:
                    logged = {name: store.snapshot() for name, store in stores.items() if store.logged}
                    self._files.write_origin(logged, self._saved_progress)
            return self._saved_progress

        return Task(
            program.topology,
            program.config,
            nodes=program.plan.parts[task_id.sub_topology].nodes,
            task_id=task_id.name,
            context=context,
            global_state=global_state,
            restore=restore,
        )
