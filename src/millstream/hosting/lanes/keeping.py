"""What a lane has: slots, the notes in them, and the tasks of queries that lie there."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.hosting.copartitioning import KeyPlaces
from millstream.hosting.error_parts import ErrorParts
from millstream.hosting.lanes import notes
from millstream.hosting.lanes.global_tables import GlobalTables
from millstream.hosting.lanes.hosted_task import HostedTask
from millstream.hosting.lanes.messages import Event, Failed, Figures
from millstream.hosting.lanes.query import HostedQuery, HostedTaskId
from millstream.hosting.lanes.reading.inputs import Inputs
from millstream.hosting.lanes.scratch import Scratch
from millstream.hosting.lanes.settings import LaneSettings
from millstream.hosting.lanes.standing_by.following import StandingBy
from millstream.hosting.lanes.standing_by.standby import left_behind
from millstream.kafka.admin import Admin, Partition
from millstream.kafka.errors import BrokerUnavailable
from millstream.task.globals import GlobalState
from millstream.task.watching.watch import Watch

log = logging.getLogger("millstream.lanes")

#: How long is waited before a query is tried again.
_AGAIN_SECONDS = 0.5
#: How often records between two parts of a topology that nobody needs any more are deleted.
_PURGE_SECONDS = 30.0


@dataclass(eq=False)
class KnownQuery:
    """A query, and what a lane has of it."""

    query: HostedQuery
    is_paused: bool = False
    tasks: dict[HostedTaskId, HostedTask] = field(default_factory=dict)
    making: dict[HostedTaskId, Future[HostedTask]] = field(default_factory=dict)
    #: How much is there of those that are being made, from 0 to 1.
    restored: dict[HostedTaskId, float] = field(default_factory=dict)
    #: What its tasks may read, where there are global tables.
    global_tables: GlobalTables | None = None
    making_globals: Future[GlobalTables] | None = None
    failures: int = 0
    #: Not before then is it tried again; None: not at all.
    not_before: float | None = 0.0
    told: Figures | None = None
    #: Somebody looks, or did.
    watch: Watch | None = None
    #: Looks at the first keys of its joined topics, if it is an application.
    key_places: KeyPlaces | None = None
    #: What tasks have done that are not here any more; see `HostedTask.counted`.
    counted: Counter[str] = field(default_factory=Counter)

    def has(self, reader: HostedTask | GlobalTables) -> bool:
        """Whether a reader is one of this query's, as it runs now."""
        if isinstance(reader, GlobalTables):
            return self.global_tables is reader
        return self.tasks.get(reader.id) is reader


class Keeping:
    """The tasks of a lane. They are made in other threads, as that may take long; all else is done in the lane's.

    Args:
        settings: which lane it is.
        inputs: what tasks read.
        tell: hears of queries that fail.
    """

    def __init__(self, settings: LaneSettings, inputs: Inputs, tell: Callable[[Event], None]) -> None:
        self._settings = settings
        self._inputs = inputs
        self._tell = tell
        state_dir = settings.config.state_dir
        self._scratch = Scratch(None if state_dir is None else Path(state_dir))
        self._maker = ThreadPoolExecutor(2, "making")
        self.queries: dict[str, KnownQuery] = {}
        self._slots: set[int] = set()
        self._standing_by: StandingBy | None = None
        if settings.config.num_standby_replicas:
            self._standing_by = StandingBy(settings, self._hosted, lambda: self._slots, self._scratch.path)
            self._standing_by.start()
        self._has_joined = False
        #: The notes in its slots, once they are read.
        self.notes: dict[int, dict[bytes, bytes]] = {}
        self._reading: Future[dict[int, dict[bytes, bytes]]] | None = None
        #: The slots whose notes are being read, without those that were lost meanwhile.
        self._reading_for: set[int] = set()
        self._not_before = 0.0
        self._purged_at = time.monotonic()
        #: How far records between two parts of topologies are deleted.
        self._purged: dict[Partition, int] = {}

    # --- slots

    def may_join(self) -> bool:
        """Whether the lane may join the others; before that, it gets to know what it is likely to get."""
        return self._standing_by is None or self._standing_by.joining.is_over

    @property
    def unread(self) -> set[int]:
        """Slots that are this lane's, and whose notes it does not know yet."""
        return self._slots - self.notes.keys()

    @property
    def is_making(self) -> bool:
        """Whether notes are being read, or tasks made."""
        return self._reading is not None or any(known.making or known.making_globals for known in self.queries.values())

    def gain(self, slots: set[int]) -> None:
        """Have these slots from now on."""
        if slots:
            log.info("%d slots more", len(slots))
        self._has_joined = True
        self._slots = self._slots | slots  # another thread may be going through the old ones
        self._look_soon()

    def lose(self, slots: set[int], *, until_told: bool = False) -> None:
        """Have these slots no more.

        Args:
            slots: the slots.
            until_told: the group has shut this lane out, and it has to join again.
        """
        log.info("%d slots less", len(slots))
        self._has_joined = not until_told
        self._slots = self._slots - slots
        self._look_soon()
        self._reading_for -= slots
        self.doubt(slots)

    def doubt(self, slots: set[int]) -> None:
        """What is known of these slots may not be so: while they are this lane's, they are asked for and made anew."""
        for slot in slots:
            self.notes.pop(slot, None)
        for known in self.queries.values():
            for task_id in [task_id for task_id in (*known.tasks, *known.making) if task_id.slot in slots]:
                self.close_task(known, task_id)

    def read_notes(self) -> bool:
        """Get to know the tasks in slots that are new here; whether some were."""
        found = False
        if self._reading is not None and self._reading.done():
            reading, self._reading = self._reading, None
            try:
                self.notes |= {slot: known for slot, known in reading.result().items() if slot in self._reading_for}
                found = True
            except MillstreamError as error:
                log.warning("%s", error)
                self._not_before = time.monotonic() + _AGAIN_SECONDS
        if self.unread and self._reading is None and time.monotonic() >= self._not_before:
            settings, self._reading_for = self._settings, self.unread
            self._reading = self._maker.submit(
                notes.read_notes, settings.config, settings.group, settings.topic, self.unread
            )
        return found

    # --- tasks

    def tasks(self) -> Iterator[tuple[KnownQuery, HostedTask]]:
        """All tasks that are here; while they are gone through, some may go."""
        for known in list(self.queries.values()):
            for task in list(known.tasks.values()):
                if known.tasks.get(task.id) is task:
                    yield known, task

    def is_settled(self, known: KnownQuery) -> bool:
        """Whether all tasks of a query that should be here are."""
        if self._standing_by is not None and self._standing_by.joining.waits:
            return True
        if not self._has_joined or self.unread or known.making or known.making_globals or self._reading is not None:
            return False
        return all(task_id in known.tasks for task_id in known.query.tasks if task_id.slot in self._slots)

    def make_tasks(self) -> None:
        """Begin to make the tasks that should be here."""
        now = time.monotonic()
        for known in self.queries.values():
            if known.not_before is None or now < known.not_before:
                continue
            if not self._has_globals(known):
                continue
            for task_id in known.query.tasks:
                if task_id.slot in self.notes and task_id not in known.tasks and task_id not in known.making:
                    note = self.notes[task_id.slot].get(task_id.key)
                    known.restored[task_id] = 0.0
                    restored = partial(known.restored.__setitem__, task_id)
                    known.making[task_id] = self._maker.submit(
                        self._made,
                        known.query,
                        task_id,
                        note,
                        restored,
                        None if known.global_tables is None else known.global_tables.state,
                    )

    def _made(
        self,
        query: HostedQuery,
        task_id: HostedTaskId,
        note: bytes | None,
        restored: Callable[[float], None],
        global_state: GlobalState | None,
    ) -> HostedTask:
        """In another thread: a task, of what was in reserve for it if there is something."""
        directory = self._scratch.path
        if self._standing_by is not None:
            warm = self._standing_by.take(query, task_id)
        else:
            warm = left_behind(query, task_id, directory)
        return HostedTask(query, task_id, note, directory, self._cannot_read, restored, global_state, warm)

    def _hosted(self) -> list[HostedQuery]:
        """The queries that lanes run, for other threads."""
        return [known.query for known in list(self.queries.values())]

    def _look_soon(self) -> None:
        if self._standing_by is not None:
            self._standing_by.look_soon()

    def standby_lags(self, query_id: str) -> dict[str, int]:
        """Of the tasks of a query that are in reserve here, how many records each lacks."""
        return {} if self._standing_by is None else self._standing_by.lags(query_id)

    def _has_globals(self, known: KnownQuery) -> bool:
        """Whether the global tables of a query are there; else they are being made."""
        if known.global_tables is not None or not known.query.topology.global_stores:
            return True
        if known.making_globals is None:
            known.making_globals = self._maker.submit(GlobalTables, known.query, self._cannot_read)
        elif known.making_globals.done():
            making, known.making_globals = known.making_globals, None
            try:
                known.global_tables = tables = making.result()
            except Exception as error:
                self.fail(known, error)
                return False
            for partition in tables.next:
                self._inputs.add(tables, partition)
            return True
        return False

    def take_made(self) -> bool:
        """Begin with the tasks that are made; whether one of them has something to commit already."""
        is_dirty = False
        for known in list(self.queries.values()):
            for task_id, made in list(known.making.items()):
                if not made.done():
                    continue
                del known.making[task_id]
                try:
                    task = made.result()
                except Exception as error:
                    self.fail(known, error)
                    break
                log.info("query %s: task %s from %s", task_id.query, task_id.name, task.next)
                task.watch = known.watch
                known.tasks[task_id] = task
                is_dirty |= task.is_dirty
                if not known.is_paused:
                    for partition in task_id.inputs:
                        self._inputs.add(task, partition)
        return is_dirty

    def watch(self, query_id: str, seconds: float) -> None:
        """Have somebody look at the tasks of a query."""
        known = self.queries.get(query_id)
        if known is None:
            return
        if known.watch is None:
            known.watch = Watch(known.query.config.application_id)
            for task in known.tasks.values():
                task.watch = known.watch
        known.watch.look(seconds)

    def close_tasks(self, known: KnownQuery) -> None:
        """Let all tasks of a query go."""
        for task_id in (*known.tasks, *known.making):
            self.close_task(known, task_id)
        if known.making_globals is not None:
            known.making_globals.add_done_callback(_close_made)
            known.making_globals = None
        if known.global_tables is not None:
            tables, known.global_tables = known.global_tables, None
            for partition in tables.next:
                self._inputs.remove(tables, partition)
            with suppress(Exception):  # they are of no use any more
                tables.close()

    def close_task(self, known: KnownQuery, task_id: HostedTaskId) -> None:
        """Let a task go, with what it has not committed."""
        making = known.making.pop(task_id, None)
        if making is not None:
            making.add_done_callback(_close_made)
        task = known.tasks.get(task_id)
        if task is not None:
            self._forget(known, task)
            with suppress(Exception):  # it is of no use any more
                task.close()

    def _forget(self, known: KnownQuery, task: HostedTask) -> None:
        """Have a task no more, which is still to be closed."""
        del known.tasks[task.id]
        known.counted.update(task.done)
        for partition in task.id.inputs:
            self._inputs.remove(task, partition)

    def fail(self, known: KnownQuery, error: Exception) -> None:
        """Take a query out; it is tried again a little later, from where it last committed."""
        self.close_tasks(known)
        known.failures += not isinstance(error, BrokerUnavailable)  # it comes back
        final = known.failures > known.query.tries
        known.not_before = None if final else time.monotonic() + _AGAIN_SECONDS * 2**known.failures
        log.warning("query %s failed%s: %s", known.query.id, "" if final else ", tried again", error)
        self._tell(Failed(known.query.id, str(error), final, ErrorParts.of(error)))

    def _cannot_read(self, reader: HostedTask | GlobalTables, error: MillstreamError) -> None:
        self.fail(self.queries[reader.query.id], error)

    # --- repartition topics

    def purge(self) -> None:
        """Now and then, delete what was read from repartition topics, which keep everything else for ever."""
        now = time.monotonic()
        if now < self._purged_at + _PURGE_SECONDS:
            return
        self._purged_at = now
        read: dict[Partition, int] = {}
        for known, task in self.tasks():
            if not task.is_dirty:
                between = {known.query.real_name(topic) for topic in known.query.topology.internal_topics}
                read |= {at: offset for at, offset in task.positions.items() if at[0] in between}
        before = {at: offset for at, offset in read.items() if offset > self._purged.get(at, 0)}
        if before:
            self._purged = read
            self._maker.submit(_delete, self._settings.config, before)

    def leave(self, is_still_of: Callable[[Collection[int]], bool]) -> None:
        """Let tasks go after the last commit, and leave their stores to the next lane on this machine.

        Args:
            is_still_of: whether nobody else has had slots so far.
        """
        clean = [(known, task) for known, task in self.tasks() if not task.is_dirty]
        if self._settings.config.state_dir is None or not clean:
            return
        try:
            with closing(Admin(self._settings.config)) as admin:
                ends = admin.end_offsets({at for _, task in clean for at in task.followed}, committed=False)
        except MillstreamError as error:
            log.warning("tasks leave no files: %s", error)
            return
        # Asked afterwards: so all that the changelogs had was written here.
        if not is_still_of({task.id.slot for _, task in clean}):
            return
        for known, task in clean:
            self._forget(known, task)
            try:
                task.leave(ends)
            except Exception as error:  # the next one reads its changelogs
                log.warning("query %s: task %s leaves no files: %s", task.id.query, task.id.name, error)

    def close(self) -> None:
        """Let everything go."""
        for known in self.queries.values():
            self.close_tasks(known)
        self._maker.shutdown(wait=False, cancel_futures=True)
        if self._standing_by is not None:
            self._standing_by.close()
        self.remove_files()

    def remove_files(self) -> None:
        """Of all tasks; they are made anew wherever tasks are."""
        self._scratch.remove()


def _delete(config: StreamsConfig, before: dict[Partition, int]) -> None:
    try:
        with closing(Admin(config)) as admin:
            admin.delete_records(before)
    except MillstreamError as error:  # they are deleted the next time, or the topic is gone
        log.debug("%s", error)


def _close_made(made: Future[HostedTask] | Future[GlobalTables]) -> None:
    """Nobody wants a task any more that was made in the meantime."""
    if not made.cancelled() and made.exception() is None:
        with suppress(Exception):  # the lane may have ended, and its directory with it
            made.result().close()
