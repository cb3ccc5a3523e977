"""One task of a lane."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

from millstream.errors import MillstreamError, StateStoreError
from millstream.hosting.context import NO_THROTTLE, PlacedContext
from millstream.hosting.lanes import notes
from millstream.hosting.lanes.bundles import bundle_bytes, offset_at, pack, place_of, unpack
from millstream.hosting.lanes.query import HostedQuery, HostedTaskId
from millstream.hosting.lanes.reading.pace import MOST
from millstream.hosting.lanes.standing_by.standby import Warm, believed, followed, leave_behind
from millstream.hosting.old_times import OldTimes
from millstream.hosting.range_consumer import records_gone
from millstream.hosting.restoring import fill
from millstream.hosting.task_changes import LEAST_TIME, change_records, clocks_of, set_clocks
from millstream.hosting.task_note import decode as decode_task
from millstream.hosting.task_note import encode as encode_task
from millstream.hosting.whose import is_at
from millstream.kafka.admin import Admin, Partition
from millstream.state.store import StateStore
from millstream.task.context import host_context
from millstream.task.errors.handling import asks_about_refused
from millstream.task.globals import GlobalState
from millstream.task.records import OutputRecord, RawRecord
from millstream.task.task import Task
from millstream.task.watching.watch import Watch, watching
from millstream.topology.nodes import OffsetReset

log = logging.getLogger("millstream.lanes")

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
        global_state: the global stores, which it may read.
        warm: its stores as this lane had them in reserve; only the rest of the changelogs is read then.
    """

    def __init__(
        self,
        query: HostedQuery,
        task_id: HostedTaskId,
        note: bytes | None,
        directory: Path,
        on_lost: Callable[[HostedTask, MillstreamError], None],
        on_restored: Callable[[float], None],
        global_state: GlobalState | None = None,
        warm: Warm | None = None,
    ) -> None:
        self.query = query
        self.id = task_id
        self._on_lost = on_lost
        self._on_restored = on_restored
        #: Who looks at its work.
        self.watch: Watch | None = None
        # Of its own: one of the same name that nobody wants any more may not be closed yet.
        self._directory = directory / task_id.application / f"{task_id.name}-{next(_NUMBERS)}"
        self._warm = warm
        self._logs = {name: log for name, log in query.changelogs.items() if log.sub_topology == task_id.sub_topology}
        self._old_times = OldTimes(query.topology, self._logs, query.config)
        known = None if note is None else notes.decode(note)
        #: Topics between two parts of the topology, in which there are bundles, and how many partitions they have.
        self._between = {name: query.counts[name] for name in map(query.real_name, query.topology.internal_topics)}
        # A handler of one's own is asked about single records.
        self._packs = not asks_about_refused(query.config)
        self._bundle_bytes = bundle_bytes(query.config)
        self.next: dict[Partition, int] = {at: self._start(at, known) for at in task_id.inputs}
        #: Where inputs begin of which nothing was processed yet: offsets, or places (see `bundles`).
        self._starts = {at: self._place(at, offset, known) for at, offset in self.next.items()}
        #: The topics that its positions are of.
        self._ids = dict(query.input_ids)
        #: Whether there is something to commit. The first time, where it begins to read.
        self.is_dirty = note is None
        #: The inputs that have given something.
        self._has_read: set[Partition] = set()
        #: Whether it has done nothing yet, and how far its changelogs were read.
        self._is_untouched = True
        self._ends: Mapping[Partition, int] = {}
        #: Whether it has not come to all that it was given, the last time.
        self.is_cut = False
        self._held: list[OutputRecord] = []
        #: How many records it has written.
        self.written = 0
        self._restored = 0
        #: How many records it was given that others wrote, and how many of them by the last commit.
        self._given = self._read = 0
        interval = query.config.commit_interval
        self._interval = 0.0 if interval is None else interval.total_seconds()
        self._committed = time.monotonic()
        self._task = self._made(known, global_state)
        for topic, partition in task_id.inputs:
            self._task.assign(topic, partition)
        #: What it had done by the last commit; what it did since then is done again if it is let go.
        self.done = self.counted()

    # --- reading (see `inputs.Reader`)

    def reset_of(self, topic: str) -> OffsetReset:
        """Where to go on in a topic that does not have what comes next."""
        return self.query.reset_of(topic)

    def moved(self, partition: Partition) -> None:
        """It goes on elsewhere in a partition, and so perhaps in another topic of the same name."""
        self._starts[partition] = self._place(partition, self.next[partition], None)
        self._has_read.discard(partition)
        with suppress(MillstreamError), closing(Admin(self.query.config)) as admin:  # it may be away again
            self._ids |= admin.topic_ids({partition[0]})

    def lost(self, error: MillstreamError) -> None:
        """It cannot go on."""
        self._on_lost(self, error)

    def add(self, partition: Partition, messages: list[RawRecord]) -> int:
        """Take what was read; answers how many records that are."""
        self.is_dirty, self._is_untouched = True, False
        self._has_read.add(partition)
        if partition[0] in self._between:
            records = unpack(messages, self._starts[partition])
        else:
            records = messages
            self._given += len(records)
        self._task.add_records(*partition, records)
        return len(records)

    def is_full(self, partition: Partition) -> bool:
        """Whether so much of an input waits for another that it should be given no more."""
        return len(self.id.inputs) > 1 and self._task.waiting(*partition) > _MOST_WAITING

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

    def counted(self) -> dict[str, int]:
        """What it has done so far."""
        metrics = self._task.metrics
        return {
            "read": self._read,
            "processed": metrics.processed_records,
            "dropped": metrics.dropped_records,
            "punctuated": metrics.punctuations,
            "restored": self._restored,
            "written": self.written,
        }

    def details(self) -> dict[str, Any]:
        """What people are told of it."""
        return {
            **self.counted(),
            "stream_time": self._task.context.stream_time,
            "due": self._task.next_wall_clock_punctuation,
            "offsets": {f"{topic}-{partition}": at for (topic, partition), at in self.positions.items()},
        }

    @property
    def next_punctuation(self) -> int | None:
        """When a wall-clock punctuator is due next, in milliseconds."""
        return self._task.next_wall_clock_punctuation

    def process(self, has_all: Callable[[Partition], bool], most: int = MOST) -> None:
        """Process what can be processed now.

        Args:
            has_all: whether all that an input has now was taken; else it may be waited for.
            most: after so many records others have their turn; `MOST` if they take no time to speak of.
        """
        task, before = self._task, self.processed

        def lag(topic: str, partition: int) -> int | None:
            return 0 if has_all((topic, partition)) else None

        is_at(self.id.name)
        self.is_cut = False
        with watching(self.watch, task):
            if most < MOST:
                self._process_some(lag, most)
            elif len(self.id.inputs) == 1:
                task.process_all()
            else:
                while task.has_records and task.is_processable(lag):
                    task.process_until_one_is_empty()
        self.is_dirty |= self.processed > before
        self._held += task.take_outputs()

    def _process_some(self, lag: Callable[[str, int], int | None], most: int) -> None:
        """Process one record after the other, as each may take long."""
        task, waits = self._task, len(self.id.inputs) > 1
        for _ in range(most):
            if not task.has_records or (waits and not task.is_processable(lag)):
                return
            task.process_next()
            task.maybe_punctuate_stream_time()
        self.is_cut = task.has_records

    def punctuate(self) -> None:
        """Call the wall-clock punctuators that are due."""
        is_at(self.id.name)
        self._is_untouched = False
        if self._task.maybe_punctuate_wall_clock():
            self.is_dirty = True
            self._held += self._task.take_outputs()

    @property
    def positions(self) -> dict[Partition, int]:
        """Of each input, the offset of the next message to process, or of the one that it is in."""
        return {at: offset for at, (offset, _) in self._places().items()}

    def _places(self) -> dict[Partition, tuple[int, int]]:
        """Of each input, the offset of the next message, and how many of its records are left if it was begun."""
        found = self._task.positions
        return {
            at: offset_at(place) if at[0] in self._between else (place, 0)
            for at, start in self._starts.items()
            # What a task remembers of a topic that was made again is not of this one.
            for place in (max(found.get(at, -1), start) if at in self._has_read else start,)
        }

    @property
    def due_at(self) -> float:
        """When what it has to say should not wait any longer, by the monotonic clock."""
        return self._committed + self._interval

    def committed(self) -> None:
        """What it had to say is said."""
        self.is_dirty = False
        self._read = self._given
        self.done = self.counted()
        self._committed = time.monotonic()

    def finish(self, slots_topic: str) -> tuple[list[OutputRecord], bytes]:
        """All that it has to say since the last time, and its note, which is among it."""
        task, self._is_untouched = self._task, False
        is_at(self.id.name)
        with watching(self.watch, task, flushes=True):
            task.commit(until_clean=True)
        records = self._held + task.take_outputs()
        self.written += len(records)
        self._held = []
        if self._between and self._packs:
            records = pack(records, self._between, next(_NUMBERS), self._bundle_bytes)
        stores, stream_time = task.state_stores, task.context.stream_time
        self._old_times.look(stream_time)
        records += change_records(self._logs, self.id.partition, stores, task.take_changes(), stream_time)
        ids = {name: self.query.changelog_ids.get(name, "") for name in self._logs}
        said = encode_task(task.save(), clocks_of(self._logs, stores), ids)
        note = notes.encode(self._places(), said, self._ids)
        records.append((slots_topic, self.id.slot, self.id.key, note, max(stream_time, LEAST_TIME), None))
        return records, note

    @property
    def followed(self) -> set[Partition]:
        """The changelogs that others can go on from where its stores are."""
        return {(log.topic, self.id.partition) for log in followed(self.query, self.id).values()}

    def leave(self, ends: Mapping[Partition, int]) -> None:
        """Let it go after a commit, and leave its stores to the next lane on this machine that has it.

        Args:
            ends: where its changelogs end, which have nothing that it has not written, or read.
        """
        is_at(self.id.name)
        try:
            leave_behind(self.query, self.id, self._task.close_complete(), ends, self._warm, self._directory)
        finally:
            self._discard_warm()
            shutil.rmtree(self._directory, ignore_errors=True)

    def close(self) -> None:
        """Let it go; what was not committed is forgotten."""
        if self._is_untouched and self._ends and self.query.config.state_dir is not None:
            self.leave(self._ends)  # as it was found, or better
            return
        is_at(self.id.name)
        try:
            self._task.close(flush=False)
        finally:
            self._discard_warm()
            shutil.rmtree(self._directory, ignore_errors=True)

    # --- making it

    def _start(self, partition: Partition, known: notes.LaneNote | None) -> int:
        """Where to begin to read."""
        topic = partition[0]
        policy = self.query.starts.get(partition, 0)
        if known is None:
            return policy
        at = known.positions.get(topic, {}).get(partition[1], policy)
        now = self.query.input_ids.get(topic, "")
        if known.ids.get(topic, now) == now:
            return at
        if self.reset_of(topic) == "none":
            raise records_gone(partition, at, "the topic was made again")
        log.warning(
            "%s-%s: the topic was made again: it stood at offset %s and goes on at %s (offset reset: %s)",
            *(*partition, at, policy, self.reset_of(topic)),
        )
        return policy

    def _place(self, partition: Partition, offset: int, known: notes.LaneNote | None) -> int:
        """The same as a place, if there are bundles in the topic."""
        topic, number = partition
        if topic not in self._between:
            return offset
        begun = known is not None and known.positions.get(topic, {}).get(number) == offset
        return place_of(offset, known.left.get(topic, {}).get(number, 0) if known is not None and begun else 0)

    def _made(self, known: notes.LaneNote | None, global_state: GlobalState | None) -> Task:
        if known is None:  # whatever is in reserve is not of this task
            self._discard_warm()
        if self._warm is not None:
            try:
                return self._made_in(self._warm.path, known, global_state)
            except StateStoreError as error:
                log.warning("task %s: what was in reserve cannot be used: %s", self.id.name, error)
                self._discard_warm()
            except BaseException:
                self._discard_warm()
                raise
        return self._made_in(self._directory, known, global_state)

    def _discard_warm(self) -> None:
        warm, self._warm = self._warm, None
        if warm is not None:
            warm.discard()

    def _made_in(self, directory: Path, known: notes.LaneNote | None, global_state: GlobalState | None) -> Task:
        config = self.query.config
        context = host_context(config, self.id.name, PlacedContext, defaults=NO_THROTTLE)
        context.state_directory = directory
        context.partitions = self.query.counts

        def restore(stores: Mapping[str, StateStore]) -> bytes | None:
            return None if known is None else self._restore(stores, known)

        return Task(
            self.query.topology,
            config,
            nodes=self.id.nodes,
            task_id=self.id.name,
            context=context,
            global_state=global_state,
            restore=restore,
        )

    def _restore(self, stores: Mapping[str, StateStore], known: notes.LaneNote) -> bytes:
        note = decode_task(known.task)
        logs: dict[Partition, list[StateStore]] = {}
        for name, log in self._logs.items():
            now = self.query.changelog_ids.get(name, "")
            if note.changelogs.get(name, now) != now:  # a store that is not noted is new
                raise StateStoreError(
                    f"the changelog of store '{name}' is not the one that was written",
                    detail=f"{log.topic} was deleted and made again",
                    hint="begin anew: drop the query and create it again, or `millstream reset` the application",
                )
            logs.setdefault((log.topic, self.id.partition), []).append(stores[name])
        if logs:
            with closing(Admin(self.query.config)) as admin:
                # The very end: what is committed there may still lack the mark that says so, and is waited for.
                ends = admin.end_offsets(logs, committed=False)
                starts = {} if self._warm is None else believed(self._warm, self.query, admin, ends)
            ends |= {at: self._starts[at] for at in logs if at in self._starts}
            if self._warm is not None:
                self._warm.pour(stores)
            self._restored = fill(self.query.config, logs, ends, self._on_restored, starts)
            self._ends = ends
        set_clocks(self._logs, stores, note)
        return note.progress
