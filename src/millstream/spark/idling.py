"""`max_task_idle`: a task waits some time for an input partition that has no more records, then goes on without it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta

from millstream.kafka.admin import Admin, Partition

Offsets = Mapping[Partition, int]


class Idling:
    """Holds back records for which it is too early, as others with earlier times may still come.

    Args:
        tasks: the input partitions of each task that has several.
        longest: how long to wait.
        admin: asks for times and offsets.
    """

    def __init__(self, tasks: Iterable[Collection[Partition]], longest: timedelta, admin: Admin) -> None:
        self._tasks = [frozenset(partitions) for partitions in tasks]
        self._seconds = longest.total_seconds()
        self._admin = admin
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
            for place in partitions:
                if ends[place] > starts[place]:
                    self._since.pop(place, None)
            if any(ends[place] > starts[place] for place in partitions):
                found.update(self._of_task(partitions, starts, ends, now))
        return found

    def _of_task(
        self, partitions: frozenset[Partition], starts: Offsets, ends: Offsets, now: float
    ) -> dict[Partition, int]:
        latest = self._admin.latest_times(partitions)
        if len(latest) == len(partitions):
            later = self._admin.offsets_for_times(dict.fromkeys(partitions, min(latest.values()) + 1))
            allowed = {
                place: ends[place] if at is None else max(starts[place], min(at, ends[place]))
                for place, at in later.items()
            }
        else:  # one never had any record
            allowed = {place: starts[place] for place in partitions}
        empty = [place for place in partitions if allowed[place] == ends[place]]
        if len(empty) == len(partitions):
            return allowed
        waited = [now - self._since.setdefault(place, now) for place in empty]
        if all(seconds >= self._seconds for seconds in waited):
            return {place: ends[place] for place in partitions}
        return allowed
