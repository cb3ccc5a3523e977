"""What a task has to remember beside its stores, as bytes.

It is a msgpack array:

    version       2
    stream time   of the task
    queues        of each input partition: topic, partition, its time, the offset of the next record (-1: none came
                  yet), until when (wall clock) the task waits for it (nil: it does not)
    clocks        node to the numbers its operator keeps (`Operator.clock`)
    schedules     those that are waited for, as notes (`millstream.task.saving.schedules`), in the order of the heaps:
                  first of stream time, then of the wall clock
    cancelled     notes of the other schedules that were made in `init`: all of these were cancelled

The same progress always gives the same bytes. Version 1, which is still read, knew only schedules that were made in
`init`, by their places there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from millstream.layouts import Versioned, decode_versioned
from millstream.processors.operator import Operator
from millstream.processors.user_context import HostContext
from millstream.task.queues import QueueGroup, QueueState
from millstream.task.saving.schedules import ScheduleKeeper, ScheduleNote

_VERSION: Final = 2


class Progress(Versioned, array_like=True, frozen=True):
    """The content of the bytes."""

    stream_time: int
    queues: list[QueueState]
    clocks: dict[str, list[int]]
    schedules: list[ScheduleNote]
    cancelled: list[ScheduleNote]


class _Progress1(Versioned, array_like=True, frozen=True):
    """The content of version 1. Schedules have node, place and when they are due; cancelled ones node and place."""

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
        self._schedules = ScheduleKeeper(context)

    def save(self) -> bytes:
        """The progress as it is."""
        clocks = {name: operator.clock() for name, operator in self._operators.items()}
        progress = Progress(
            _VERSION,
            self._context.stream_time,
            sorted(self._queues.states()),
            {name: clock for name, clock in clocks.items() if clock is not None},
            self._schedules.waiting(),
            self._schedules.cancelled(),
        )
        return msgspec.msgpack.encode(progress)

    def restore_times(self, progress: Progress) -> None:
        """Put back what user code can see in `init`: the times."""
        self._context.stream_time = progress.stream_time
        self._queues.restore(progress.queues)

    def restore_operators(self, progress: Progress, *, fresh: bool) -> None:
        """Put back what operators and schedules know, after `init`.

        Args:
            progress: of the other task.
            fresh: nothing has happened here since `init`. A schedule that the other task does not know is then one of
                a newer release of the application; else the other task has done with it.
        """
        for name, clock in progress.clocks.items():
            operator = self._operators.get(name)
            if operator is not None:
                operator.set_clock(clock)
        self._schedules.restore(progress.schedules, progress.cancelled, fresh=fresh)


def decode(data: bytes) -> Progress:
    """Read saved progress.

    Raises:
        StateStoreError: it is damaged, or of a later release.
    """
    what = "a task's progress"
    if _version(data) != 1:
        return decode_versioned(data, Progress, _VERSION, what)
    old = decode_versioned(data, _Progress1, 1, what)
    schedules = [
        ScheduleNote(node, place, due, wall_clock)
        for wall_clock, entries in ((False, old.stream_time_schedules), (True, old.wall_clock_schedules))
        for node, place, due in entries
        if (node, place) not in old.cancelled
    ]
    cancelled = [ScheduleNote(node, place) for node, place in old.cancelled]
    return Progress(_VERSION, old.stream_time, old.queues, old.clocks, schedules, cancelled)


def _version(data: bytes) -> int | None:
    try:
        return msgspec.msgpack.decode(data, type=Versioned).version
    except msgspec.MsgspecError:
        return None
