"""Input topics that are not what they were: made again, cut short, or with records deleted before they were read.

A topic that was made again has another id, which batches carry in Spark's log, so that it is noticed after a restart,
too. Ids are asked for every few seconds, and at once when something is odd: an end that has gone back, a topic that was
away, ends that nobody has looked at for a while. A topic cannot be deleted, made and filled again unseen but in the
middle of a batch shorter than that. Then it is noticed seconds later, and records may be read twice: none is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream.hosting.range_consumer import records_gone
from millstream.kafka.admin import Admin, Partition
from millstream.spark.program import Program

log = logging.getLogger("millstream.spark")

Offsets = dict[Partition, int]
Ids = dict[str, str]

_LOOK_SECONDS = 5.0
#: It takes longer to make a topic again and to fill it, unless there is very little in it.
_UNSEEN_SECONDS = 0.5
#: For how long an end must lie before the start until it is believed: a new leader does not know all at once.
_SHORT_SECONDS = 2.0


@dataclass(frozen=True)
class Now:
    """What topics are now.

    Args:
        starts: partitions that go on elsewhere, and where.
        ends: where partitions end.
        ids: the ids of topics.
        is_news: something has changed, so that it must be noted with a batch.
    """

    starts: Offsets
    ends: Offsets
    ids: Ids
    is_news: bool


class Changes:
    """Notices changes, and says where to go on.

    Args:
        program: knows the reset policy of each topic.
        admin: asks the broker.
        topics: the topics that tasks read.
    """

    def __init__(self, program: Program, admin: Admin, topics: Iterable[str]) -> None:
        self._program = program
        self._admin = admin
        self._topics = sorted(topics)
        #: The first ids that this run has seen, for batches without any.
        self._ids: Ids = {}
        self._looked = 0.0
        self._has_seen_the_first = False
        #: The ends that were there last, and when.
        self._ends: Mapping[Partition, int] = {}
        self._asked = 0.0
        #: Since when ends lie before starts.
        self._short: float | None = None

    def doubt(self) -> None:
        """The broker did not answer, or did not know a topic: look again before the next batch."""
        self._looked = 0.0

    def look(self, starts: Offsets, ends: Offsets, ids: Ids, now: float) -> Now | None:
        """What has changed; None if that is not clear yet.

        Args:
            starts: where the next batch starts, as far as the last one says.
            ends: where partitions end. They were asked for just now.
            ids: the topics' ids as of the last batch.
            now: seconds since 1970.
        """
        before = self._ids | ids
        short = {partition: ends[partition] for partition, at in starts.items() if ends.get(partition, at) < at}
        back = any(end < self._ends.get(partition, 0) for partition, end in ends.items())
        late = now > min(self._asked + _UNSEEN_SECONDS, self._looked + _LOOK_SECONDS)
        self._ends, self._asked = ends, now
        if not (short or back or late):
            return Now({}, ends, before, is_news=False)
        self._looked = 0.0  # should anything fail
        found = self._admin.topic_ids(self._topics)
        self._ids = found | self._ids
        again = {topic for topic, topic_id in found.items() if before.get(topic, topic_id) != topic_id}
        cut = {
            partition: end for partition, end in short.items() if partition[0] in found and partition[0] not in again
        }
        if cut:
            self._short = now if self._short is None else self._short
            if now < self._short + _SHORT_SECONDS:
                return None
        self._short = None
        moved, there = self._moved(starts, again | {topic for topic, _ in short.keys() - cut.keys()})
        moved |= self._without_the_last(starts, cut)
        if not self._has_seen_the_first:
            moved |= self._without_the_first(
                {partition: at for partition, at in starts.items() if partition not in moved}, ends
            )
            self._has_seen_the_first = True
        is_news = bool(moved or again)
        if not is_news:
            self._looked = now
        return Now(moved, {**ends, **there}, found, is_news)

    def made_again(self, ids: Ids, starts: Offsets, ends: Offsets) -> set[str]:
        """Topics whose records a batch cannot read any more.

        Args:
            ids: the topics' ids as of that batch, which an earlier run has begun.
            starts: where it starts.
            ends: where it ends.
        """
        found = self._admin.topic_ids(topic for topic in self._topics if topic in ids)
        again = {topic for topic, topic_id in found.items() if ids[topic] != topic_id}
        for partition, end in ends.items():
            start = starts.get(partition, end)
            if partition[0] in again and start < end:
                self._check(partition, start, "the topic was made again")
                log.warning(
                    "%s-%s: the topic was made again; offsets %s to %s of the topic before it, which the last batch "
                    "was to read, are gone",
                    *(*partition, start, end - 1),
                )
        return again

    def _moved(self, starts: Offsets, topics: set[str]) -> tuple[Offsets, Offsets]:
        """Where to go on in topics that were made again, and where they end."""
        partitions = [partition for partition in starts if partition[0] in topics]
        begin, end = self._admin.begin_offsets(partitions), self._admin.end_offsets(partitions)
        moved = {}
        for partition in partitions:
            if starts[partition] <= begin[partition]:  # nothing was read
                continue
            self._check(
                partition,
                starts[partition],
                f"the topic was made again and has offsets {begin[partition]} to {end[partition] - 1}",
            )
            moved[partition] = self._program.start_of(partition, begin[partition], end[partition], self._admin)
            log.warning(
                "%s-%s: the topic was made again: it stood at offset %s and goes on at %s of %s to %s (offset "
                "reset: %s)",
                *(
                    *partition,
                    starts[partition],
                    moved[partition],
                    begin[partition],
                    end[partition],
                    self._program.reset_of(partition[0]),
                ),
            )
        return moved, end

    def _without_the_last(self, starts: Offsets, cut: Offsets) -> Offsets:
        """It is the same topic, and has lost its last records, which were processed: what comes next is new."""
        for partition, end in cut.items():
            self._check(partition, starts[partition], f"the topic has lost its last records and ends at offset {end}")
            log.warning(
                "%s-%s: the topic has lost its last records: it stood at offset %s and goes on at its end, %s (offset "
                "reset: %s)",
                *(*partition, starts[partition], end, self._program.reset_of(partition[0])),
            )
        return cut

    def _without_the_first(self, starts: Offsets, ends: Offsets) -> Offsets:
        """Where to go on in partitions whose next records were deleted while the application was away."""
        begin = self._admin.begin_offsets(partition for partition in starts if partition in ends)
        moved = {}
        for partition, first in begin.items():
            if first > starts[partition]:
                self._check(partition, starts[partition], f"the topic begins at offset {first}")
                moved[partition] = self._program.start_of(partition, first, ends[partition], self._admin)
                log.warning(
                    "%s-%s: %s offsets are gone, deleted before they were read: it stood at offset %s and goes on at "
                    "%s of %s to %s (offset reset: %s)",
                    *(
                        *partition,
                        first - starts[partition],
                        starts[partition],
                        moved[partition],
                        first,
                        ends[partition],
                    ),
                    self._program.reset_of(partition[0]),
                )
        return moved

    def _check(self, partition: Partition, position: int, why: str) -> None:
        if self._program.reset_of(partition[0]) == "none":
            raise records_gone(partition, position, why)
