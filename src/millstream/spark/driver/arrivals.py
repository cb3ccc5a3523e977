"""Waiting for records when there is nothing to do: a broker tells of them, and need not be asked all the time."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition

from millstream.config import StreamsConfig
from millstream.kafka.admin import Partition
from millstream.kafka.clients import ErrorWatch, make_consumer

#: A request that finds nothing is answered after so long.
_FETCH_MS = 1000
_ERROR_SECONDS = 0.1


class Arrivals:
    """Reads where records would come, and throws them away: they are read again by who processes them.

    Args:
        config: the application's configuration.
    """

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config
        self._consumer: Consumer | None = None
        self._read: dict[Partition, int] = {}

    def wait(self, ends: Mapping[Partition, int], seconds: float) -> None:
        """Until there is a record behind the ends of partitions, or for so long."""
        try:
            message = self._at(ends).poll(seconds)
        except KafkaException:
            message = None
            time.sleep(_ERROR_SECONDS)  # who asks for offsets tells
        if message is not None:
            if message.error() is not None:
                time.sleep(_ERROR_SECONDS)
            self.rest()

    def rest(self) -> None:
        """Read nothing: there is something to do."""
        if self._consumer is not None and self._read:
            self._consumer.unassign()
            self._read = {}

    def _at(self, ends: Mapping[Partition, int]) -> Consumer:
        if self._consumer is None:
            overrides = {
                "fetch.wait.max.ms": str(_FETCH_MS),
                "fetch.message.max.bytes": "1024",  # one record is enough, whatever its size
                "queued.min.messages": "1",
                "enable.partition.eof": "false",
                "auto.offset.reset": "error",
            }
            self._consumer = make_consumer(self._config, watch=ErrorWatch(), overrides=overrides)
        if self._read != ends:
            self._read = dict(ends)
            self._consumer.assign([TopicPartition(*partition, offset) for partition, offset in ends.items()])
        return self._consumer
