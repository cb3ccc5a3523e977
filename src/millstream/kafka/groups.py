"""The positions of a consumer group that has no members: applications assign partitions themselves.

They are read and written by a consumer. librdkafka's admin client can do it too, but it crashes the process while a
group's coordinator starts or moves (librdkafka issue 5040).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import timedelta

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, TopicPartition

from millstream.config import StreamsConfig
from millstream.kafka.clients import ErrorWatch, make_consumer
from millstream.kafka.errors import translate

_SLICE_SECONDS = 1.0
_POLL_SECONDS = 0.1
_LATER = frozenset(  # the group's coordinator is not there yet, or is another broker by now
    {
        ClientError._TIMED_OUT,
        ClientError._WAIT_COORD,
        ClientError.COORDINATOR_LOAD_IN_PROGRESS,
        ClientError.COORDINATOR_NOT_AVAILABLE,
        ClientError.NOT_COORDINATOR,
    }
)


class GroupOffsets:
    """The committed positions of one group.

    Args:
        config: where the brokers are and how to reach them.
        group: the group; the application's unless given.
        timeout: how long a request may take.
    """

    def __init__(
        self, config: StreamsConfig, group: str | None = None, *, timeout: timedelta = timedelta(seconds=30)
    ) -> None:
        self.group = group or config.application_id
        self._servers = config.bootstrap_servers
        self._seconds = timeout.total_seconds()
        self._watch = ErrorWatch()
        self._consumer = make_consumer(config, watch=self._watch, overrides={"group.id": self.group})

    def committed(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """The positions of partitions; those without one are left out."""
        wanted = [TopicPartition(topic, number) for topic, number in partitions]
        doing = f"get offsets of group {self.group}"
        deadline = time.monotonic() + self._seconds
        while wanted:
            left = deadline - time.monotonic()
            try:
                found = self._consumer.committed(wanted, timeout=max(0.01, min(left, _SLICE_SECONDS)))
                break
            except KafkaException as error:
                self._raise_if_refused(doing)
                if error.args[0].code() not in _LATER or left <= _SLICE_SECONDS:
                    raise translate(error, doing, self._servers) from error
                time.sleep(_POLL_SECONDS)
        else:
            return {}
        for at in found:
            if at.error is not None:
                raise translate(at.error, doing, self._servers)
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Set positions, each that of the next record to read. Others stay as they are."""
        if not offsets:
            return
        doing = f"commit offsets of group {self.group}"
        self.committed(offsets)  # commit() has no timeout: see first that there is a coordinator
        positions = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        try:
            done = self._consumer.commit(offsets=positions, asynchronous=False) or []
        except KafkaException as error:
            raise translate(error, doing, self._servers) from error
        for at in done:
            if at.error is not None:
                raise translate(at.error, doing, self._servers)

    def close(self) -> None:
        """Leave the brokers."""
        self._consumer.close()

    def _raise_if_refused(self, doing: str) -> None:
        """A client that is refused tries again and again, so that its requests seem to time out."""
        self._consumer.poll(0)  # calls the watch
        if self._watch.refused is not None:
            refused, self._watch.refused = self._watch.refused, None
            raise translate(refused, doing, self._servers)
