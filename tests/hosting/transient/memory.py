"""Topics in memory that are read as those of a broker are: some records at a time, and news of ends."""

from __future__ import annotations

import threading
from collections.abc import Collection

from millstream.errors import MillstreamError
from millstream.hosting.transient.places import Partition, Places
from millstream.hosting.transient.reader import Batch, Reader
from millstream.kafka.errors import TopicMissing
from millstream.kafka.partitioner import partition_for
from millstream.task.records import RawRecord


class MemoryAccess:
    """See `TopicAccess`.

    Args:
        counts: the topics, and how many partitions they have.
        chunk: how many records of one partition are read at a time.
    """

    def __init__(self, counts: dict[str, int], chunk: int = 1000) -> None:
        self.changed = threading.Condition()
        self.counts: dict[str, int] = {}
        self.logs: dict[Partition, list[RawRecord]] = {}
        for topic, count in counts.items():
            self.add(topic, count)
        self.chunk = chunk
        self.failure: MillstreamError | None = None
        self.opened = 0
        self.closed = 0

    def add(self, topic: str, count: int) -> None:
        """Have another topic."""
        self.counts[topic] = count
        self.logs |= {(topic, number): [] for number in range(count)}

    def write(self, topic: str, key: bytes | None, value: bytes | None, timestamp: int = 0) -> None:
        """Append a record."""
        number = 0 if key is None else partition_for(key, self.counts[topic])
        with self.changed:
            log = self.logs[topic, number]
            log.append((key, value, timestamp, None, len(log)))
            self.changed.notify_all()

    def fail(self, error: MillstreamError) -> None:
        """Have readers fail."""
        with self.changed:
            self.failure = error
            self.changed.notify_all()

    def places(self, topics: Collection[str], *, from_beginning: bool) -> Places:
        if missing := set(topics) - set(self.counts):
            raise TopicMissing(f"missing topics {missing}")
        ends = {at: len(log) for at, log in self.logs.items() if at[0] in topics}
        return Places(dict.fromkeys(ends, 0) if from_beginning else ends, ends)

    def open(self, places: Places, *, waiting: int) -> Reader:
        self.opened += 1
        return MemoryReader(self, places)


class MemoryReader:
    """See `Reader`."""

    def __init__(self, access: MemoryAccess, places: Places) -> None:
        self._access = access
        self._position = dict(places.starts)
        self._held: set[Partition] = set()

    def read(self, seconds: float) -> Batch:
        with self._access.changed:
            # Shorter than it may be, so that tests need not wait for those who leave.
            self._access.changed.wait_for(lambda: self._access.failure or self._next(), min(seconds, 0.05))
            if self._access.failure is not None:
                raise self._access.failure
            at = self._next()
            if at is None:
                return {}
            start = self._position[at]
            records = self._access.logs[at][start : start + self._access.chunk]
            self._position[at] += len(records)
            return {at: records}

    def _next(self) -> Partition | None:
        return next((at for at in self._position if self.is_behind(at) and at not in self._held), None)

    def position(self, partition: Partition) -> int:
        return self._position[partition]

    def is_behind(self, partition: Partition) -> bool:
        return self._position[partition] < len(self._access.logs[partition])

    def hold(self, partitions: Collection[Partition]) -> None:
        self._held = set(partitions)

    def close(self) -> None:
        self._access.closed += 1
