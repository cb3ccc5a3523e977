"""Where a batch ends that cannot take all there is: at one time, in all partitions whose records meet.

A task takes the records of its partitions by time. If a batch ended after so many records of each, one partition could
be hours ahead of another, and records of the other would be late that are not. So a batch of such topics takes what
comes before a time, its horizon. A task that takes one such batch after the other takes its records in the same order
as if it had all of them at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from millstream.kafka.admin import Admin, Partition

Offsets = Mapping[Partition, int]

#: A batch may be so much smaller than allowed: finding a better horizon takes requests.
_GOOD_ENOUGH = 0.5
_TRIES = 24


@dataclass
class _Group:
    """Partitions that have one horizon."""

    partitions: frozenset[Partition]
    #: The last horizon; None before the first.
    reached: int | None = None
    #: How far the next is likely to be from it.
    step: int = 0


class Horizon:
    """Finds the ends of batches.

    Args:
        groups: partitions whose records meet.
        admin: asks which offsets are before a time.
    """

    def __init__(self, groups: Iterable[Collection[Partition]], admin: Admin) -> None:
        self._groups = [_Group(frozenset(partitions)) for partitions in groups]
        self._admin = admin

    def ends(self, starts: Offsets, waiting: Offsets, share: float) -> dict[Partition, int]:
        """The ends of a batch.

        Args:
            starts: where the batch starts.
            waiting: how many records there are from there on.
            share: the part of them that the batch may take.
        """
        ends = {place: starts[place] + _some(count, share) for place, count in waiting.items()}
        if share < 1:
            for group in self._groups:
                there = {place: waiting[place] for place in group.partitions if waiting.get(place)}
                if len(there) > 1:
                    ends.update(self._within(group, starts, there, share))
        return ends

    def _within(self, group: _Group, starts: Offsets, waiting: Offsets, share: float) -> dict[Partition, int]:
        allowed = max(1.0, share * sum(waiting.values()))
        first = low = self._lowest(waiting) if group.reached is None else group.reached
        high = max([low, *self._admin.latest_times(waiting).values()]) + 1
        fits: dict[Partition, int] = {}
        # All of it, which is too much.
        over = {place: starts[place] + count for place, count in waiting.items()}
        horizon = low + group.step if 0 < group.step < high - low else (low + high) // 2
        for _ in range(_TRIES):
            if horizon <= low:
                break
            ends = self._before(horizon, starts, waiting)
            taken = _taken(ends, starts)
            if taken > allowed:
                high, over = horizon, ends
            else:
                low, fits = horizon, ends
                if taken >= allowed * _GOOD_ENOUGH:
                    break
            horizon = (low + high) // 2
        group.reached = low
        taken = _taken(fits, starts)
        if taken == 0:
            # So many have the same time that any of them may come first.
            part = allowed / _taken(over, starts)
            return {place: starts[place] + _some(end - starts[place], part) for place, end in over.items()}
        group.step = max(1, int((low - first) * allowed / taken * (1 + _GOOD_ENOUGH) / 2))
        return fits

    def _before(self, horizon: int, starts: Offsets, waiting: Offsets) -> dict[Partition, int]:
        """Where the first record at or after a time is; a partition that was further before is to wait."""
        found = self._admin.offsets_for_times(dict.fromkeys(waiting, horizon))
        ends = {}
        for place, count in waiting.items():
            at, end = found[place], starts[place] + count
            ends[place] = end if at is None else max(starts[place], min(at, end))
        return ends

    def _lowest(self, partitions: Iterable[Partition]) -> int:
        times = self._admin.earliest_times(partitions)
        return min(times.values(), default=0)


def _some(count: int, share: float) -> int:
    """A share of some records; one at least."""
    return min(count, ceil(count * share))


def _taken(ends: Offsets, starts: Offsets) -> int:
    return sum(end - starts[place] for place, end in ends.items())
