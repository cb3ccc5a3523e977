"""Where a record's event time comes from.

A timestamp extractor is any callable `(record, partition_time) -> milliseconds`. A negative result drops the record.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from millstream.errors import StreamsError
from millstream.records import Headers

log = logging.getLogger("millstream.extractors")


class ConsumedRecord(NamedTuple):
    """An input record as extractors see it, its key and value deserialised.

    `timestamp` is the one the record carries in its topic; negative when it has none.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: Headers


#: `(record, partition_time) -> milliseconds`. The partition time is the greatest timestamp seen in the record's
#: partition, -1 when there was none.
TimestampExtractor = Callable[[ConsumedRecord, int], int]


@dataclass(frozen=True)
class FailOnInvalidTimestamp:
    """The record's own timestamp; a negative one stops the application. The default.

    >>> record = ConsumedRecord("orders", 0, 7, 1000, "o1", "x", Headers())
    >>> FailOnInvalidTimestamp()(record, -1)
    1000
    """

    def __call__(self, record: ConsumedRecord, partition_time: int) -> int:
        """The record's timestamp."""
        if record.timestamp < 0:
            raise StreamsError(
                "an input record has no valid timestamp",
                detail=f"{_where(record)} has timestamp {record.timestamp}",
                hint="set another timestamp_extractor, such as UsePartitionTimeOnInvalidTimestamp()",
            )
        return record.timestamp


@dataclass(frozen=True)
class LogAndSkipOnInvalidTimestamp:
    """The record's own timestamp; a record with a negative one is logged and dropped."""

    def __call__(self, record: ConsumedRecord, partition_time: int) -> int:
        """The record's timestamp, valid or not: the task drops what is negative."""
        if record.timestamp < 0:
            log.warning("%s has timestamp %s and is skipped", _where(record), record.timestamp)
        return record.timestamp


@dataclass(frozen=True)
class UsePartitionTimeOnInvalidTimestamp:
    """The record's own timestamp; instead of a negative one, the greatest seen in its partition so far."""

    def __call__(self, record: ConsumedRecord, partition_time: int) -> int:
        """The record's timestamp or the partition time."""
        if record.timestamp >= 0:
            return record.timestamp
        if partition_time < 0:
            raise StreamsError(
                "an input record has no valid timestamp, nor has its partition a time yet",
                detail=f"{_where(record)} has timestamp {record.timestamp}",
                hint="set another timestamp_extractor, such as LogAndSkipOnInvalidTimestamp()",
            )
        return partition_time


@dataclass(frozen=True)
class WallclockTimestampExtractor:
    """The time at which the record is processed."""

    def __call__(self, record: ConsumedRecord, partition_time: int) -> int:
        """The time now."""
        return int(time.time() * 1000)


def _where(record: ConsumedRecord) -> str:
    return f"the record of topic {record.topic}, partition {record.partition}, offset {record.offset}"
