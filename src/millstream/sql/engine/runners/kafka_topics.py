"""The topics of a Kafka cluster."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer, TopicPartition

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_admin, make_consumer, make_producer
from millstream.kafka.errors import translate
from millstream.kafka.topics import NewTopic
from millstream.sql.engine.topics import TopicDescription, TopicRecord, check_alike

_SECONDS = 30.0
_POLL_SECONDS = 0.5


class KafkaTopics:
    """See `Topics`. Clients are made when they are first needed.

    Args:
        config: where the brokers are and how to reach them.
    """

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config
        self._admin = Admin(config)
        self._client = make_admin(config)
        self._producer: Producer | None = None

    def describe(self, name: str) -> TopicDescription | None:
        return self._all().get(name)

    def names(self) -> list[str]:
        return sorted(self._all())

    def _all(self) -> dict[str, TopicDescription]:
        try:
            metadata = self._client.list_topics(timeout=_SECONDS)
        except KafkaException as error:
            raise translate(error, "list topics", self._config.bootstrap_servers) from error
        found = {}
        for name, topic in metadata.topics.items():
            if topic.error is None and topic.partitions:
                copies = min(len(partition.replicas) for partition in topic.partitions.values())
                found[name] = TopicDescription(name, len(topic.partitions), copies)
        return found

    def has(self, topic: TopicDescription) -> bool:
        existing = self.describe(topic.name)
        if existing is None:
            return False
        check_alike(topic, existing)
        return True

    def create(self, topic: TopicDescription) -> bool:
        if self.has(topic):
            return False
        created = self._admin.create_topics(
            [NewTopic(topic.name, topic.partitions, topic.config)],
            replication_factor=None if topic.replicas < 1 else topic.replicas,
        )
        return topic.name in created

    def delete(self, name: str) -> None:
        if self.describe(name) is not None:
            self._admin.delete_topics([name])

    def write(self, record: TopicRecord) -> None:
        failed: list[ClientError] = []

        def delivered(error: ClientError | None, _: Message) -> None:
            if error is not None:
                failed.append(error)

        if self._producer is None:
            self._producer = make_producer(self._config, overrides={"linger.ms": "0"})
        self._producer.produce(
            record.topic,
            record.value,
            record.key,
            timestamp=record.timestamp,
            headers=list(record.headers),
            on_delivery=delivered,
        )
        left = self._producer.flush(_SECONDS)
        if failed or left:
            reason = failed[0] if failed else ClientError(ClientError._TIMED_OUT)
            doing = f"write to topic {record.topic}"
            raise translate(KafkaException(reason), doing, self._config.bootstrap_servers)

    def read(self, name: str, *, from_beginning: bool) -> Iterator[TopicRecord]:
        """Records as they come; it never ends by itself."""
        description = self.describe(name)
        partitions = range(0 if description is None else description.partitions)
        consumer = make_consumer(self._config, overrides={"group.id": f"millstream-print-{uuid.uuid4().hex}"})
        places = [(name, partition) for partition in partitions]
        ends = {} if from_beginning else self._admin.end_offsets(places)
        consumer.assign(
            [TopicPartition(topic, partition, ends.get((topic, partition), 0)) for topic, partition in places]
        )
        try:
            while True:
                message = consumer.poll(_POLL_SECONDS)
                if message is None:
                    continue
                problem = message.error()
                if problem is not None:
                    raise translate(KafkaException(problem), f"read topic {name}", self._config.bootstrap_servers)
                yield _record(message)
        finally:
            consumer.close()

    def close(self) -> None:
        """Leave the brokers."""
        self._admin.close()


def _record(message: Message) -> TopicRecord:
    found: Any = message.headers() or []  # the client promises less than it keeps: names, and bytes or None
    return TopicRecord(
        message.topic() or "",
        message.key(),
        message.value(),
        message.timestamp()[1],
        tuple(found),
        message.partition() or 0,
        message.offset() or 0,
    )
