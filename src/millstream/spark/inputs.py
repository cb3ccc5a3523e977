"""A lane's consumer: exactly the records between two offsets, with more fetched ahead."""

from __future__ import annotations

import contextlib
import logging
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.kafka.clients import ErrorWatch, make_consumer
from millstream.kafka.errors import UNAVAILABLE, translate
from millstream.task.records import RawRecord

log = logging.getLogger("millstream.spark")

#: A topic and a partition.
Partition = tuple[str, int]

#: Few enough to stay in the processor's caches until they are processed.
_CHUNK = 5_000
#: Fewer, as somebody may ask for something in the meantime.
_CHUNK_AHEAD = 2_000
#: For how long to wait for records: offsets that have none may have been counted.
_WAIT_SECONDS = 0.02
_MEETING_SECONDS = 5.0
_SECOND = itemgetter(1)
_OFFSET = itemgetter(4)


class Inputs:
    """Reads ranges of offsets. Records that came too early wait for the next range.

    Args:
        config: the application's configuration.
        from_the_first: a range may begin before the first record that is still there.
    """

    def __init__(self, config: StreamsConfig, *, from_the_first: bool = False) -> None:
        self._watch = ErrorWatch()
        overrides = {
            "auto.offset.reset": "earliest" if from_the_first else "error",
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
            self._fetch(min(count, _CHUNK), _WAIT_SECONDS)

    def position(self, partition: Partition) -> int:
        """The first offset of a partition that was not given out yet."""
        return self._position[partition]

    def take(self, partition: Partition, start: int, end: int, most: int) -> list[RawRecord]:
        """Records from an offset to before another that are already here, so many at most."""
        waiting = self._waiting.get(partition)
        if not waiting or waiting[0][4] >= end or self._position[partition] != start:
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
        # One call a field, not one a field and record: this is done for all records.
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
        moved = {partition: start for partition, start in starts.items() if self._position.get(partition) != start}
        if not moved:
            return
        known = [TopicPartition(*partition) for partition in moved if partition in self._position]
        if known:
            self._consumer.incremental_unassign(known)
        self._consumer.incremental_assign([TopicPartition(*partition, start) for partition, start in moved.items()])
        for partition, start in moved.items():
            self._waiting[partition] = []
            self._end.pop(partition, None)
            self._position[partition] = start
        topics = {topic for topic, _ in self._position}
        self._topic = topics.pop() if len(topics) == 1 else None

    def _heed(self, message: Message) -> bool:
        """Whether it tells of something else than a record; what cannot be waited out is raised."""
        error = message.error()
        if error is None:
            return False
        partition: Partition = (message.topic(), message.partition())  # type: ignore[assignment]  # never None
        if error.code() == ClientError._PARTITION_EOF:
            self._end[partition] = message.offset()  # type: ignore[assignment]
        elif error.code() == ClientError._AUTO_OFFSET_RESET:
            raise StreamsError(
                f"records of {partition[0]} that were not yet processed are gone",
                detail=f"partition {partition[1]}: {error.str()}",
                hint="the topic's retention is shorter than the application was away; start it with a new "
                "checkpoint_location to go on with what is there",
            )
        elif error.fatal() or not (error.retriable() or error.code() in UNAVAILABLE):
            raise translate(error, f"read {partition[0]}-{partition[1]}")
        else:
            log.warning("reading %s-%s: %s", *partition, error.str())
        return True
