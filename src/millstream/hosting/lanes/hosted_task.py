"""One task of a lane."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path

from millstream.errors import MillstreamError, StateStoreError
from millstream.hosting.context import NO_THROTTLE, PlacedContext
from millstream.hosting.lanes import notes
from millstream.hosting.lanes.query import HostedQuery, HostedTaskId
from millstream.hosting.restoring import fill
from millstream.hosting.task_changes import LEAST_TIME, change_records, clocks_of, set_clocks
from millstream.hosting.task_note import decode as decode_task
from millstream.hosting.task_note import encode as encode_task
from millstream.kafka.admin import Admin, Partition
from millstream.state.store import StateStore
from millstream.task.context import host_context
from millstream.task.records import OutputRecord, RawRecord
from millstream.task.task import Task
from millstream.task.watching.watch import Watch, watching
from millstream.topology.nodes import OffsetReset

#: A task that waits for records of one input is not given more than so many of another.
_MOST_WAITING = 10_000
_NUMBERS = count()


class HostedTask:
    """A task, how far it has read, and what it has to say at the next commit.

    Made from its last note, and its changelogs, which may take long. After an error it is of no use any more.

    Args:
        query: whose task it is.
        task_id: which.
        note: the last one; None if it never ran.
        directory: where its persistent stores keep their files.
        on_lost: is told when an input cannot be read any more.
        on_restored: is told how much of its state is there, from 0 to 1.
    """

    def __init__(
        self,
        query: HostedQuery,
        task_id: HostedTaskId,
        note: bytes | None,
        directory: Path,
        on_lost: Callable[[HostedTask, MillstreamError], None],
        on_restored: Callable[[float], None],
    ) -> None:
        self.query = query
        self.id = task_id
        self._on_lost = on_lost
        self._on_restored = on_restored
        #: Who looks at its work.
        self.watch: Watch | None = None
        # Of its own: one of the same name that nobody wants any more may not be closed yet.
        self._directory = directory / task_id.application / f"{task_id.name}-{next(_NUMBERS)}"
        self._logs = {name: log for name, log in query.changelogs.items() if log.sub_topology == task_id.sub_topology}
        known = None if note is None else notes.decode(note)
        #: Where inputs begin of which nothing was processed yet.
        self._starts = {
            (topic, partition): query.starts.get((topic, partition), 0)
            if known is None
            else known.positions.get(topic, {}).get(partition, query.starts.get((topic, partition), 0))
            for topic, partition in task_id.inputs
        }
        self.next: dict[Partition, int] = dict(self._starts)
        #: Whether there is something to commit. The first time, where it begins to read.
        self.is_dirty = note is None
        self._held: list[OutputRecord] = []
        interval = query.config.commit_interval
        self._interval = 0.0 if interval is None else interval.total_seconds()
        self._committed = time.monotonic()
        self._task = self._made(known)
        for topic, partition in task_id.inputs:
            self._task.assign(topic, partition)

    # --- reading (see `inputs.Reader`)

    def reset_of(self, topic: str) -> OffsetReset:
        """Where to go on in a topic that does not have what comes next."""
        return self.query.reset_of(topic)

    def lost(self, error: MillstreamError) -> None:
        """It cannot go on."""
        self._on_lost(self, error)

    def add(self, partition: Partition, records: list[RawRecord]) -> None:
        """Take records."""
        self.is_dirty = True
        self._task.add_records(*partition, records)

    def is_full(self, partition: Partition) -> bool:
        """Whether so much of an input waits for another that it should be given no more."""
        return len(self.id.inputs) > 1 and self.next[partition] - self.positions[partition] > _MOST_WAITING

    # --- work

    @property
    def has_records(self) -> bool:
        """Whether something waits to be processed."""
        return self._task.has_records

    @property
    def held(self) -> int:
        """How many records are to be written at the next commit, so far."""
        return len(self._held)

    @property
    def processed(self) -> int:
        """How many records were processed."""
        return self._task.metrics.processed_records

    @property
    def dropped(self) -> int:
        """How many records could not be used."""
        return self._task.metrics.dropped_records

    @property
    def next_punctuation(self) -> int | None:
        """When a wall-clock punctuator is due next, in milliseconds."""
        return self._task.next_wall_clock_punctuation

    def process(self, has_all: Callable[[Partition], bool]) -> None:
        """Process what can be processed now.

        Args:
            has_all: whether all that an input has now was taken; else it may be waited for.
        """
        task, before = self._task, self.processed

        def lag(topic: str, partition: int) -> int | None:
            return 0 if has_all((topic, partition)) else None

        with watching(self.watch, task):
            if len(self.id.inputs) == 1:
                task.process_all()
            else:
                while task.has_records and task.is_processable(lag):
                    task.process_next()
        self.is_dirty |= self.processed > before
        self._held += task.take_outputs()

    def punctuate(self) -> None:
        """Call the wall-clock punctuators that are due."""
        if self._task.maybe_punctuate_wall_clock():
            self.is_dirty = True
            self._held += self._task.take_outputs()

    @property
    def positions(self) -> dict[Partition, int]:
        """Of each input, the offset of the next record to process."""
        found = self._task.positions
        return {at: max(found.get(at, -1), self._starts[at]) for at in self.id.inputs}

    @property
    def is_due(self) -> bool:
        """Whether what it has to say should not wait any longer."""
        return self.is_dirty and time.monotonic() - self._committed >= self._interval

    def committed(self) -> None:
        """What it had to say is said."""
        self.is_dirty = False
        self._committed = time.monotonic()

    def finish(self, slots_topic: str) -> tuple[list[OutputRecord], bytes]:
        """All that it has to say since the last time, and its note, which is among it."""
        task = self._task
        with watching(self.watch, task, flushes=True):
            task.commit(until_clean=True)
        records = self._held + task.take_outputs()
        self._held = []
        stores, stream_time = task.state_stores, task.context.stream_time
        records += change_records(self._logs, self.id.partition, stores, task.take_changes(), stream_time)
        ids = {name: self.query.changelog_ids.get(name, "") for name in self._logs}
        note = notes.encode(self.positions, encode_task(task.save(), clocks_of(self._logs, stores), ids))
        records.append((slots_topic, self.id.slot, self.id.key, note, max(stream_time, LEAST_TIME), None))
        return records, note

    def close(self) -> None:
        """Let it go; what was not committed is forgotten."""
        try:
            self._task.close(flush=False)
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    # --- making it

    def _made(self, known: notes.LaneNote | None) -> Task:
        config = self.query.config
        context = host_context(config, self.id.name, PlacedContext, defaults=NO_THROTTLE)
        context.state_directory = self._directory
        context.partitions = self.query.counts

        def restore(stores: Mapping[str, StateStore]) -> bytes | None:
            return None if known is None else self._restore(stores, known)

        return Task(
            self.query.topology,
            config,
            nodes=self.id.nodes,
            task_id=self.id.name,
            context=context,
            restore=restore,
        )

    def _restore(self, stores: Mapping[str, StateStore], known: notes.LaneNote) -> bytes:
        note = decode_task(known.task)
        logs: dict[Partition, list[StateStore]] = {}
        for name, log in self._logs.items():
            before, now = note.changelogs.get(name, ""), self.query.changelog_ids.get(name, "")
            if before != now:
                raise StateStoreError(
                    f"the changelog of store '{name}' is not the one that was written",
                    detail=f"{log.topic} was deleted and made again",
                    hint="drop the query and create it again",
                )
            logs.setdefault((log.topic, self.id.partition), []).append(stores[name])
        if logs:
            with closing(Admin(self.query.config)) as admin:
                # The very end: what is committed there may still lack the mark that says so, and is waited for.
                ends = admin.end_offsets(logs, committed=False)
            ends |= {at: self._starts[at] for at in logs if at in self._starts}
            fill(self.query.config, logs, ends, self._on_restored)
        set_clocks(self._logs, stores, note)
        return note.progress
