"""What a task has to remember beside its stores, as bytes.

It is a msgpack array:

    version       1
    stream time   of the task
    queues        of each input partition: topic, partition, its time, the offset of the next record (-1: none came
                  yet), until when (wall clock) the task waits for it (nil: it does not)
    clocks        node to the numbers its operator keeps (`Operator.clock`)
    stream-time schedules, wall-clock schedules
                  of each: node, its place among those the node made in `init`, when it is due; in the order of the heap
    cancelled     of each schedule that was cancelled: node, and its place as above

The same progress always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from millstream.layouts import Versioned, decode_versioned
from millstream.processors.operator import Operator
from millstream.processors.punctuation import Punctuations, PunctuationType, Schedule
from millstream.processors.user_context import HostContext
from millstream.task.queues import QueueGroup, QueueState

_VERSION: Final = 1


class Progress(Versioned, array_like=True, frozen=True):
    """The content of the bytes."""

    stream_time: int
    queues: list[QueueState]
    clocks: dict[str, list[int]]
    stream_time_schedules: list[tuple[str, int, int]]
    wall_clock_schedules: list[tuple[str, int, int]]
    cancelled: list[tuple[str, int]]


class ProgressKeeper:
    """Collects a task's progress, and puts it back.

    Args:
        context: the task's context.
        queues: the task's queues.
        operators: the task's operators, by name.
    """

    def __init__(self, context: HostContext, queues: QueueGroup, operators: Mapping[str, Operator]) -> None:
        self._context = context
        self._queues = queues
        self._operators = operators

    def save(self) -> bytes:
        """The progress as it is."""
        context = self._context
        clocks = {name: operator.clock() for name, operator in self._operators.items()}
        places = {id(schedule): (node, index) for node, index, schedule in self._initial()}
        by_stream_time, by_wall_clock = (
            [(*places[id(schedule)], due) for due, schedule in punctuations.entries if id(schedule) in places]
            for punctuations in self._punctuations()
        )
        progress = Progress(
            _VERSION,
            context.stream_time,
            sorted(self._queues.states()),
            {name: clock for name, clock in clocks.items() if clock is not None},
            by_stream_time,
            by_wall_clock,
            [(node, index) for node, index, schedule in self._initial() if schedule.cancelled],
        )
        return msgspec.msgpack.encode(progress)

    def restore_times(self, progress: Progress) -> None:
        """Put back what user code can see in `init`: the times."""
        self._context.stream_time = progress.stream_time
        self._queues.restore(progress.queues)

    def restore_operators(self, progress: Progress) -> None:
        """Put back what operators and schedules know, after `init`."""
        for name, clock in progress.clocks.items():
            operator = self._operators.get(name)
            if operator is not None:
                operator.set_clock(clock)
        initial = {(node, index): schedule for node, index, schedule in self._initial()}
        cancelled = set(progress.cancelled)
        for place, schedule in initial.items():
            schedule.cancelled = place in cancelled
        saved = (progress.stream_time_schedules, progress.wall_clock_schedules)
        known = {(node, index) for entries in saved for node, index, _ in entries} | cancelled
        new = {id(schedule) for place, schedule in initial.items() if place not in known}
        for punctuations, entries in zip(self._punctuations(), saved, strict=True):
            # A release of the application with more schedules than the last one has some that were never saved.
            added = [entry for entry in punctuations.entries if id(entry[1]) in new]
            restored = [(due, initial[node, index]) for node, index, due in entries if (node, index) in initial]
            punctuations.replace(restored + added)

    def _initial(self) -> Iterator[tuple[str, int, Schedule]]:
        for node, schedules in self._context.initial_schedules.items():
            for index, schedule in enumerate(schedules):
                yield node, index, schedule

    def _punctuations(self) -> tuple[Punctuations, Punctuations]:
        found = self._context.punctuations
        return found[PunctuationType.STREAM_TIME], found[PunctuationType.WALL_CLOCK_TIME]


def decode(data: bytes) -> Progress:
    """Read saved progress.

    Raises:
        StateStoreError: it is damaged, or of a later release.
    """
    return decode_versioned(data, Progress, _VERSION, "a task's progress")
