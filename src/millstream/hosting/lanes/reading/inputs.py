"""What the tasks of a lane read: each partition once, however many tasks read it.

Tasks that are as far as the others get what comes (the *live* feed). One that is not, because its query is new or was
paused, is *behind*: another feed reads what it lacks, so that it does not hold up the others, until it has caught up.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Protocol

from millstream.errors import MillstreamError
from millstream.hosting.lanes.reading.feed import Feed
from millstream.hosting.range_consumer import records_gone
from millstream.kafka.admin import Partition
from millstream.kafka.errors import BrokerUnavailable, TopicMissing
from millstream.task.records import RawRecord
from millstream.topology.nodes import OffsetReset

log = logging.getLogger("millstream.lanes")

_ASK_AGAIN_SECONDS = 1.0
#: How long a topic may be missing: it may be made again, and a broker that comes back does not know all at once.
_MISSING_SECONDS = 30.0


class Reader(Protocol):
    """A task that reads."""

    #: Of each of its inputs, the offset of the first record that it was not given yet.
    next: dict[Partition, int]

    def reset_of(self, topic: str) -> OffsetReset:
        """Where to go on in a topic that does not have what comes next."""

    def moved(self, partition: Partition) -> None:
        """It goes on elsewhere in a partition: its `next` was changed."""

    def lost(self, error: MillstreamError) -> None:
        """It cannot go on."""


class Inputs:
    """Who reads which partition, and from which feed.

    Args:
        make_feed: makes a feed; a second one when it is first needed.
    """

    def __init__(self, make_feed: Callable[[], Feed]) -> None:
        self._make_feed = make_feed
        self._live = make_feed()
        self._behind: Feed | None = None
        self._live_readers: dict[Partition, list[Reader]] = {}
        self._behind_readers: dict[Partition, list[Reader]] = {}
        self._asked = 0.0
        #: How many messages came the last time, and how many were asked for.
        self.came = 0
        self._asked_for = 1

    def meet(self, topics: Iterable[str]) -> None:
        """Be ready to read topics."""
        self._live.meet(topics)

    def add(self, reader: Reader, partition: Partition) -> None:
        """Have a reader get the records of a partition from its `next` on. Safe to call again."""
        if any(reader in readers.get(partition, ()) for readers in (self._live_readers, self._behind_readers)):
            return
        wanted = reader.next[partition]
        position = self._live.positions.get(partition)
        if position is None:
            self._live.start(partition, wanted)
        if position is None or wanted >= position:
            self._live_readers.setdefault(partition, []).append(reader)
            return
        if self._behind is None:
            self._behind = self._make_feed()
        readers = self._behind_readers.setdefault(partition, [])
        readers.append(reader)
        if wanted < self._behind.positions.get(partition, wanted + 1):
            self._behind.start(partition, wanted)

    def remove(self, reader: Reader, partition: Partition) -> None:
        """Give a reader no more of a partition."""
        for feed, readers in ((self._live, self._live_readers), (self._behind, self._behind_readers)):
            found = readers.get(partition)
            if feed is not None and found and reader in found:
                found.remove(reader)
                if not found:
                    del readers[partition]
                    feed.stop(partition)

    def has_all(self, reader: Reader, partition: Partition) -> bool:
        """Whether a reader was given all that a partition has now."""
        return partition in self._live.at_end and reader in self._live_readers.get(partition, ())

    def reached(self, reader: Reader, partition: Partition) -> int | None:
        """The offset before which a reader was given everything; None if there may be more in front of it."""
        return self._live.at_end.get(partition) if self.has_all(reader, partition) else None

    def lag(self, reader: Reader, partition: Partition, position: int) -> int:
        """About how many records of a partition a reader has not processed that is at a position."""
        if self.has_all(reader, partition) or partition not in self._live.positions:
            return max(0, reader.next[partition] - position)
        return max(0, self._live.end(partition) - position)

    @property
    def is_behind(self) -> bool:
        """Whether there was more to read the last time than was asked for."""
        return self.came >= self._asked_for

    def poll(self, seconds: float, most: int) -> Iterator[tuple[Reader, Partition, list[RawRecord]]]:
        """So many messages for readers at most, of each feed: what there is, or comes first in this time."""
        self.came, self._asked_for = 0, most
        if self._behind is not None and self._behind_readers:
            yield from self._given(self._behind, self._behind_readers, 0.01, most)
            self._join_live()
            seconds = 0
        yield from self._given(self._live, self._live_readers, seconds, most)

    def close(self) -> None:
        """Leave."""
        for feed in (self._live, self._behind):
            if feed is not None:
                feed.close()

    def _given(
        self, feed: Feed, readers: dict[Partition, list[Reader]], seconds: float, most: int
    ) -> Iterator[tuple[Reader, Partition, list[RawRecord]]]:
        for partition, records in feed.poll(most, seconds):
            self.came += len(records)
            for reader in list(readers.get(partition, ())):
                wanted = reader.next[partition]
                if records[-1][4] < wanted:
                    continue
                found = records if records[0][4] >= wanted else [record for record in records if record[4] >= wanted]
                reader.next[partition] = records[-1][4] + 1
                yield reader, partition, found
        for partition, since in list(feed.missing.items()):
            if time.monotonic() > since + _MISSING_SECONDS:
                self._give_up(readers, partition)
        if feed.astray and time.monotonic() > self._asked + _ASK_AGAIN_SECONDS:
            self._asked = time.monotonic()
            for partition in list(feed.astray):
                self._go_on(feed, readers, partition)

    def _give_up(self, readers: dict[Partition, list[Reader]], partition: Partition) -> None:
        """A topic does not come back."""
        for reader in list(readers.get(partition, ())):
            self.remove(reader, partition)
            reader.lost(
                TopicMissing(
                    f"topic {partition[0]} is gone",
                    detail=f"it was deleted more than {_MISSING_SECONDS:.0f} seconds ago",
                    hint="drop the query, or create the topic and then the query again",
                )
            )

    def _join_live(self) -> None:
        """Have those that have caught up read with the others."""
        for partition, readers in list(self._behind_readers.items()):
            live = self._live.positions.get(partition)
            for reader in list(readers):
                if live is None or reader.next[partition] >= live:
                    self.remove(reader, partition)
                    self.add(reader, partition)

    def _go_on(self, feed: Feed, readers: dict[Partition, list[Reader]], partition: Partition) -> None:
        """A partition does not have what comes next: records were deleted, or the topic was made again."""
        try:
            low, high = feed.offsets(partition)
        except (BrokerUnavailable, TopicMissing) as error:  # asked again
            log.debug("%s", error)
            return
        for reader in list(readers.get(partition, ())):
            at, reset = reader.next[partition], reader.reset_of(partition[0])
            self.remove(reader, partition)
            if low <= at <= high:
                self.add(reader, partition)
                continue
            why = f"the topic begins at offset {low}" if at < low else f"the topic ends at offset {high}"
            if reset == "none":
                reader.lost(records_gone(partition, at, why))
                continue
            reader.next[partition] = high if reset == "latest" or isinstance(reset, timedelta) else low
            log.warning(
                "%s-%s: offset %s comes next, but %s; going on at %s (offset reset: %s)",
                *(*partition, at, why, reader.next[partition], reset),
            )
            reader.moved(partition)
            self.add(reader, partition)
