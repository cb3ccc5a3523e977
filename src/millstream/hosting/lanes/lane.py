"""A lane: one loop that reads, processes and commits for all tasks whose slots it has.

What it does for one query has no say in another: each task's outputs are held back until the commit, so that a task
that fails is taken out with what it did, and built anew from its last note while the others go on.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from millstream.hosting.lanes.committing import Committing
from millstream.hosting.lanes.figures import figures_of
from millstream.hosting.lanes.global_tables import GlobalTables
from millstream.hosting.lanes.hosted_task import HostedTask
from millstream.hosting.lanes.keeping import Keeping, KnownQuery
from millstream.hosting.lanes.membership import Membership
from millstream.hosting.lanes.messages import (
    Close,
    Event,
    Join,
    Look,
    Looked,
    Order,
    Pause,
    Ready,
    Resume,
    Run,
    Stop,
    Stopped,
    Watched,
)
from millstream.hosting.lanes.query import HostedQuery
from millstream.hosting.lanes.reading.feed import Feed
from millstream.hosting.lanes.reading.inputs import Inputs
from millstream.hosting.lanes.reading.pace import Pace
from millstream.hosting.lanes.settings import LaneSettings
from millstream.hosting.lanes.writing.outputs import Outputs
from millstream.hosting.lanes.writing.plain_outputs import PlainOutputs
from millstream.hosting.producing.refusals import raise_if_deleted
from millstream.hosting.rubbish import Rubbish

_IDLE_SECONDS = 0.1
#: While other threads get tasks ready.
_MAKING_SECONDS = 0.02
#: While there is work, figures are told so often; when it is done, a little after the last time.
_FIGURES_SECONDS = 1.0
_LAST_FIGURES_SECONDS = 0.2


class Lane:
    """See the module.

    Args:
        settings: which lane it is.
        tell: hears of events, in the lane's thread.
    """

    def __init__(self, settings: LaneSettings, tell: Callable[[Event | Ready], None]) -> None:
        self._settings = settings
        self._tell = tell
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._inputs = Inputs(lambda: Feed(settings.config))
        self._outputs: Outputs | PlainOutputs
        if settings.config.exactly_once:
            self._outputs = Outputs(settings.config, f"{settings.service}-{settings.name}", self._raise_if_deleted)
        else:
            self._outputs = PlainOutputs(settings.config, settings.topic)
        self._keeping = Keeping(settings, self._inputs, tell)
        self._pace = Pace()
        #: Whether tasks have records that they have not come to.
        self._is_cut = False
        self._told_figures = 0.0
        #: When the next wall-clock punctuator is due, in milliseconds.
        self._due: int | None = None
        #: Whether it has said that it is ready to join the others, and whether it was told to.
        self._is_ready = False
        self._joins = not settings.is_application
        self._closing = False

    def order(self, order: Order) -> None:
        """Have the lane do something; from any thread."""
        self._orders.put(order)

    def abandon(self) -> None:
        """Leave no files behind: the process is about to end as it is; from any thread."""
        self._keeping.remove_files()

    def run(self) -> None:
        """Work until told to close."""
        settings, keeping = self._settings, self._keeping
        self._outputs.open()
        membership = Membership(settings, may_join=self._may_join, gained=keeping.gain, lost=self._lost)
        self._committing = Committing(
            settings,
            keeping,
            self._outputs,
            membership,
            self._tell,
        )
        try:
            with Rubbish() as rubbish:
                while not self._closing:
                    self._heed_orders()
                    membership.poll(0)
                    if keeping.read_notes():
                        self._committing.notes_were_read()
                    keeping.make_tasks()
                    if keeping.take_made():
                        self._committing.wanted()
                    came = self._work()
                    if self._committing.commit_if_due(came, is_behind=self._inputs.is_behind):
                        rubbish.clear()
                    self._tell_figures(is_idle=not came and not self._committing.is_needed)
                    keeping.purge()
                self._committing.commit()
            keeping.leave(membership.is_still_of)
        finally:
            keeping.close()
            self._outputs.close()
            self._inputs.close()
            membership.close()

    def _may_join(self) -> bool:
        """Whether to join the others. Lanes of an application do so together: else tasks would move at once."""
        if self._settings.is_application and not self._keeping.queries:
            return False
        if not self._keeping.may_join():
            return False
        if not self._joins and not self._is_ready:
            self._is_ready = True
            self._inputs.meet({at[0] for known in self._keeping.queries.values() for at in known.query.external_inputs})
            self._tell(Ready())
        return self._joins

    def _lost(self, slots: set[int], in_time: bool) -> None:
        if in_time:
            self._committing.before_leaving()
        self._keeping.lose(slots, until_told=not in_time)

    # --- orders

    def _heed_orders(self) -> None:
        with suppress(queue.Empty):
            if not self._joins:  # until then there is nothing else to wait for
                self._heed(self._orders.get(timeout=_IDLE_SECONDS))
            while True:
                self._heed(self._orders.get_nowait())

    def _heed(self, order: Order) -> None:
        match order:
            case Run(query):
                self._run_query(query)
            case Stop(query_id, for_good):
                self._stop_query(query_id, for_good=for_good)
            case Pause(query_id):
                self._set_paused(query_id, paused=True)
            case Resume(query_id):
                self._set_paused(query_id, paused=False)
            case Look(query_id, seconds):
                self._keeping.watch(query_id, seconds)
            case Join():
                self._joins = True
            case Close():
                self._closing = True

    def _run_query(self, query: HostedQuery) -> None:
        queries = self._keeping.queries
        replaced = queries.get(query.id)
        if replaced is not None:
            self._committing.commit()
            self._keeping.close_tasks(replaced)
        queries[query.id] = KnownQuery(
            query,
            is_paused=replaced is not None and replaced.is_paused,
            key_places=query.key_places() if self._settings.is_application else None,
        )

    def _stop_query(self, query_id: str, *, for_good: bool) -> None:
        known = self._keeping.queries.get(query_id)
        if known is not None:
            if not for_good:
                self._committing.commit()
            self._keeping.close_tasks(known)
            del self._keeping.queries[query_id]
        if known is not None and for_good:
            self._committing.forget(known.query)
        else:
            self._tell(Stopped(query_id))

    def _set_paused(self, query_id: str, *, paused: bool) -> None:
        known = self._keeping.queries.get(query_id)
        if known is None or known.is_paused == paused:
            return
        known.is_paused = paused
        for task in known.tasks.values():
            for partition in task.id.inputs:
                if paused:
                    self._inputs.remove(task, partition)
                else:
                    self._inputs.add(task, partition)

    # --- work

    def _work(self) -> int:
        """Process what has come, or some of it if that takes long; answers how many records that were."""
        keeping, count, touched = self._keeping, 0, dict[HostedTask, None]()
        seconds = min(self._committing.patience, _IDLE_SECONDS) if self._committing.is_needed else _IDLE_SECONDS
        if not self._joins:
            seconds = 0.0
        elif keeping.is_making:
            seconds = min(seconds, _MAKING_SECONDS)
        if self._due is not None:
            seconds = min(seconds, max(0.0, self._due / 1000 - time.time()))
        # What was given to tasks comes first: it may take long.
        polled = () if self._is_cut else self._inputs.poll(seconds, self._pace.messages)
        for reader, partition, records in polled:
            task: HostedTask | GlobalTables = reader  # type: ignore[assignment]  # there are no other readers
            known = keeping.queries.get(task.query.id)
            if known is None or not known.has(task):  # it failed just now
                continue
            try:
                count += task.add(partition, records)
            except Exception as error:
                keeping.fail(known, error)
                continue
            if isinstance(task, GlobalTables):
                continue
            if known.key_places is not None:
                known.key_places.look(partition, records)
            touched[task] = None
            if task.is_full(partition):
                self._inputs.remove(task, partition)
        self._pace.came(self._inputs.came, count)
        begun, processed, self._is_cut = time.monotonic(), 0, False
        now = int(time.time() * 1000)
        self._due = None
        for known, task in keeping.tasks():
            if known.is_paused:
                continue
            due = task.next_punctuation
            is_due = due is not None and due <= now
            if is_due or task in touched or task.has_records:
                processed += self._process(known, task, punctuates=is_due)
                self._is_cut |= task.is_cut
                due = task.next_punctuation
            if due is not None and (self._due is None or due < self._due):
                self._due = due
        self._pace.took(processed, time.monotonic() - begun)
        if touched:
            self._committing.wanted()
        return max(count, processed)

    def _process(self, known: KnownQuery, task: HostedTask, *, punctuates: bool) -> int:
        """Have a task work; answers how many records it has processed."""
        before = task.processed
        full = [partition for partition in task.id.inputs if task.is_full(partition)]
        try:
            task.process(partial(self._inputs.has_all, task), self._pace.most)
            if punctuates:
                task.punctuate()
        except Exception as error:
            self._keeping.fail(known, error)
            return 0
        if task.is_dirty:
            self._committing.wanted()
        for partition in full:
            if not task.is_full(partition):
                self._inputs.add(task, partition)
        return task.processed - before

    def _raise_if_deleted(self) -> None:
        """Raise an error if a topic that queries write is gone."""
        for known in self._keeping.queries.values():
            raise_if_deleted(known.query.config, known.query.topology)

    # --- telling

    def _tell_figures(self, *, is_idle: bool) -> None:
        now = time.monotonic()
        if now < self._told_figures + (_LAST_FIGURES_SECONDS if is_idle else _FIGURES_SECONDS):
            return
        self._told_figures = now
        for query_id, known in self._keeping.queries.items():
            if known.watch is not None and known.watch.is_on:
                self._tell(Watched(query_id, known.watch.seen()))
            standbys, is_settled = self._keeping.standby_lags(query_id), self._keeping.is_settled(known)
            keys = None if known.key_places is None else known.key_places.take()
            if keys is not None:
                self._tell(Looked(query_id, keys))
            if is_idle:
                self._committing.tell_reached(known, self._inputs)
            figures = figures_of(known, self._inputs, standbys, is_settled=is_settled)
            if figures.counted.get("processed"):
                figures = replace(figures, commits=self._committing.commits, times=self._committing.times)
            if figures != known.told:
                known.told = figures
                self._tell(figures)
