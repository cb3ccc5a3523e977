"""A lane's consumer: exactly the records between two offsets, with more fetched ahead."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.kafka.clients import ErrorWatch, make_consumer
from millstream.kafka.errors import UNAVAILABLE, translate
from millstream.task.records import RawRecord

log = logging.getLogger("millstream.spark")

#: A topic and a partition.
Partition = tuple[str, int]

_CHUNK = 20_000
_WAIT_SECONDS = 0.5


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
            "queued.max.messages.kbytes": "65536",
            "fetch.message.max.bytes": "4194304",
        }
        self._consumer: Consumer = make_consumer(config, watch=self._watch, overrides=overrides)
        self._waiting: dict[Partition, deque[RawRecord]] = {}
        self._position: dict[Partition, int] = {}
        #: How far each partition was when the consumer had all of it: it says so once.
        self._end: dict[Partition, int] = {}

    def read(self, ranges: Mapping[Partition, tuple[int, int]]) -> dict[Partition, list[RawRecord]]:
        """The records from the first to before the second offset, of each partition."""
        self._go_to({partition: start for partition, (start, _) in ranges.items()})
        records: dict[Partition, list[RawRecord]] = {partition: [] for partition in ranges}
        missing = dict(ranges)
        for partition, (_, end) in ranges.items():
            if self._take_waiting(partition, end, records[partition]):
                del missing[partition]
        while missing:
            for message in self._consumer.consume(_CHUNK, _WAIT_SECONDS):
                partition = (message.topic(), message.partition())  # type: ignore[assignment]  # never None
                offset: int = message.offset()  # type: ignore[assignment]
                error = message.error()
                if error is not None:
                    if self._is_end(error, partition):
                        self._end[partition] = offset
                        if partition in missing and offset >= missing[partition][1]:
                            self._position[partition] = missing.pop(partition)[1]
                    continue
                end = missing.get(partition, (0, -1))[1]
                if offset < end:
                    records[partition].append(_raw(message))
                    self._position[partition] = offset + 1
                    if offset + 1 == end:
                        del missing[partition]
                else:
                    if end >= 0:  # what lies before it was compacted away, or is no record
                        self._position[partition] = end
                        del missing[partition]
                    self._waiting.setdefault(partition, deque()).append(_raw(message))
        return records

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

    def _take_waiting(self, partition: Partition, end: int, records: list[RawRecord]) -> bool:
        """Use what was fetched ahead; True if that is all."""
        waiting = self._waiting.get(partition)
        while waiting and waiting[0][4] < end:
            record = waiting.popleft()
            records.append(record)
            self._position[partition] = record[4] + 1
        if waiting or self._end.get(partition, -1) >= end:  # the last offsets have no records
            self._position[partition] = end
        return self._position[partition] >= end

    def _go_to(self, starts: Mapping[Partition, int]) -> None:
        """Be where the ranges start; usually the consumer already is."""
        moved = {partition: start for partition, start in starts.items() if self._position.get(partition) != start}
        if not moved:
            return
        new = [partition for partition in moved if partition not in self._position]
        for partition, start in moved.items():
            self._waiting.pop(partition, None)
            self._end.pop(partition, None)
            if partition not in new:
                self._consumer.incremental_unassign([TopicPartition(*partition)])
            self._consumer.incremental_assign([TopicPartition(*partition, start)])
            self._position[partition] = start

    def _is_end(self, error: ClientError, partition: Partition) -> bool:
        """Whether the consumer has all of a partition; what cannot be waited out is raised."""
        if error.code() == ClientError._PARTITION_EOF:
            return True
        if error.code() == ClientError._AUTO_OFFSET_RESET:
            raise StreamsError(
                f"records of {partition[0]} that were not yet processed are gone",
                detail=f"partition {partition[1]}: {error.str()}",
                hint="the topic's retention is shorter than the application was away; start it with a new "
                "checkpoint_location to go on with what is there",
            )
        if error.fatal() or not (error.retriable() or error.code() in UNAVAILABLE):
            raise translate(error, f"read {partition[0]}-{partition[1]}")
        log.warning("reading %s-%s: %s", *partition, error.str())
        return False


def _raw(message: Message) -> RawRecord:
    return message.key(), message.value(), message.timestamp()[1], message.headers(), message.offset()  # type: ignore[return-value]
