"""What the console asks Kafka."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, TopicPartition

from millstream.config import StreamsConfig
from millstream.kafka.admin import Partition
from millstream.kafka.clients import make_consumer
from millstream.kafka.errors import KafkaError, translate
from millstream.kafka.group_admin import Group, GroupAdmin
from millstream.sql.engine.topics import TopicRecord

#: How long a browser waits for records.
_READ_SECONDS = 8.0
_PATIENCE = timedelta(seconds=10)
#: How long it is believed that a topic is still there.
_TOPICS_SECONDS = 10.0


@dataclass(frozen=True)
class GroupLag:
    """A consumer group and how far it is in a topic, by partition."""

    name: str
    state: str
    positions: dict[int, int]


class Looking(Protocol):
    """Looks at topics, records and groups; changes nothing. Its methods may be called from any thread."""

    def topics(self) -> dict[str, int]:
        """All topics, and how many partitions they have."""

    def bounds(self, partitions: Iterable[Partition]) -> dict[Partition, tuple[int, int]]:
        """The first offset, and the one after the last committed record, of each partition."""

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The offset after the last committed record of each partition; those that do not exist are left out."""

    def groups(self, topic: str) -> list[GroupLag]:
        """The groups that have positions in a topic."""

    def group(self, name: str) -> Group:
        """A group and its members."""

    def records(self, ranges: dict[Partition, tuple[int, int]]) -> list[TopicRecord]:
        """The committed records between offsets; those that do not come in time are left out."""

    def close(self) -> None:
        """Leave the brokers."""


class KafkaLooking:
    """See `Looking`.

    Args:
        config: where the brokers are and how to reach them.
    """

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config
        self._admin = GroupAdmin(config, timeout=_PATIENCE)
        #: The topics that there were lately, and when that was: pages ask for ends all the time.
        self._topics: tuple[float, dict[str, int]] = (-_TOPICS_SECONDS, {})

    def topics(self) -> dict[str, int]:
        found = self._admin.topics(internal=True)
        self._topics = (time.monotonic(), found)
        return found

    def bounds(self, partitions: Iterable[Partition]) -> dict[Partition, tuple[int, int]]:
        wanted = list(partitions)
        begins, ends = self._admin.begin_offsets(wanted), self._admin.end_offsets(wanted, committed=True)
        return {at: (begins[at], ends[at]) for at in wanted}

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        wanted, (asked, known) = list(partitions), self._topics
        if time.monotonic() > asked + _TOPICS_SECONDS or any(at[1] >= known.get(at[0], 0) for at in wanted):
            known = self.topics()
        try:
            return self._admin.end_offsets([at for at in wanted if at[1] < known.get(at[0], 0)], committed=True)
        except KafkaError:
            self._topics = (-_TOPICS_SECONDS, {})  # one of them may be gone
            raise

    def groups(self, topic: str) -> list[GroupLag]:
        found = []
        with closing(GroupAdmin(self._config, timeout=_PATIENCE)) as admin:  # it keeps a consumer for each group
            for name, state in admin.groups().items():
                positions = {number: at for (of, number), at in admin.positions(name).items() if of == topic}
                if positions:
                    found.append(GroupLag(name, state, positions))
        return found

    def group(self, name: str) -> Group:
        return self._admin.describe(name)

    def records(self, ranges: dict[Partition, tuple[int, int]]) -> list[TopicRecord]:
        waiting = {at: end for at, (begin, end) in ranges.items() if begin < end}
        if not waiting:
            return []
        overrides = {
            "group.id": f"millstream-console-{uuid.uuid4().hex}",
            "isolation.level": "read_committed",
            "enable.partition.eof": "true",
        }
        found: list[TopicRecord] = []
        deadline = time.monotonic() + _READ_SECONDS
        with closing(make_consumer(self._config, overrides=overrides)) as consumer:
            consumer.assign([TopicPartition(*at, ranges[at][0]) for at in waiting])
            while waiting and (left := deadline - time.monotonic()) > 0:
                for message in consumer.consume(500, min(left, 0.5)):
                    at = (message.topic() or "", message.partition() or 0)
                    error = message.error()
                    if error is not None and error.code() != ClientError._PARTITION_EOF:
                        doing = f"read topic {at[0]}"
                        raise translate(KafkaException(error), doing, self._config.bootstrap_servers)
                    if error is not None or (message.offset() or 0) >= ranges[at][1] - 1:
                        waiting.pop(at, None)
                    if error is None and (message.offset() or 0) < ranges[at][1]:
                        found.append(_record(message))
        return found

    def close(self) -> None:
        self._admin.close()


def _record(message: Message) -> TopicRecord:
    headers: Any = message.headers() or ()
    return TopicRecord(
        message.topic() or "",
        message.key(),
        message.value(),
        message.timestamp()[1],
        tuple(headers),
        message.partition() or 0,
        message.offset() or 0,
    )
