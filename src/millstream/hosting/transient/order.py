"""Records of several partitions by time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from math import inf

from millstream.hosting.transient.places import Partition
from millstream.task.records import RawRecord

#: A partition of which so many wait is not read on for now.
_MANY = 10_000


class TimeOrder:
    """Keeps records back as long as a partition that is still behind may have earlier ones."""

    def __init__(self) -> None:
        self._waiting: dict[Partition, deque[RawRecord]] = {}
        self._latest: dict[Partition, int] = {}

    def add(self, partition: Partition, records: list[RawRecord]) -> None:
        """Take records that were read."""
        self._waiting.setdefault(partition, deque()).extend(records)
        latest = max(record[2] for record in records)
        self._latest[partition] = max(latest, self._latest.get(partition, latest))

    def take(
        self, partitions: Iterable[Partition], is_behind: Callable[[Partition], bool]
    ) -> Iterator[tuple[Partition, list[RawRecord]]]:
        """What no partition can have anything earlier than.

        Args:
            partitions: all that are read.
            is_behind: whether one has records that were not read yet.
        """
        if not self._waiting:
            return
        horizon = min((self._latest.get(at, -inf) for at in partitions if is_behind(at)), default=inf)
        for partition, waiting in list(self._waiting.items()):
            ready = []
            while waiting and waiting[0][2] <= horizon:
                ready.append(waiting.popleft())
            if not waiting:
                del self._waiting[partition]
            if ready:
                yield partition, ready

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept back."""
        return not self._waiting

    def crowded(self) -> set[Partition]:
        """The partitions of which enough is here."""
        return {partition for partition, waiting in self._waiting.items() if len(waiting) >= _MANY}
