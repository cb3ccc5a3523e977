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
from millstream.spark.driver.lookahead import Lookahead

Offsets = Mapping[Partition, int]

#: A batch may be so much smaller than allowed: finding a better horizon takes requests.
_GOOD_ENOUGH = 0.5


@dataclass
class _Group:
    """Partitions that have one horizon."""

    partitions: frozenset[Partition]
    #: The last horizon. The next is likely to be after it, but need not: one record can be far ahead of its time.
    reached: int = 0
    #: How far the next is likely to be from it; 0 before the first.
    step: int = 0


class Horizon:
    """Finds the ends of batches.

    Args:
        groups: partitions whose records meet.
        admin: asks which offsets are before a time.
        ahead: knows it where the broker does not.
    """

    def __init__(self, groups: Iterable[Collection[Partition]], admin: Admin, ahead: Lookahead) -> None:
        self._groups = [_Group(frozenset(partitions)) for partitions in groups]
        self._admin = admin
        self._ahead = ahead

    def ends(self, starts: Offsets, waiting: Offsets, share: float) -> dict[Partition, int]:
        """The ends of a batch.

        Args:
            starts: where the batch starts.
            waiting: how many records there are from there on.
            share: the part of them that the batch may take.
        """
        ends = {partition: starts[partition] + _some(count, share) for partition, count in waiting.items()}
        if share >= 1:
            self._ahead.close()
        else:
            for group in self._groups:
                there = {partition: waiting[partition] for partition in group.partitions if waiting.get(partition)}
                if len(there) > 1:
                    ends.update(self._within(group, starts, there, share))
        return ends

    def _within(self, group: _Group, starts: Offsets, waiting: Offsets, share: float) -> dict[Partition, int]:
        allowed = max(1.0, share * sum(waiting.values()))
        # All records are before the second, and that is too much. Either may be far off, by one odd record.
        low, high = 0, max((time for _, time in self._admin.latest(waiting).values()), default=0) + 1
        fits: dict[Partition, int] = {}
        over = {partition: starts[partition] + count for partition, count in waiting.items()}
        step, is_over = group.step, False
        while high - low > 1:
            likely = group.reached if low < group.reached < high - 1 else low
            horizon = likely + step if 0 < step < high - likely and not is_over else (likely + high) // 2
            ends = self._before(horizon, starts, waiting, int(allowed) + 1)
            taken = _taken(ends, starts)
            if taken > allowed:
                high, over, is_over = horizon, ends, True
            else:
                low, fits = horizon, ends
                step *= 2
                if taken >= allowed * _GOOD_ENOUGH:
                    break
        taken = _taken(fits, starts)
        if taken == 0:
            group.reached = low
            # So many have the same time that any of them may come first.
            part = allowed / _taken(over, starts)
            return {
                partition: starts[partition] + _some(end - starts[partition], part) for partition, end in over.items()
            }
        if not group.step:
            group.step = high - low
        elif low > group.reached:
            group.step = max(1, int((low - group.reached) * allowed / taken * (1 + _GOOD_ENOUGH) / 2))
        group.reached = low
        return fits

    def _before(self, horizon: int, starts: Offsets, waiting: Offsets, most: int) -> dict[Partition, int]:
        """Where the first record at or after a time is, among the next `most` records of each partition."""
        found = self._admin.offsets_for_times(dict.fromkeys(waiting, horizon))
        ends = {}
        for partition, count in waiting.items():
            at, start, end = found[partition], starts[partition], starts[partition] + count
            if at is not None and at < start:
                # One that was taken before. It says nothing of those that come next.
                at = self._ahead.first(partition, start, min(end, start + most), horizon)
            ends[partition] = end if at is None else min(at, end)
        return ends


def _some(count: int, share: float) -> int:
    """A share of some records; one at least."""
    return min(count, ceil(count * share))


def _taken(ends: Offsets, starts: Offsets) -> int:
    return sum(end - starts[partition] for partition, end in ends.items())
