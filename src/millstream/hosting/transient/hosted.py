"""A topology as the work of a reading loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.hosting.transient.order import TimeOrder
from millstream.hosting.transient.places import Partition, Places
from millstream.hosting.transient.reader import Batch, Reader
from millstream.hosting.transient.tasks import TaskSet
from millstream.topology.topology import Topology

#: How long to wait for records of a partition that is behind, before it is looked at again.
_WAITING_SECONDS = 0.25


class HostedTopology:
    """Runs a topology over records as they are read. See `Work`.

    Args:
        topology: what to run; its results leave it by its processors.
        config: the application's configuration.
        places: what it reads.
        to_end: whether that ends where the topics ended then.
        delivered: called after results may have come; False if no more are wanted.
        ended: called at the end, with the error if it was one.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        places: Places,
        *,
        to_end: bool,
        delivered: Callable[[], bool],
        ended: Callable[[MillstreamError | None], None],
    ) -> None:
        self._places = places
        self._to_end = to_end
        self._delivered = delivered
        self._ended = ended
        self._tasks = TaskSet(topology, config, places.counts)
        self._order = TimeOrder() if self._tasks.merges else None

    @property
    def waits_for_ends(self) -> bool:
        """Whether it must hear that a partition has no more records."""
        return self._to_end or self._order is not None

    def patience(self) -> float:
        due = self._tasks.next_punctuation
        seconds = inf if due is None else max(0.0, due / 1000 - time.time())
        return seconds if self._order is None or self._order.is_empty else min(seconds, _WAITING_SECONDS)

    def process(self, reader: Reader, batch: Batch) -> bool:
        for partition, records in batch.items():
            if self._to_end and records[-1][4] >= self._places.ends[partition]:
                records = [record for record in records if record[4] < self._places.ends[partition]]
            if not records:
                continue
            if self._order is None:
                self._tasks.add(partition, records)
            else:
                self._order.add(partition, records)
        if self._order is not None:
            for partition, records in self._order.take(self._places.starts, self._behind(reader)):
                self._tasks.add(partition, records)
        self._tasks.run()
        due = self._tasks.next_punctuation
        if due is not None and due / 1000 <= time.time():
            self._tasks.punctuate()
            self._tasks.run()
        return self._delivered() and not self._is_done(reader)

    def ended(self, error: MillstreamError | None) -> None:
        try:
            self._tasks.close()
        finally:
            self._ended(error)

    def _behind(self, reader: Reader) -> Callable[[Partition], bool]:
        if not self._to_end:
            return reader.is_behind
        return lambda partition: reader.position(partition) < self._places.ends[partition]

    def _is_done(self, reader: Reader) -> bool:
        """Whether everything was read and processed; partitions of which enough is here are not read on."""
        done = {at for at, end in self._places.ends.items() if self._to_end and reader.position(at) >= end}
        reader.hold(done if self._order is None else done | self._order.crowded())
        return self._to_end and len(done) == len(self._places.ends)
