"""Punctuation: functions that a processor has called as time goes by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

from millstream.processors.priority import PriorityQueue

#: Called with the current stream time or wall-clock time, in milliseconds.
Punctuator = Callable[[int], None]


class PunctuationType(Enum):
    """Which clock a schedule follows."""

    #: The greatest timestamp of the records taken so far; stands still without records.
    STREAM_TIME = "stream_time"
    #: The clock on the wall.
    WALL_CLOCK_TIME = "wall_clock_time"


class Cancellable:
    """A schedule, which can be ended."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        """Make no further calls; also from inside the punctuator."""
        self.cancelled = True


class Scheduled(Cancellable):
    """A schedule that a processor made.

    Args:
        interval_ms: how often it is due.
        type_: which clock it follows.
        punctuator: what is called. In a task that was moved it is the method of the same name.
    """

    def __init__(self, interval_ms: int, type_: PunctuationType, punctuator: Punctuator) -> None:
        super().__init__()
        self.interval_ms = interval_ms
        self.type = type_
        self.punctuator = punctuator


#: What can go along with a method's name.
Argument = str | bytes | int | float | bool | None


class CallName(NamedTuple):
    """A method of a processor, and the arguments it is called with before the time.

    Args:
        path: from the processor to the method: `remind`, or `inner.remind` where a processor wraps another one.
        arguments: what is fixed.
    """

    path: str
    arguments: tuple[Argument, ...] = ()


class Schedule(Scheduled):
    """A schedule in a task.

    Args:
        node: the node it belongs to.
        owner: which of the node's contexts it was made with; most nodes have one.
        interval_ms: how often it is due.
        type_: which clock it follows.
        punctuator: what the user gave.
        name: how another process finds what the user gave; None: it cannot.
        call: calls it on behalf of the node.
    """

    def __init__(
        self,
        node: str,
        owner: int,
        interval_ms: int,
        type_: PunctuationType,
        punctuator: Punctuator,
        name: CallName | None,
        call: Punctuator,
    ) -> None:
        super().__init__(interval_ms, type_, punctuator)
        self.node = node
        self.owner = owner
        self.name = name
        self.call = call
        self.due = 0
        #: How many without a name the node had made in `init` before it; -1: it was made later.
        self.place = -1


def first_due(type_: PunctuationType, interval: int, now: int, start: int | None) -> int:
    """When a new schedule is due.

    Without a start, a stream-time schedule is due as soon as stream time is known, a wall-clock one after one interval.
    With one it is due at the start, or else at the next whole number of intervals after it.

    Args:
        type_: the clock.
        interval: milliseconds between two calls.
        now: the clock's time.
        start: the anchor, in milliseconds.
    """
    if start is None:
        return 0 if type_ is PunctuationType.STREAM_TIME else now + interval
    if start >= now:
        return start
    return start + ((now - start) // interval + 1) * interval


class Punctuations:
    """The schedules of one clock in a task."""

    def __init__(self) -> None:
        self._queue: PriorityQueue[Schedule] = PriorityQueue()
        #: `(due, schedule)`, the next one first: cheap to look at after each record.
        self.entries = self._queue.entries
        #: The one that is being called, which is not among the entries.
        self.running: Schedule | None = None

    def add(self, due: int, schedule: Schedule) -> None:
        """Have a schedule called from that time on."""
        schedule.due = due
        self._queue.offer(due, schedule)

    def replace(self, schedules: Iterable[tuple[int, Schedule]]) -> None:
        """Have only these called. In the order of `entries`, they end up in just that order."""
        self._queue.clear()
        for due, schedule in schedules:
            self.add(due, schedule)

    def run(self, now: int, fire: Callable[[Schedule, int], None]) -> int:
        """Call what is due: every schedule at most once, however many intervals have passed. Answers how many."""
        fired = 0
        queue = self._queue
        while queue and queue.first <= now:  # type: ignore[operator]  # not empty
            schedule = queue.poll()
            if schedule.cancelled:
                continue
            self.running = schedule
            try:
                fire(schedule, now)
            finally:
                self.running = None
            fired += 1
            if not schedule.cancelled:
                due = schedule.due
                interval = schedule.interval_ms
                self.add(due + ((now - due) // interval + 1) * interval, schedule)
        return fired
