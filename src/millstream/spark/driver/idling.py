"""`max_task_idle`: a task waits some time for an input partition that has no more records, then goes on without it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta

from millstream.kafka.admin import Admin, Partition
from millstream.spark.driver.lookahead import Lookahead

Offsets = Mapping[Partition, int]

#: How many records are looked through at most to find their greatest time.
_MOST_AHEAD = 100_000


class Idling:
    """Holds back records for which it is too early, as others with earlier times may still come.

    Args:
        tasks: the input partitions of each task that has several.
        longest: how long to wait.
        admin: asks for times and offsets.
        ahead: knows them where the broker does not.
    """

    def __init__(
        self, tasks: Iterable[Collection[Partition]], longest: timedelta, admin: Admin, ahead: Lookahead
    ) -> None:
        self._tasks = [frozenset(partitions) for partitions in tasks]
        self._seconds = longest.total_seconds()
        self._admin = admin
        self._ahead = ahead
        #: The time of the last record before the end of partitions.
        self._last: dict[Partition, tuple[int, int | None]] = {}
        #: Since when partitions are waited for.
        self._since: dict[Partition, float] = {}

    def ends(self, starts: Offsets, ends: Offsets, now: float) -> dict[Partition, int]:
        """How far records may be taken now.

        Args:
            starts: where the next batch starts.
            ends: what is there.
            now: seconds since 1970.
        """
        found = dict(ends)
        for partitions in self._tasks:
            for partition in partitions:
                if ends[partition] > starts[partition]:
                    self._since.pop(partition, None)
            if any(ends[partition] > starts[partition] for partition in partitions):
                found.update(self._of_task(partitions, starts, ends, now))
        return found

    def _of_task(
        self, partitions: frozenset[Partition], starts: Offsets, ends: Offsets, now: float
    ) -> dict[Partition, int]:
        known = self._admin.latest(partitions)
        latest: dict[Partition, int] = {}
        limits = dict(ends)
        for partition in partitions & known.keys():
            at, time = known[partition]
            if at < starts[partition]:  # it was taken before, and may have been far ahead of its time
                limits[partition] = min(ends[partition], starts[partition] + _MOST_AHEAD)
                found = self._ahead.latest(partition, starts[partition], limits[partition])
                if found is None:
                    found = time if at == ends[partition] - 1 else self._last_time(partition, limits[partition])
                if found is None:
                    continue
                time = found
            latest[partition] = time
        if len(latest) == len(partitions):
            horizon = min(latest.values()) + 1
            later = self._admin.offsets_for_times(dict.fromkeys(partitions, horizon))
            allowed = {}
            for partition, offset in later.items():
                if offset is not None and offset < starts[partition]:
                    offset = self._ahead.first(partition, starts[partition], limits[partition], horizon)
                allowed[partition] = limits[partition] if offset is None else min(offset, limits[partition])
        else:  # one never had any record
            allowed = {partition: starts[partition] for partition in partitions}
        empty = [partition for partition in partitions if allowed[partition] == ends[partition]]
        if len(empty) == len(partitions):
            return allowed
        waited = [now - self._since.setdefault(partition, now) for partition in empty]
        if waited and all(seconds >= self._seconds for seconds in waited):
            return {partition: ends[partition] for partition in partitions}
        return allowed

    def _last_time(self, partition: Partition, end: int) -> int | None:
        """The time of the last record before an offset."""
        if self._last.get(partition, (-1, None))[0] != end:
            self._last[partition] = (end, self._ahead.last(partition, end))
        return self._last[partition][1]
