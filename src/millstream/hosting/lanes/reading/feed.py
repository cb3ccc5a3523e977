"""Records of partitions as they come."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.config import StreamsConfig
from millstream.kafka.admin import Partition
from millstream.kafka.clients import ErrorWatch, make_consumer
from millstream.kafka.errors import TopicMissing, may_pass, translate
from millstream.kafka.extent import extent
from millstream.task.records import RawRecord

log = logging.getLogger("millstream.lanes")

_SECOND = itemgetter(1)
_ASKING_SECONDS = 5.0
_LOOK_SECONDS = 1.0


class Feed:
    """One consumer without a group, with one position per partition.

    Args:
        config: where the brokers are.
    """

    def __init__(self, config: StreamsConfig) -> None:
        overrides = {
            "group.id": f"{config.application_id}-feed",  # it is no member of any group
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",  # where to go on is for the reader to say
            "enable.partition.eof": "true",
            "fetch.wait.max.ms": "250",
            "fetch.min.bytes": "1",
            "fetch.queue.backoff.ms": "5",
            "fetch.error.backoff.ms": "50",
            "queued.max.messages.kbytes": "16384",
        }
        self._config = config
        self._watch = ErrorWatch()
        self._consumer: Consumer = make_consumer(config, watch=self._watch, overrides=overrides)
        self._looked = 0.0
        #: Of each partition that is read, the offset after the last record that was given out.
        self.positions: dict[Partition, int] = {}
        #: Partitions of which everything that there is was given out, and the offset before which that is.
        self.at_end: dict[Partition, int] = {}
        #: Partitions that do not have the offset that comes next.
        self.astray: set[Partition] = set()
        #: Partitions whose topic is not there, and since when.
        self.missing: dict[Partition, float] = {}

    def meet(self, topics: Iterable[str]) -> None:
        """Get to know the leaders of topics: the client may take a second for it when their records are wanted."""
        with suppress(KafkaException):  # a broker that is away is met later
            for topic in topics:
                self._consumer.list_topics(topic, _ASKING_SECONDS)

    def start(self, partition: Partition, offset: int) -> None:
        """Read a partition from an offset on; also one that is read from elsewhere."""
        self.stop(partition)
        self._consumer.incremental_assign([TopicPartition(*partition, offset)])
        self.positions[partition] = offset

    def stop(self, partition: Partition) -> None:
        """Read a partition no more."""
        if self.positions.pop(partition, None) is not None:
            self._consumer.incremental_unassign([TopicPartition(*partition)])
            self.at_end.pop(partition, None)
            self.astray.discard(partition)
            self.missing.pop(partition, None)

    def poll(self, count: int, seconds: float) -> list[tuple[Partition, list[RawRecord]]]:
        """So many records at most, by partition: what there is, or comes first in this time."""
        messages = self._consumer.consume(1, seconds)
        if messages:  # the client waits until it has as many as it was asked for
            messages += self._consumer.consume(count - 1, 0)
        self._look_for_topics()
        if any(map(Message.error, messages)):
            messages = [message for message in messages if not self._heed(message)]
        elif messages and self.at_end:
            for place in set(_places(messages)):
                self.at_end.pop(place, None)
        # One call per field, not one per field and record.
        times = map(_SECOND, map(Message.timestamp, messages))
        keys, values, headers = (map(field, messages) for field in (Message.key, Message.value, Message.headers))
        records: list[Any] = list(zip(keys, values, times, headers, map(Message.offset, messages), strict=True))
        found, start = [], 0
        for place, run in groupby(_places(messages)):
            end = start + len(list(run))
            if place in self.positions:  # else it came after it was stopped
                found.append((place, records[start:end]))
                self.positions[place] = records[end - 1][4] + 1
            start = end
        return found

    def end(self, partition: Partition) -> int:
        """The offset after the last record of a partition that is read, as far as the client has heard."""
        return max(0, self._consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)[1])

    def offsets(self, partition: Partition) -> tuple[int, int]:
        """The first offset of a partition that is there, and the one after the last, be it decided or not."""
        first, _, end = extent(self._config, partition, timedelta(seconds=_ASKING_SECONDS))
        return first, end

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

    def _look_for_topics(self) -> None:
        """See which topics are missing, if the client has said so in the background, and whether they are back."""
        heard = self._watch.last
        told = heard is not None and isinstance(translate(heard, "read"), TopicMissing)
        now = time.monotonic()
        if not (told or self.missing) or now < self._looked + _LOOK_SECONDS:
            return
        self._looked, self._watch.last = now, None
        try:
            there = self._consumer.list_topics(timeout=_ASKING_SECONDS).topics
        except KafkaException:  # the broker is away: that is another matter
            return
        gone = {at for at in self.positions if at[0] not in there}
        self.missing = {at: self.missing.get(at, now) for at in gone}

    def _heed(self, message: Message) -> bool:
        """Whether it tells of something else than a record."""
        error = message.error()
        partition: Partition = (message.topic(), message.partition())  # type: ignore[assignment]  # never None
        if error is None:
            self.at_end.pop(partition, None)
            return False
        if partition not in self.positions:
            return True
        if error.code() == ClientError._PARTITION_EOF:
            self.at_end[partition] = message.offset() or 0
        elif error.code() == ClientError._AUTO_OFFSET_RESET:
            self.astray.add(partition)
        elif not may_pass(error):
            failed = translate(error, f"read {partition[0]}-{partition[1]}")
            if not isinstance(failed, TopicMissing):  # that is looked after below
                raise failed
        else:
            log.warning("reading %s-%s: %s", *partition, error.str())
        return True


def _places(messages: list[Message]) -> Iterator[Any]:
    return zip(map(Message.topic, messages), map(Message.partition, messages), strict=True)
