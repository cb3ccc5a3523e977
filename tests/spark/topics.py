"""Topics that are not on any broker: each partition is a list of times."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import accumulate

from millstream.kafka.admin import Admin, Partition


class Times(Admin):
    """Answers as a broker would."""

    def __init__(self, times: Mapping[Partition, list[int]]) -> None:
        self.times = times
        self.requests = 0

    def there(self) -> dict[Partition, int]:
        """The end of each partition."""
        return {place: len(times) for place, times in self.times.items()}

    def offsets_for_times(
        self, times: Mapping[Partition, int], *, committed: bool | None = None
    ) -> dict[Partition, int | None]:
        self.requests += 1
        found: dict[Partition, int | None] = {}
        for place, time in times.items():
            at = bisect_left(list(accumulate(self.times[place], max)), time)
            found[place] = at if at < len(self.times[place]) else None
        return found

    def earliest_times(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return {place: self.times[place][0] for place in partitions if self.times[place]}

    def latest_times(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        self.requests += 1
        return {place: max(self.times[place]) for place in partitions if self.times[place]}
