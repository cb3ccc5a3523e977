"""A consumer of ranges: exactly the records between two offsets, with more fetched ahead."""

from __future__ import annotations

import contextlib
import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.kafka.admin import Partition
from millstream.kafka.clients import ErrorWatch, make_consumer
from millstream.kafka.errors import BrokerUnavailable, TopicMissing, may_pass, translate
from millstream.kafka.extent import Extent, extent
from millstream.task.records import RawRecord
from millstream.topology.nodes import OffsetReset

log = logging.getLogger("millstream.spark")


#: Few enough to stay in the processor's caches until they are processed.
_CHUNK = 5_000
#: Fewer, as somebody may ask for something in the meantime.
_CHUNK_AHEAD = 2_000
#: For how long to wait for records: offsets that have none may have been counted.
_WAIT_SECONDS = 0.02
_MEETING_SECONDS = 5.0
#: After so long without any record it is asked whether those that are waited for can still come.
_QUIET_SECONDS = 5.0
#: How long a topic may be missing: it may be made again, and a broker that comes back does not know all at once.
_MISSING_SECONDS = 30.0
_ASKING_SECONDS = 5.0
#: How often it is said that a transaction is waited for.
_SAY_SECONDS = 30.0
_SECOND = itemgetter(1)
_OFFSET = itemgetter(4)


class RangeConsumer:
    """Reads ranges of offsets. Records that came too early wait for the next range.

    Args:
        config: the application's configuration.
        from_the_first: a range may begin before the first record that is still there.
        reset: how to go on with a topic when records of a range are gone; for all as configured unless given.
    """

    def __init__(
        self,
        config: StreamsConfig,
        *,
        from_the_first: bool = False,
        reset: Callable[[str], OffsetReset] | None = None,
    ) -> None:
        self._config = config
        self._watch = ErrorWatch()
        self._from_the_first = from_the_first
        self._reset = reset or (lambda topic: "earliest" if from_the_first else config.offset_reset)
        overrides = {
            # Where to go on is for this class to say: the client would do so without a word.
            "auto.offset.reset": "error",
            "enable.partition.eof": "true",
            "fetch.wait.max.ms": "20",
            "fetch.min.bytes": "1",
            "queued.min.messages": "100000",
            # By default a full queue keeps the client from fetching for a second, in which it may run empty.
            "fetch.queue.backoff.ms": "5",
            "fetch.error.backoff.ms": "20",
            "queued.max.messages.kbytes": "65536",
        }
        self._consumer: Consumer = make_consumer(config, watch=self._watch, overrides=overrides)
        #: What was fetched and not yet asked for.
        self._waiting: dict[Partition, list[RawRecord]] = {}
        self._position: dict[Partition, int] = {}
        #: How far each partition was when the consumer had all of it: it says so once.
        self._end: dict[Partition, int] = {}
        #: Partitions in which the consumer may have stopped, or be elsewhere.
        self._astray: set[Partition] = set()
        self._said = 0.0
        #: When the first record came, in seconds since 1970.
        self.begun: float | None = None
        #: The topic, if all partitions are of one.
        self._topic: str | None = None

    def meet(self, topics: Iterable[str]) -> None:
        """Get to know the leaders of topics, which may take a second when the first records are already wanted."""
        with contextlib.suppress(KafkaException):  # a broker that is away is met later
            for topic in topics:
                self._consumer.list_topics(topic, _MEETING_SECONDS)

    def read(self, ranges: Mapping[Partition, tuple[int, int]]) -> Iterator[tuple[Partition, list[RawRecord]]]:
        """The records from the first to before the second offset, of each partition, some at a time as they come."""
        self._go_to({partition: start for partition, (start, _) in ranges.items()})
        missing = {partition: end for partition, (_, end) in ranges.items()}
        quiet = asked = time.monotonic()
        while True:
            for partition, end in list(missing.items()):
                records = self._taken(partition, end)
                if self._position[partition] >= end:
                    del missing[partition]
                if records:
                    yield partition, records
            if not missing:
                return
            # The client waits until it has as many as it was asked for.
            count = sum(end - self._position[partition] for partition, end in missing.items())
            if self._fetch(min(count, _CHUNK), _WAIT_SECONDS):
                quiet = time.monotonic()
            for partition in self._astray & missing.keys():
                self._go_on(partition, missing[partition])
            if time.monotonic() > max(quiet, asked) + _QUIET_SECONDS:
                self._ask_for(missing, since=quiet)
                asked = time.monotonic()

    def position(self, partition: Partition) -> int:
        """The first offset of a partition that was not given out yet."""
        return self._position[partition]

    def take(self, partition: Partition, start: int, end: int, most: int) -> list[RawRecord]:
        """Records from an offset to before another that are already here, so many at most."""
        waiting = self._waiting.get(partition)
        if not waiting or waiting[0][4] >= end or self._position[partition] != start or partition in self._astray:
            return []
        return self._taken(partition, min(end, waiting[most][4]) if len(waiting) > most else end)

    def read_ahead(self, most: int) -> bool:
        """Fetch some records of the ranges to come; False if there are none, or so many already wait."""
        return sum(map(len, self._waiting.values())) < most and self._fetch(_CHUNK_AHEAD, 0) > 0

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

    def _fetch(self, count: int, seconds: float) -> int:
        """Have so many records wait, or those that come in time."""
        messages = self._consumer.consume(count, seconds)
        if any(map(Message.error, messages)):
            messages = [message for message in messages if not self._heed(message)]
        if self.begun is None and messages:
            self.begun = time.time()
        # One call per field, not one per field and record: this is done for all records.
        times = map(_SECOND, map(Message.timestamp, messages))
        keys, values, headers = (map(field, messages) for field in (Message.key, Message.value, Message.headers))
        records: list[Any] = list(zip(keys, values, times, headers, map(Message.offset, messages), strict=True))
        partitions = map(Message.partition, messages)
        places = partitions if self._topic else zip(map(Message.topic, messages), partitions, strict=True)
        start = 0
        for place, run in groupby(places):
            end = start + len(list(run))
            self._waiting[(self._topic, place) if self._topic else place] += records[start:end]  # type: ignore[index]
            start = end
        return len(messages)

    def _taken(self, partition: Partition, end: int) -> list[RawRecord]:
        """What was fetched of a partition and lies before an offset."""
        waiting = self._waiting[partition]
        if waiting and waiting[-1][4] < end:
            self._position[partition] = waiting[-1][4] + 1
            records, later = waiting, []
        else:
            count = bisect_left(waiting, end, key=_OFFSET)
            records, later = waiting[:count], waiting[count:]
        if later or self._end.get(partition, -1) >= end:  # the last offsets may have no records
            self._position[partition] = end
        self._waiting[partition] = later
        return records

    def _go_to(self, starts: Mapping[Partition, int]) -> None:
        """Be where the ranges start; usually the consumer already is."""
        moved = {
            partition: start
            for partition, start in starts.items()
            if self._position.get(partition) != start or partition in self._astray
        }
        if not moved:
            return
        self._fetch_from(moved)
        for partition, start in moved.items():
            self._waiting[partition] = []
            self._position[partition] = start
        topics = {topic for topic, _ in self._position}
        self._topic = topics.pop() if len(topics) == 1 else None

    def _fetch_from(self, starts: Mapping[Partition, int]) -> None:
        """Have the consumer fetch from these offsets on."""
        known = [TopicPartition(*partition) for partition in starts if partition in self._position]
        if known:
            self._consumer.incremental_unassign(known)
        self._consumer.incremental_assign([TopicPartition(*partition, start) for partition, start in starts.items()])
        for partition in starts:
            self._end.pop(partition, None)
            self._astray.discard(partition)

    def _go_on(self, partition: Partition, end: int) -> None:
        """The broker did not have an offset: see which records can still come of a range that ends before another.

        Which offset that was does not matter: what the client says may be about a place that it has left since then.
        """
        waiting = self._waiting[partition]
        at = waiting[-1][4] + 1 if waiting else self._position[partition]
        try:
            low, _, high = self._extent(partition)
        except (BrokerUnavailable, TopicMissing) as error:  # asked again, or told when it has been quiet for long
            log.debug("%s", error)
            return
        if low <= at <= high:
            self._fetch_from({partition: at})
        elif at > high:
            self._give_up(partition, at, end, f"the topic ends at offset {high}")
        else:
            reset = self._reset_of(partition, f"the topic begins at offset {low}")
            first = self._by(reset, partition, low, high)
            if not self._from_the_first:
                log.warning(
                    "%s-%s: offsets %s to %s (%s) are gone, deleted before they were read; going on at %s (offset "
                    "reset: %s)",
                    *(*partition, at, low - 1, low - at, min(first, end), reset),
                )
            if first < end:
                self._fetch_from({partition: first})
            else:
                self._end[partition] = end

    def _ask_for(self, missing: Mapping[Partition, int], *, since: float) -> None:
        """No record comes: give up those that no topic has any more."""
        for partition, end in missing.items():
            try:
                _, decided, high = self._extent(partition)
            except BrokerUnavailable as error:
                log.debug("%s", error)
                return
            except TopicMissing:
                if time.monotonic() > since + _MISSING_SECONDS:
                    raise
                continue
            if high < end:
                self._give_up(partition, self._position[partition], end, f"the topic ends at offset {high}")
            elif decided < end and time.monotonic() > max(since, self._said) + _SAY_SECONDS:
                self._said = time.monotonic()
                log.warning(
                    "waiting for the end of a transaction, without which nobody knows whether records count: %s-%s "
                    "from offset %s on",
                    *(*partition, decided),
                )

    def _give_up(self, partition: Partition, start: int, end: int, why: str) -> None:
        """The rest of a range is gone for good: the topic was made again, or has lost its last records."""
        reset = self._reset_of(partition, why)
        log.warning(
            "%s-%s: offsets %s to %s are gone, %s: it was made again, or has lost records; they are left out (offset "
            "reset: %s)",
            *(*partition, start, end - 1, why, reset),
        )
        self._end[partition] = end
        self._astray.add(partition)

    def _reset_of(self, partition: Partition, why: str) -> OffsetReset:
        reset = self._reset(partition[0])
        if reset == "none":
            raise records_gone(partition, self._position[partition], why)
        return reset

    def _by(self, reset: OffsetReset, partition: Partition, low: int, high: int) -> int:
        """Where to go on in a partition."""
        if isinstance(reset, timedelta):
            since = int((time.time() - reset.total_seconds()) * 1000)
            found = self._consumer.offsets_for_times([TopicPartition(*partition, since)], _ASKING_SECONDS)[0].offset
            return max(low, found) if found >= 0 else high
        return high if reset == "latest" else low

    def _extent(self, partition: Partition) -> Extent:
        """Which records there are. The consumer itself does not know of those that are not decided yet."""
        return extent(self._config, partition, timedelta(seconds=_ASKING_SECONDS))

    def _heed(self, message: Message) -> bool:
        """Whether it tells of something else than a record; what cannot be waited out is raised."""
        error = message.error()
        if error is None:
            return False
        partition: Partition = (message.topic(), message.partition())  # type: ignore[assignment]  # never None
        if error.code() == ClientError._PARTITION_EOF:
            self._end[partition] = message.offset()  # type: ignore[assignment]
        elif error.code() == ClientError._AUTO_OFFSET_RESET:
            self._astray.add(partition)
        elif not may_pass(error):
            failed = translate(error, f"read {partition[0]}-{partition[1]}")
            if not isinstance(failed, TopicMissing):  # it may be made again
                raise failed
        else:
            log.warning("reading %s-%s: %s", *partition, error.str())
        return True


def records_gone(partition: Partition, position: int, why: str) -> StreamsError:
    """Records are gone, and nobody has said how to go on without them.

    Args:
        partition: where.
        position: the offset that comes next.
        why: what the topic is like now.
    """
    topic, number = partition
    return StreamsError(
        f"records of {topic}, partition {number}, that were not yet processed are gone",
        detail=f"offset {position} comes next, but {why}; offset_reset is 'none', so the application does not choose "
        "by itself where to go on",
        hint="set the source's offset_reset (or the consumers' auto.offset.reset) to 'earliest' or 'latest' and start "
        "it again: its state is kept. A longer retention of the topic lets an application be away for longer",
    )
