"""Topics that are not on any broker: each partition is a list of times."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from millstream.kafka.admin import Admin, Partition
from millstream.spark.driver.lookahead import Lookahead
from millstream.task.records import RawRecord


class Times(Admin):
    """Answers as a broker would."""

    def __init__(self, times: Mapping[Partition, list[int]]) -> None:
        self.times = times
        self.requests = 0
        #: How many records were read for their times.
        self.looked_through = 0

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

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, tuple[int, int]]:
        self.requests += 1
        return {
            place: (self.times[place].index(max(self.times[place])), max(self.times[place]))
            for place in partitions
            if self.times[place]
        }

    def lookahead(self) -> Lookahead:
        """One that reads these topics."""
        return Lookahead(lambda: _Records(self))


class _Records:
    """Reads records of which only the times matter."""

    def __init__(self, topics: Times) -> None:
        self._topics = topics

    def read(self, ranges: Mapping[Partition, tuple[int, int]]) -> Iterator[tuple[Partition, list[RawRecord]]]:
        for place, (start, end) in ranges.items():
            times = self._topics.times[place][start:end]
            self._topics.looked_through += len(times)
            yield place, [(None, None, time, None, offset) for offset, time in enumerate(times, start)]

    def close(self) -> None:
        pass
