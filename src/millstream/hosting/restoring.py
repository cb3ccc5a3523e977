"""Filling stores from Kafka, with a word about how far it is."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from millstream.config import StreamsConfig
from millstream.hosting.range_consumer import RangeConsumer
from millstream.hosting.task_changes import redo
from millstream.kafka.admin import Partition
from millstream.state.store import StateStore

LOGGER = "millstream.restore"

log = logging.getLogger(LOGGER)

_SAY_SECONDS = 2.0
_SAID = re.compile(
    r"(?:(?P<task>.*): )?(?:restoring from Kafka, (?P<percent>\d+) % \((?P<rest>.*)\)|restored .* from Kafka in .*)"
)


class Restoring(NamedTuple):
    """How far something is restored, as the log tells it.

    Args:
        who: the task.
        percent: of it that is there.
        rest: records, rate and time left, in words.
    """

    who: str
    percent: int
    rest: str

    @classmethod
    def heard(cls, line: str) -> Restoring | None:
        """What a line of the log tells; None if it is not about this.

        >>> Restoring.heard("task 0_3: restoring from Kafka, 41 % (823,000 records, 412,000 per second, 2 s left)")
        Restoring(who='task 0_3', percent=41, rest='823,000 records, 412,000 per second, 2 s left')
        >>> Restoring.heard("task 0_3: restored 2,000,000 records from Kafka in 4.9 s")
        Restoring(who='task 0_3', percent=100, rest='')
        """
        found = _SAID.fullmatch(line)
        if found is None:
            return None
        return cls(found["task"] or "", int(found["percent"] or 100), found["rest"] or "")


def fill(
    config: StreamsConfig,
    logs: Mapping[Partition, Sequence[StateStore]],
    ends: Mapping[Partition, int],
    tell: Callable[[float], None] | None = None,
    starts: Mapping[Partition, int] | None = None,
) -> int:
    """Fill stores from partitions of changelogs, up to before an offset; answers how many records came.

    Args:
        config: the application's configuration.
        logs: of each partition, the stores that it has.
        ends: the offsets; a partition without one is empty.
        tell: hears how much is there, from 0 to 1.
        starts: what is before these offsets is there already.
    """
    known = starts or {}
    ranges = {
        partition: (start, end)
        for partition in logs
        if (end := ends.get(partition, 0)) > (start := known.get(partition, 0))
    }
    progress = _Progress(
        {partition: start for partition, (start, _) in ranges.items()},
        sum(end - start for start, end in ranges.values()),
    )
    with closing(RangeConsumer(config, from_the_first=True)) as consumer:
        for partition, records in consumer.read(ranges):
            for store in logs[partition]:
                redo(store, records)
            progress.add(len(records), records[-1][4] + 1, partition)
            if tell is not None:
                tell(progress.share)
    progress.end()
    return progress.count


class _Progress:
    """Tells now and then how far a task is restored."""

    def __init__(self, starts: Mapping[Partition, int], total: int) -> None:
        self.count = 0
        self._starts = starts
        self._total = total
        self._at: dict[Partition, int] = {}
        self._begun = self._said = time.monotonic()

    def add(self, count: int, offset: int, partition: Partition) -> None:
        """So many records more, up to an offset."""
        self.count += count
        self._at[partition] = offset - self._starts.get(partition, 0)
        now = time.monotonic()
        if now - self._said >= _SAY_SECONDS:
            self._said = now
            done = sum(self._at.values())
            rate = self.count / (now - self._begun)
            left = (now - self._begun) * (self._total - done) / max(1, done)
            log.warning(
                "restoring from Kafka, %d %% (%s records, %s per second, %d s left)",
                *(100 * done // max(1, self._total), f"{self.count:,}", f"{rate:,.0f}", left),
            )

    @property
    def share(self) -> float:
        """How much is there, from 0 to 1."""
        return sum(self._at.values()) / max(1, self._total)

    def end(self) -> None:
        """All is there."""
        if self.count:
            seconds = time.monotonic() - self._begun
            level = logging.WARNING if seconds >= _SAY_SECONDS else logging.INFO
            log.log(level, "restored %s records from Kafka in %.1f s", f"{self.count:,}", seconds)
