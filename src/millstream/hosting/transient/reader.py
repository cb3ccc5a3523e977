"""Reading topics from fixed places on, as records come."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.config import StreamsConfig
from millstream.hosting.transient.places import Partition, Places
from millstream.kafka.clients import make_consumer
from millstream.kafka.errors import TopicMissing, may_pass, translate
from millstream.task.records import RawRecord

_LOG = logging.getLogger(__name__)
#: Few enough that what comes of them can wait in memory.
_CHUNK = 1_000
_MEETING_SECONDS = 5.0
#: After so long without a word about a partition, nobody waits for its records any longer.
_QUIET_SECONDS = 5.0
_LOOKING_SECONDS = 5.0
_SECOND = itemgetter(1)

#: What was read, by partition.
Batch = Mapping[Partition, list[RawRecord]]


class Reader(Protocol):
    """Reads partitions. For one thread."""

    def read(self, seconds: float) -> Batch:
        """What has come, or comes first within this time.

        Raises:
            MillstreamError: it cannot go on.
        """

    def position(self, partition: Partition) -> int:
        """The offset before which everything was read."""

    def is_behind(self, partition: Partition) -> bool:
        """Whether the partition is known to have records that were not read yet."""

    def hold(self, partitions: Collection[Partition]) -> None:
        """Read nothing of these for now; go on with those held before."""

    def close(self) -> None:
        """Leave."""


class TopicReader:
    """See `Reader`: a plain consumer of committed records, in no group.

    Args:
        config: where the brokers are and how to reach them.
        places: where it begins.
        waiting: how long a broker may keep a request that finds nothing, in milliseconds. Only then does the reader
            hear that a partition had no more: short where somebody waits for that.
    """

    def __init__(self, config: StreamsConfig, places: Places, *, waiting: int) -> None:
        overrides = {
            "isolation.level": "read_committed",
            # Records may be deleted before they are read; those after them are still wanted.
            "auto.offset.reset": "earliest",
            "enable.partition.eof": "true",
            "fetch.wait.max.ms": str(waiting),
            "fetch.min.bytes": "1",
            "fetch.error.backoff.ms": "100",
            # Many readers may be there at once, and each has what it fetched ahead in memory.
            "queued.max.messages.kbytes": "4096",
        }
        self._consumer: Consumer = make_consumer(config, overrides=overrides)
        self._position = dict(places.starts)
        self._end = dict(places.ends)
        self._heard = dict.fromkeys(places.starts, time.monotonic())
        self._held: set[Partition] = set()
        self._topics = sorted({topic for topic, _ in places.starts})
        self._looked = time.monotonic()
        try:
            for topic in self._topics:  # else the consumer gets to know their leaders a second later
                self._consumer.list_topics(topic, _MEETING_SECONDS)
            self._consumer.assign([TopicPartition(*at, offset) for at, offset in places.starts.items()])
        except KafkaException as error:
            self._consumer.close()
            raise translate(error, f"read topic {', '.join(self._topics)}", config.bootstrap_servers) from error

    def read(self, seconds: float) -> Batch:
        self._look_for_topics()
        first = self._consumer.poll(seconds)
        if first is None:
            return {}
        messages = [first, *self._consumer.consume(_CHUNK, 0)]
        if any(map(Message.error, messages)):
            messages = [message for message in messages if not self._heed(message)]
        return self._sorted(messages)

    def position(self, partition: Partition) -> int:
        return self._position[partition]

    def is_behind(self, partition: Partition) -> bool:
        return (
            self._position[partition] < self._end[partition]
            and time.monotonic() < self._heard[partition] + _QUIET_SECONDS
        )

    def hold(self, partitions: Collection[Partition]) -> None:
        wanted = set(partitions)
        if wanted == self._held:
            return
        if paused := wanted - self._held:
            self._consumer.pause([TopicPartition(*at) for at in paused])
        if resumed := self._held - wanted:
            self._consumer.resume([TopicPartition(*at) for at in resumed])
        self._held = wanted

    def close(self) -> None:
        self._consumer.close()

    def _sorted(self, messages: list[Message]) -> Batch:
        times = map(_SECOND, map(Message.timestamp, messages))
        keys, values, headers = (map(field, messages) for field in (Message.key, Message.value, Message.headers))
        records: list[Any] = list(zip(keys, values, times, headers, map(Message.offset, messages), strict=True))
        places = zip(map(Message.topic, messages), map(Message.partition, messages), strict=True)
        batch: dict[Any, list[RawRecord]] = {}
        start = 0
        for place, run in groupby(places):
            end = start + len(list(run))
            batch.setdefault(place, []).extend(records[start:end])
            start = end
        now = time.monotonic()
        for place, found in batch.items():
            self._heard[place] = now
            self._position[place] = max(self._position[place], found[-1][4] + 1)
            _, high = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
            self._end[place] = max(self._end[place], high)
        return batch

    def _heed(self, message: Message) -> bool:
        """Whether it tells of something else than a record; what cannot be waited out is raised."""
        error = message.error()
        if error is None:
            return False
        partition: Any = (message.topic(), message.partition())
        if error.code() == ClientError._PARTITION_EOF:
            # Behind the last record may be offsets without any: marks of transactions.
            self._position[partition] = self._end[partition] = max(self._position[partition], message.offset() or 0)
            self._heard[partition] = time.monotonic()
        elif not may_pass(error):
            failed = translate(error, f"read {partition[0]}-{partition[1]}")
            if not isinstance(failed, TopicMissing) or self._is_gone(partition[0]):
                raise failed
        else:
            _LOG.warning("reading %s-%s: %s", *partition, error.str())
        return True

    def _look_for_topics(self) -> None:
        """Now and then: the client says nothing of topics that were deleted."""
        now = time.monotonic()
        if now < self._looked + _LOOKING_SECONDS:
            return
        self._looked = now
        for topic in self._topics:
            if self._is_gone(topic):
                raise TopicMissing(
                    f"cannot read topic {topic}: it was deleted", hint="ask again when it has been created again"
                )

    def _is_gone(self, topic: str) -> bool:
        """Whether a topic is missing, and not only unknown to a broker for the moment."""
        try:
            found = self._consumer.list_topics(topic, _MEETING_SECONDS).topics.get(topic)
        except KafkaException:
            return False
        return found is None or found.error is not None
