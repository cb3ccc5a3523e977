"""What the engine needs of Kafka: topics, and single records in and out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from millstream.sql.errors import SqlError


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic."""

    name: str
    partitions: int = 1
    replicas: int = 1
    config: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record of a topic, serialised."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0
    offset: int = 0


class Topics(Protocol):
    """The topics of a cluster."""

    def describe(self, name: str) -> TopicDescription | None:
        """A topic, or None when there is none of that name."""

    def names(self) -> list[str]:
        """All topics, sorted."""

    def has(self, topic: TopicDescription) -> bool:
        """Whether a topic is there, and as described.

        Raises:
            SqlError: the topic is there, and another.
        """

    def create(self, topic: TopicDescription) -> bool:
        """Make a topic; False if it is there already, as described.

        Raises:
            SqlError: the topic is there, and another.
        """

    def delete(self, name: str) -> None:
        """Delete a topic; nothing happens when there is none."""

    def write(self, record: TopicRecord) -> None:
        """Append a record. Its partition follows from its key; partition and offset of the argument do not count."""

    def read(self, name: str, *, from_beginning: bool) -> Iterable[TopicRecord]:
        """Records of a topic as they come, without end unless the topics end (those in memory do)."""


def check_alike(wanted: TopicDescription, existing: TopicDescription) -> None:
    """See that a topic that is there can be taken for one that is wanted.

    Raises:
        SqlError: it has other partitions or copies.
    """
    if wanted.partitions != existing.partitions or wanted.replicas not in (-1, existing.replicas):
        raise SqlError(
            f"A Kafka topic with the name '{wanted.name}' already exists, with different partition/replica "
            f"configuration than required. KSQL expects {wanted.partitions} partitions (topic has "
            f"{existing.partitions}), and {wanted.replicas} replication factor (topic has {existing.replicas})."
        )


class InMemoryTopics:
    """Topics in this process, for tests: one partition each, whatever they and those who make them again say.

    Args:
        default: makes a topic that is asked for and not there; by default there are only those created.
    """

    def __init__(self, default: Callable[[str], TopicDescription] | None = None) -> None:
        self._default = default
        self._topics: dict[str, TopicDescription] = {}
        self._records: dict[str, list[TopicRecord]] = {}
        self.listeners: list[Callable[[TopicRecord], None]] = []

    def describe(self, name: str) -> TopicDescription | None:
        if name not in self._topics and self._default is not None:
            self.create(self._default(name))
        return self._topics.get(name)

    def names(self) -> list[str]:
        return sorted(self._topics)

    def has(self, topic: TopicDescription) -> bool:
        return topic.name in self._topics

    def create(self, topic: TopicDescription) -> bool:
        if self.has(topic):
            return False
        self._topics[topic.name] = topic
        return True

    def delete(self, name: str) -> None:
        self._topics.pop(name, None)
        self._records.pop(name, None)

    def write(self, record: TopicRecord) -> None:
        self._topics.setdefault(record.topic, TopicDescription(record.topic))
        log = self._records.setdefault(record.topic, [])
        written = TopicRecord(
            record.topic, record.key, record.value, record.timestamp, record.headers, partition=0, offset=len(log)
        )
        log.append(written)
        for listener in self.listeners:
            listener(written)

    def read(self, name: str, *, from_beginning: bool) -> list[TopicRecord]:
        return list(self._records.get(name, ())) if from_beginning else []
