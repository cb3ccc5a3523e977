"""A task's schedules, as notes from which a task elsewhere has them again."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from millstream.processors.context import log
from millstream.processors.punctuation import CallName, PunctuationType, Schedule
from millstream.processors.user_context import HostContext


class ScheduleNote(msgspec.Struct, array_like=True, frozen=True):
    """A schedule as bytes can have it.

    Args:
        node: whose it is.
        place: how many without a path the node had made in `init` before it; -1: it was made later. In version 1: how
            many it had made before it, with a path or without.
        due: when it is to be called next.
        wall_clock: which clock it follows.
        interval: milliseconds; 0 where that was not written down (version 1).
        cancelled: it is waited for, but not to be called.
        owner: which of the node's contexts it was made with.
        path: the name of the method that is called; None: it has none that is known elsewhere.
        arguments: what the method is called with before the time.
    """

    node: str
    place: int
    due: int = 0
    wall_clock: bool = False
    interval: int = 0
    cancelled: bool = False
    owner: int = 0
    path: str | None = None
    arguments: list[Any] = []

    @property
    def type(self) -> PunctuationType:
        """The clock it follows."""
        return PunctuationType.WALL_CLOCK_TIME if self.wall_clock else PunctuationType.STREAM_TIME

    @property
    def name(self) -> CallName | None:
        """How its callback is found."""
        return None if self.path is None else CallName(self.path, tuple(self.arguments))


class ScheduleKeeper:
    """Notes down the schedules of a task, and puts them back.

    A schedule with a name is the same in both tasks if node, name, interval and clock are, wherever it was made: a
    processor may well make those again in `init` that its stores tell of. One without is found by its place in `init`.
    """

    def __init__(self, context: HostContext) -> None:
        self._context = context

    def waiting(self) -> list[ScheduleNote]:
        """Notes of what is waited for and can be found again."""
        return [_note(schedule) for schedule in self._queued() if schedule.place >= 0 or schedule.name is not None]

    def cancelled(self) -> list[ScheduleNote]:
        """Notes of what `init` makes and nobody waits for."""
        queued = {id(schedule) for schedule in self._queued()}
        # When it would have been due is known only where it was cancelled.
        return [
            msgspec.structs.replace(_note(schedule), due=0)
            for schedule in self._initial()
            if id(schedule) not in queued
        ]

    def restore(self, waiting: list[ScheduleNote], cancelled: list[ScheduleNote], *, fresh: bool) -> None:
        """Have the schedules of the notes, and what else `init` made if nothing has happened since."""
        later = [schedule for schedule in self._queued() if schedule.place < 0]
        known = _Known(self._context.initial_schedules, later)
        restored: dict[PunctuationType, list[tuple[int, Schedule]]] = {type_: [] for type_ in PunctuationType}
        for note in waiting:
            schedule = known.claim(note)
            # What `init` made is for `init` to make again: a new release may have changed its mind.
            if schedule is None and not (fresh and note.place >= 0):
                schedule = self._made_again(note)
            if schedule is not None:
                schedule.cancelled = note.cancelled
                restored[schedule.type].append((note.due, schedule))
        for note in cancelled:
            schedule = known.claim(note)
            if schedule is not None:
                schedule.cancelled = True
        left = {id(schedule) for schedule in known.unclaimed()}
        for type_, punctuations in self._context.punctuations.items():
            added = [entry for entry in punctuations.entries if fresh and id(entry[1]) in left]
            punctuations.replace(restored[type_] + added)
        if not fresh:
            for schedule in known.unclaimed():
                schedule.cancelled = True

    def _made_again(self, note: ScheduleNote) -> Schedule | None:
        """A schedule that `init` does not make here."""
        name, contexts = note.name, self._context.user_contexts.get(note.node, [])
        if name is None:
            return None
        found = (
            contexts[note.owner].schedule_again(note.interval, note.type, name) if note.owner < len(contexts) else None
        )
        if found is None:
            log.warning(
                "node '%s' of task %s had scheduled its method %s, which is not there any more: it is not called again",
                note.node, self._context.task_id, name.path,
            )  # fmt: skip
        else:
            found.place = note.place
        return found

    def _initial(self) -> Iterator[Schedule]:
        return chain.from_iterable(self._context.initial_schedules.values())

    def _queued(self) -> Iterator[Schedule]:
        for type_ in PunctuationType:
            for _, schedule in self._context.punctuations[type_].entries:
                yield schedule


class _Known:
    """Schedules that notes may mean. Each is meant by one note at most."""

    def __init__(self, initial: Mapping[str, list[Schedule]], later: list[Schedule]) -> None:
        self._schedules = [*chain.from_iterable(initial.values()), *later]
        self._claimed: set[int] = set()
        self._by: dict[Hashable, deque[Schedule]] = defaultdict(deque)
        for schedule in self._schedules:
            self._by[_identity(_note(schedule))].append(schedule)
        for node, schedules in initial.items():
            for place, schedule in enumerate(schedules):
                self._by[node, place].append(schedule)  # for notes of version 1

    def claim(self, note: ScheduleNote) -> Schedule | None:
        """The schedule that a note means."""
        candidates = self._by.get(_identity(note) if note.interval else (note.node, note.place))
        while candidates:
            schedule = candidates.popleft()
            if id(schedule) not in self._claimed:
                self._claimed.add(id(schedule))
                return schedule
        return None

    def unclaimed(self) -> list[Schedule]:
        """Those that no note has meant."""
        return [schedule for schedule in self._schedules if id(schedule) not in self._claimed]


def _identity(note: ScheduleNote) -> Hashable:
    place = note.place if note.path is None else None
    # 1, 1.0 and True are equal, and different arguments.
    arguments = tuple((type(argument), argument) for argument in note.arguments)
    return note.node, note.owner, note.path, arguments, place, note.interval, note.wall_clock


def _note(schedule: Schedule) -> ScheduleNote:
    name = schedule.name
    return ScheduleNote(
        schedule.node,
        schedule.place,
        schedule.due,
        schedule.type is PunctuationType.WALL_CLOCK_TIME,
        schedule.interval_ms,
        schedule.cancelled,
        schedule.owner,
        None if name is None else name.path,
        [] if name is None else list(name.arguments),
    )
