"""A lane: one loop that reads, processes and commits for all tasks whose slots it has.

What it does for one query has no say in another: each task's outputs are held back until the commit, so that a task
that fails is taken out with what it did, and built anew from its last note while the others go on.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from millstream.hosting.lanes.committing import QUIET_SECONDS, Committing
from millstream.hosting.lanes.feed import Feed
from millstream.hosting.lanes.hosted_task import HostedTask
from millstream.hosting.lanes.inputs import Inputs
from millstream.hosting.lanes.keeping import Keeping, KnownQuery
from millstream.hosting.lanes.membership import Membership
from millstream.hosting.lanes.messages import (
    Close,
    Event,
    Figures,
    Look,
    Order,
    Pause,
    Resume,
    Run,
    Stop,
    Stopped,
    Watched,
)
from millstream.hosting.lanes.outputs import Outputs
from millstream.hosting.lanes.query import HostedQuery
from millstream.hosting.lanes.settings import LaneSettings

_IDLE_SECONDS = 0.1
_FIGURES_SECONDS = 1.0


class Lane:
    """See the module.

    Args:
        settings: which lane it is.
        tell: hears of events, in the lane's thread.
    """

    def __init__(self, settings: LaneSettings, tell: Callable[[Event], None]) -> None:
        self._settings = settings
        self._tell = tell
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._inputs = Inputs(lambda: Feed(settings.config))
        self._outputs = Outputs(settings.config, f"{settings.service}-{settings.name}")
        self._keeping = Keeping(settings, self._inputs, tell)
        self._told_figures = 0.0
        self._closing = False

    def order(self, order: Order) -> None:
        """Have the lane do something; from any thread."""
        self._orders.put(order)

    def run(self) -> None:
        """Work until told to close."""
        settings, keeping = self._settings, self._keeping
        self._outputs.open()
        membership = Membership(settings.config, settings.group, settings.topic, gained=keeping.gain, lost=self._lost)
        self._committing = Committing(settings.topic, keeping, self._outputs, membership, self._tell)
        try:
            while not self._closing:
                self._heed_orders()
                membership.poll(0)
                if keeping.read_notes():
                    self._committing.notes_were_read()
                keeping.make_tasks()
                if keeping.take_made():
                    self._committing.wanted()
                came = self._work()
                self._committing.commit_if_due(came)
                self._tell_figures()
                keeping.purge()
            self._committing.commit()
        finally:
            keeping.close()
            self._outputs.close()
            self._inputs.close()
            membership.close()

    def _lost(self, slots: set[int], in_time: bool) -> None:
        if in_time:
            self._committing.before_leaving()
        self._keeping.lose(slots)

    # --- orders

    def _heed_orders(self) -> None:
        with suppress(queue.Empty):
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
            case Close():
                self._closing = True

    def _run_query(self, query: HostedQuery) -> None:
        queries = self._keeping.queries
        replaced = queries.get(query.id)
        if replaced is not None:
            self._committing.commit()
            self._keeping.close_tasks(replaced)
        queries[query.id] = KnownQuery(query, is_paused=replaced is not None and replaced.is_paused)

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
        """Process what has come; answers how many records that were."""
        keeping, count, touched = self._keeping, 0, dict[HostedTask, None]()
        seconds = QUIET_SECONDS if self._committing.is_needed else _IDLE_SECONDS
        for reader, partition, records in self._inputs.poll(seconds):
            task: HostedTask = reader  # type: ignore[assignment]  # there are no other readers
            known = keeping.queries.get(task.id.query)
            if known is None or known.tasks.get(task.id) is not task:  # its query failed just now
                continue
            try:
                task.add(partition, records)
            except Exception as error:
                keeping.fail(known, error)
                continue
            count += len(records)
            touched[task] = None
            if task.is_full(partition):
                self._inputs.remove(task, partition)
        now = int(time.time() * 1000)
        for known, task in keeping.tasks():
            due = task.next_punctuation
            is_due = due is not None and due <= now
            if not known.is_paused and (is_due or task in touched or task.has_records):
                self._process(known, task, punctuates=is_due)
        if touched:
            self._committing.wanted()
        return count

    def _process(self, known: KnownQuery, task: HostedTask, *, punctuates: bool) -> None:
        full = [partition for partition in task.id.inputs if task.is_full(partition)]
        try:
            task.process(partial(self._inputs.has_all, task))
            if punctuates:
                task.punctuate()
        except Exception as error:
            self._keeping.fail(known, error)
            return
        if task.is_dirty:
            self._committing.wanted()
        for partition in full:
            if not task.is_full(partition):
                self._inputs.add(task, partition)

    # --- telling

    def _tell_figures(self) -> None:
        now = time.monotonic()
        if now < self._told_figures + _FIGURES_SECONDS:
            return
        self._told_figures = now
        for query_id, known in self._keeping.queries.items():
            if known.watch is not None and known.watch.is_on:
                self._tell(Watched(query_id, known.watch.seen()))
            positions: dict[str, int] = {}
            lags: dict[str, int] = {}
            for task in known.tasks.values():
                for (topic, partition), at in task.positions.items():
                    positions[f"{topic}-{partition}"] = at
                    lags[f"{topic}-{partition}"] = self._inputs.lag(task, (topic, partition), at)
            figures = Figures(
                query_id,
                tuple(task_id.name for task_id in known.tasks),
                sum(task.processed for task in known.tasks.values()),
                sum(task.dropped for task in known.tasks.values()),
                positions,
                lags,
                {task_id.name: round(known.restored.get(task_id, 0.0), 2) for task_id in known.making},
            )
            if figures != known.told:
                known.told = figures
                self._tell(figures)
