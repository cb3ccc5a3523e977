"""What somebody who looks at an application sees of its nodes: records, share of the time, the last records.

Nobody counts on the way of a record. Now and then, for some records in a row, Python tells which nodes they enter
(`tracing`); how many records there are in all is known of each chunk. A thread looks ten times a second at which node
the work is (`moments`). When nobody looks any more, both end.
"""

from __future__ import annotations

import itertools
import reprlib
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final

import msgspec

from millstream.task.task import Task
from millstream.task.watching.moments import moment
from millstream.task.watching.tracing import Trace

#: How long what was seen is shown.
_PERIOD_SECONDS: Final = 1.0
_PERIODS: Final = 8
#: The same work is traced once in this time; and in all, at most this part of the time goes into traces.
_TRACE_SECONDS: Final = 2.0
_TRACED_SHARE: Final = 0.01
#: Each look makes the work wait for another thread: on a busy machine that is long.
_LOOK_SECONDS: Final = 0.1
_NOBODY: Final = nullcontext()


class SeenRecord(msgspec.Struct, frozen=True):
    """A record that entered a node, as text."""

    key: str
    value: str
    timestamp: int


class SeenNode(msgspec.Struct, frozen=True):
    """What was seen of a node.

    Args:
        rate: about how many records enter it in a second.
        moments: how often the work was found to be there.
        last: some of the last records.
    """

    rate: float = 0.0
    moments: int = 0
    last: tuple[SeenRecord, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """What was seen of an application in the last seconds, in one process.

    Args:
        moments: how often somebody looked.
        busy: how often work was found in its tasks.
        nodes: by name.
    """

    moments: int = 0
    busy: int = 0
    nodes: dict[str, SeenNode] = {}


@dataclass
class _Work:
    """Work of one kind: records of a sub-topology, or what its caches held back; `total` of it, and what was traced."""

    total: int = 0
    traced: int = 0
    entries: Counter[str] = field(default_factory=Counter)

    def add(self, other: _Work) -> None:
        self.total += other.total
        self.traced += other.traced
        self.entries.update(dict(other.entries))


@dataclass
class _Period:
    """What was seen in about a second: by sub-topology, and whether it is a flush; by node."""

    begun: float
    works: dict[tuple[str, bool], _Work] = field(default_factory=dict)
    looks: int = 0
    moments: Counter[str | None] = field(default_factory=Counter)


class Watch:
    """Watches the tasks of an application that one thread of this process runs: the one that made it.

    Args:
        application: its id.
        clock: seconds that only go on.
    """

    def __init__(self, application: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._application = application
        self._clock = clock
        self._thread = threading.get_ident()
        self._until = 0.0
        self._looking: threading.Thread | None = None
        self._periods: deque[_Period] = deque(maxlen=_PERIODS)
        self._texts: dict[str, tuple[SeenRecord, ...]] = {}
        self._not_before: dict[tuple[str, bool], float] = {}
        self._free_at = 0.0

    @property
    def is_on(self) -> bool:
        """Whether somebody looks."""
        return self._clock() < self._until

    def look(self, seconds: float) -> None:
        """Watch for so long from now on; from any thread."""
        self._until = self._clock() + seconds
        if self._looking is None or not self._looking.is_alive():
            self._periods.clear()
            self._looking = threading.Thread(target=self._look, name="watching", daemon=True)
            self._looking.start()

    def at(self, task: Task, *, flushes: bool = False) -> AbstractContextManager[None]:
        """What is done in this context is work of a task: processing, or flushing its caches."""
        return self._at(task, flushes) if self.is_on else _NOBODY

    def seen(self) -> Seen:
        """What was seen lately."""
        periods = list(self._periods)
        if not periods:
            return Seen()
        seconds = max(self._clock() - periods[0].begun, _LOOK_SECONDS)
        moments: Counter[str | None] = Counter()
        works: dict[tuple[str, bool], _Work] = {}
        for period in periods:  # which others may change at the same time
            moments.update(dict(period.moments))
            for at, work in list(period.works.items()):
                works.setdefault(at, _Work()).add(work)
        entered: dict[str, float] = {}
        for work in works.values():
            factor = work.total / work.traced if work.traced else 1.0
            for node, count in work.entries.items():
                entered[node] = entered.get(node, 0.0) + count * factor
        nodes = {
            node: SeenNode(entered.get(node, 0.0) / seconds, moments[node], self._texts.get(node, ()))
            for node in {*entered, *moments, *self._texts}
            if node is not None
        }
        return Seen(sum(period.looks for period in periods), moments.total(), nodes)

    @contextmanager
    def _at(self, task: Task, is_flush: bool) -> Iterator[None]:
        kind = (task.context.task_id.partition("_")[0], is_flush)
        before, trace = _done(task, is_flush), None
        if self._clock() >= max(self._free_at, self._not_before.get(kind, 0.0)):
            trace = Trace(lambda: _done(task, is_flush))
            if is_flush:
                task.context.on_forwarding = trace.begin  # what caches write down before that would be traced in vain
            else:
                trace.begin()
        try:
            yield
        finally:
            task.context.on_forwarding = None
            work = self._period.works.setdefault(kind, _Work())
            work.total += _done(task, is_flush) - before
            if trace is not None:
                trace.end()
                self._take(trace, work, kind, before)

    def _take(self, trace: Trace, work: _Work, kind: tuple[str, bool], before: int) -> None:
        now = self._clock()
        self._free_at = now + trace.seconds / _TRACED_SHARE
        if not trace.entries:
            return
        self._not_before[kind] = now + _TRACE_SECONDS  # in between it is another's turn
        work.entries.update(trace.entries)
        work.traced += trace.done - before if kind[1] else trace.records
        for node, found in trace.last.items():
            self._texts[node] = tuple(
                SeenRecord(_text(key), _text(value), timestamp) for key, value, timestamp in reversed(found)
            )

    @property
    def _period(self) -> _Period:
        now = self._clock()
        if not self._periods or now >= self._periods[-1].begun + _PERIOD_SECONDS:
            self._periods.append(_Period(now))
        return self._periods[-1]

    def _look(self) -> None:
        for number in itertools.count():
            if not self.is_on:
                return
            period = self._period
            period.looks += 1
            found = moment(sys._current_frames().get(self._thread))
            if found is not None and found.application == self._application:
                period.moments[found.node] += 1
            time.sleep(_LOOK_SECONDS * (0.5 + (number * 7 % 11) / 10))  # not in step with the work


def watching(watch: Watch | None, task: Task, *, flushes: bool = False) -> AbstractContextManager[None]:
    """See `Watch.at`; nothing if nobody ever looked."""
    return _NOBODY if watch is None else watch.at(task, flushes=flushes)


def _done(task: Task, is_flush: bool) -> int:
    """A number that grows with the work: records processed; of a flush, records put out."""
    return task.waiting_outputs if is_flush else task.metrics.processed_records


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 200
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = 12
_SHORT.maxlevel = 4


def _text(thing: object) -> str:
    return _SHORT.repr(thing)
