"""The times of records that come next, where the broker cannot say.

Asked for the first record at or after a time, a broker looks from the beginning of the log. One record that is far
ahead of its time, and was processed long ago, is then the answer to all later questions. So here the records from the
start on are read, each once, and only as far as a batch may go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from millstream.kafka.admin import Partition
from millstream.task.records import RawRecord

Numbers = npt.NDArray[np.int64]

#: Offsets that are read at a time.
_CHUNK = 10_000
_NONE: Numbers = np.empty(0, np.int64)


class Reader(Protocol):
    """What reads records: `RangeConsumer`."""

    def read(self, ranges: Mapping[Partition, tuple[int, int]]) -> Iterator[tuple[Partition, list[RawRecord]]]:
        """The records from the first to before the second offset, of each partition."""
        ...

    def close(self) -> None:
        """Leave."""


class _Seen:
    """What was read of a partition."""

    def __init__(self, start: int) -> None:
        self.offsets, self.times = _NONE, _NONE
        #: Up to where it was read.
        self.end = start

    def forget_before(self, start: int) -> None:
        if start > self.end:
            self.end = start
        first = int(np.searchsorted(self.offsets, start))
        self.offsets, self.times = self.offsets[first:], self.times[first:]

    def add(self, records: list[RawRecord]) -> None:
        offsets = np.fromiter((record[4] for record in records), np.int64, len(records))
        times = np.fromiter((record[2] for record in records), np.int64, len(records))
        self.offsets = np.concatenate([self.offsets, offsets])
        self.times = np.concatenate([self.times, times])


class Lookahead:
    """Reads times.

    Args:
        reader: makes what reads the records; only when there is something to read.
    """

    def __init__(self, reader: Callable[[], Reader]) -> None:
        self._make = reader
        self._reader: Reader | None = None
        self._seen: dict[Partition, _Seen] = {}
        #: Where each partition starts.
        self._starts: dict[Partition, int] = {}

    def first(self, partition: Partition, start: int, end: int, time: int) -> int:
        """The offset of the first record between two offsets that is at or after a time; the end if there is none."""
        seen = self._of(partition, start)
        while True:
            later = np.flatnonzero(seen.times >= time)
            if len(later):
                return min(end, int(seen.offsets[later[0]]))
            if seen.end >= end:
                return end
            self._read_on(partition, seen, end)

    def latest(self, partition: Partition, start: int, end: int) -> int | None:
        """The greatest time of the records between two offsets; None if there are no records."""
        seen = self._of(partition, start)
        while seen.end < end:
            self._read_on(partition, seen, end)
        times = seen.times[: int(np.searchsorted(seen.offsets, end))]
        return int(times.max()) if len(times) else None

    def last(self, partition: Partition, end: int) -> int | None:
        """The time of the last record before an offset; None if there is none."""
        span = 1
        while True:
            start = max(0, end - span)
            times = [record[2] for _, records in self._open().read({partition: (start, end)}) for record in records]
            if times or start == 0:
                return times[-1] if times else None
            span *= 16  # the last offsets may have no records, as where transactions end

    def close(self) -> None:
        """Forget all, until something is asked again."""
        self._seen.clear()
        self._starts.clear()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _of(self, partition: Partition, start: int) -> _Seen:
        if start < self._starts.get(partition, start):
            del self._seen[partition]
        self._starts[partition] = start
        seen = self._seen.setdefault(partition, _Seen(start))
        seen.forget_before(start)
        return seen

    def _read_on(self, partition: Partition, seen: _Seen, end: int) -> None:
        to = min(end, seen.end + _CHUNK)
        for _, records in self._open().read({partition: (seen.end, to)}):
            seen.add(records)
        seen.end = to

    def _open(self) -> Reader:
        if self._reader is None:
            self._reader = self._make()
        return self._reader
