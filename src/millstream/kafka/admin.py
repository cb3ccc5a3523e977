"""Asking Kafka about topics, offsets and groups, and changing them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from datetime import timedelta
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import (  # type: ignore[attr-defined] # not marked as exported
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    OffsetSpec,
    ResourceType,
)
from confluent_kafka.admin import NewTopic as ClientTopic  # type: ignore[attr-defined]

from millstream.config import StreamsConfig, client_properties
from millstream.kafka.clients import ErrorWatch, make_admin
from millstream.kafka.errors import BrokerUnavailable, KafkaError, TopicMissing, translate
from millstream.kafka.groups import GroupOffsets
from millstream.kafka.topics import LATER, NewTopic

Partition = tuple[str, int]

_T = TypeVar("_T")
_EARLIEST: Any = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_GREATEST_TIME: Any = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
_SLICE_SECONDS = 0.5  # how long a request waits before it looks whether the credentials were refused meanwhile
_POLL_SECONDS = 0.1
_NO_LEADER = frozenset({ClientError.NOT_LEADER_FOR_PARTITION, ClientError.LEADER_NOT_AVAILABLE})


class Admin:
    """An admin client with Millstream's errors. Partitions are `(topic, number)`, offsets and times are numbers.

    Args:
        config: where the brokers are and how to reach them.
        timeout: how long a request may take.
    """

    def __init__(self, config: StreamsConfig, *, timeout: timedelta = timedelta(seconds=30)) -> None:
        self._config = config
        self._seconds = timeout.total_seconds()
        self._watch = ErrorWatch()
        self._client = make_admin(config, watch=self._watch)
        self._groups: dict[str, GroupOffsets] = {}
        #: Whether the client knows the brokers.
        self._has_met = False

    # Topics

    def topics(self, *, internal: bool = False) -> dict[str, int]:
        """All topics and how many partitions they have.

        Args:
            internal: whether Kafka's own, such as `__consumer_offsets`, are among them.
        """
        metadata = self._metadata("list topics")
        return {
            name: len(topic.partitions)
            for name, topic in sorted(metadata.topics.items())
            if topic.error is None and (internal or not name.startswith("__"))
        }

    def partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """How many partitions topics have. Those that do not exist are left out."""
        wanted = set(topics)
        return {name: count for name, count in self.topics(internal=True).items() if name in wanted}

    def require_topics(self, topics: Iterable[str]) -> dict[str, int]:
        """How many partitions topics have. It is an error if one does not exist."""
        wanted = list(topics)
        counts = self.partition_counts(wanted)
        if missing := sorted(set(wanted) - set(counts)):
            raise self._missing(missing)
        return counts

    def matching(self, pattern: re.Pattern[str]) -> dict[str, int]:
        """The topics whose whole name matches a pattern, and how many partitions they have."""
        return {name: count for name, count in self.topics().items() if pattern.fullmatch(name)}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """What tells a topic from another one of the same name that was there before, or comes after it.

        Brokers older than Kafka 2.8 do not tell; their topics are left out.
        """
        wanted = list(topics)
        if not wanted:
            return {}
        futures = self._client.describe_topics(TopicCollection(wanted), request_timeout=self._seconds)
        found = {name: str(self._result(future, f"look at topic {name}").topic_id) for name, future in futures.items()}
        return {name: topic_id for name, topic_id in found.items() if topic_id.strip("A=")}

    def create_topics(self, topics: Collection[NewTopic], *, replication_factor: int | None = None) -> set[str]:
        """Create topics and wait until they can be used. One that exists with as many partitions is left as it is.

        Args:
            topics: the topics.
            replication_factor: copies of each; the configuration's unless given.

        Returns:
            The names of those that were created.
        """
        if not topics:
            return set()
        copies = self._config.replication_factor if replication_factor is None else replication_factor
        general = client_properties(self._config, "topic")
        settings = {topic.name: {**topic.defaults, **general, **topic.config} for topic in topics}
        counted = {topic.name: topic.partitions for topic in topics}
        created = self._create(counted, copies, settings)
        counts = self.wait_for_topics([topic.name for topic in topics])
        for topic in topics:
            if topic.partitions not in (-1, counts[topic.name]):
                raise KafkaError(
                    f"topic {topic.name} has {counts[topic.name]} partitions",
                    detail=f"{topic.partitions} are needed",
                    hint="delete the topic, or change the number of partitions of what it is made from",
                )
        return created

    def _create(
        self, partitions: Mapping[str, int], copies: int, settings: Mapping[str, Mapping[str, str]]
    ) -> set[str]:
        """Create topics; those that an older broker refuses because of a setting are created without it."""
        requests = [ClientTopic(name, count, copies, config=dict(settings[name])) for name, count in partitions.items()]
        created = set()
        again: dict[str, int] = {}
        for name, future in self._client.create_topics(requests, request_timeout=self._seconds).items():
            try:
                self._result(future, f"create topic {name}")
                created.add(name)
            except KafkaError as error:
                if _code(error) == ClientError.INVALID_CONFIG and not LATER.isdisjoint(settings[name]):
                    again[name] = partitions[name]
                elif _code(error) != ClientError.TOPIC_ALREADY_EXISTS:
                    raise
        if again:
            without = {name: {key: settings[name][key] for key in settings[name].keys() - LATER} for name in again}
            created |= self._create(again, copies, without)
        return created

    def ensure_topic(self, topic: NewTopic) -> None:
        """Have a topic with at least so many partitions: create it, or give it more."""
        count = self.partition_counts([topic.name]).get(topic.name)
        if count is None:
            self.create_topics([topic])
        elif count < topic.partitions:
            request = [NewPartitions(topic.name, topic.partitions)]
            for future in self._client.create_partitions(request, request_timeout=self._seconds).values():
                self._result(future, f"add partitions to topic {topic.name}")
            if _until(lambda: self._has(topic) or None, self._seconds) is None:
                raise KafkaError(f"the new partitions of topic {topic.name} are not there after {self._seconds:.0f} s")

    def _has(self, topic: NewTopic) -> bool:
        return self.wait_for_topics([topic.name])[topic.name] >= topic.partitions

    def delete_topics(self, topics: Collection[str]) -> None:
        """Delete topics and wait until they are gone."""
        if not topics:
            return
        futures = self._client.delete_topics(list(topics), request_timeout=self._seconds)
        for name, future in futures.items():
            self._result(future, f"delete topic {name}")
        if _until(lambda: not self.partition_counts(topics) or None, self._seconds) is None:
            raise KafkaError(f"topics {', '.join(topics)} are still there after {self._seconds:.0f} seconds")

    def wait_for_topics(self, topics: Collection[str], timeout: timedelta | None = None) -> dict[str, int]:
        """Wait until topics exist and have leaders.

        Args:
            topics: their names.
            timeout: how long; as long as a request may take unless given.

        Returns:
            How many partitions they have.
        """

        def there() -> dict[str, int] | None:
            metadata = self._metadata("look for topics").topics
            found = {}
            for name in topics:
                topic = metadata.get(name)
                if topic is None or topic.error is not None or any(p.leader < 0 for p in topic.partitions.values()):
                    return None
                found[name] = len(topic.partitions)
            return found

        seconds = self._seconds if timeout is None else timeout.total_seconds()
        counts = _until(there, seconds)
        if counts is not None:
            return counts
        self.require_topics(topics)
        raise BrokerUnavailable(f"no leaders for topics {', '.join(topics)} after {seconds:.0f} seconds")

    def wait_until_available(self, timeout: timedelta | None = None) -> None:
        """Wait until a broker answers.

        Args:
            timeout: how long; as long as a request may take unless given.
        """
        self._metadata("reach Kafka", None if timeout is None else timeout.total_seconds())

    def cluster_id(self) -> str:
        """What tells one cluster from another."""
        return str(self._metadata("ask for the cluster's id").cluster_id)

    # Settings

    def topic_settings(self, topic: str) -> dict[str, str | None]:
        """The settings of a topic, also those that it has from the broker."""
        return self._settings(ResourceType.TOPIC, topic)

    def set_topic(self, topic: str, name: str, value: str) -> None:
        """Change one of a topic's settings."""
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        futures = self._client.incremental_alter_configs([resource], request_timeout=self._seconds)
        self._result(futures[resource], f"set {name} of topic {topic}")

    def creates_topics(self) -> bool:
        """Whether brokers create topics by themselves, when a producer asks for one that is not there."""
        broker = next(iter(self._metadata("list brokers").brokers))
        return self._settings(ResourceType.BROKER, str(broker)).get("auto.create.topics.enable") == "true"

    def _settings(self, kind: ResourceType, name: str) -> dict[str, str | None]:
        resource = ConfigResource(kind, name)
        futures = self._client.describe_configs([resource], request_timeout=self._seconds)
        found = self._result(futures[resource], f"get the settings of {kind.name.lower()} {name}")
        return {setting: entry.value for setting, entry in found.items()}

    # Offsets

    def begin_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The first offset of each partition."""
        return self._offsets(dict.fromkeys(partitions, _EARLIEST))

    def end_offsets(self, partitions: Iterable[Partition], *, committed: bool | None = None) -> dict[Partition, int]:
        """The offset after the last record of each partition.

        Args:
            partitions: the partitions.
            committed: stop at the first transaction that is still open, as a consumer of committed records does; what
                the processing guarantee says unless given.
        """
        return self._offsets(dict.fromkeys(partitions, _LATEST), committed)

    def delete_records(self, before: Mapping[Partition, int]) -> None:
        """Delete the records of partitions that lie before an offset."""
        if not before:
            return
        wanted = [TopicPartition(topic, number, offset) for (topic, number), offset in before.items()]
        for at, future in self._client.delete_records(wanted, request_timeout=self._seconds).items():
            self._result(future, f"delete records of {at.topic}-{at.partition}")

    def offsets_for_times(
        self, times: Mapping[Partition, int], *, committed: bool | None = None
    ) -> dict[Partition, int | None]:
        """The offset of the first record at or after a time, in milliseconds; None if there is no such record."""
        specs = {partition: OffsetSpec.for_timestamp(time_ms) for partition, time_ms in times.items()}
        return {partition: None if at < 0 else at for partition, at in self._offsets(specs, committed).items()}

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, tuple[int, int]]:
        """Offset and time, in milliseconds, of the record of each partition that has the greatest time.

        Partitions without records are left out.
        """
        found = self._found(dict.fromkeys(partitions, _GREATEST_TIME))
        return {partition: (at.offset, at.timestamp) for partition, at in found.items() if at.offset >= 0}

    def _offsets(self, specs: Mapping[Partition, OffsetSpec], committed: bool | None = None) -> dict[Partition, int]:
        return {partition: at.offset for partition, at in self._found(specs, committed).items()}

    def _found(self, specs: Mapping[Partition, OffsetSpec], committed: bool | None = None) -> dict[Partition, Any]:
        """What the broker finds in each partition: an offset and, if it was asked for one, a time."""
        if not specs:
            return {}
        if committed is None:
            committed = self._config.exactly_once
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        request = {TopicPartition(topic, number): spec for (topic, number), spec in specs.items()}
        if not self._has_met:
            # A client that is asked before it knows the brokers may look for leaders a second later, or three.
            self._metadata("get offsets")
        deadline = time.monotonic() + self._seconds
        while True:
            futures = self._client.list_offsets(request, isolation_level=level, request_timeout=self._seconds)
            try:
                return {
                    (at.topic, at.partition): self._result(future, f"get offsets of {at.topic}-{at.partition}")
                    for at, future in futures.items()
                }
            except KafkaError as error:
                # A topic that was just made, or a broker that just came: the client does not try again by itself.
                if _code(error) not in _NO_LEADER or time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_SECONDS)

    # Groups

    def committed_offsets(self, partitions: Iterable[Partition], group: str | None = None) -> dict[Partition, int]:
        """The positions that a consumer group committed; partitions without one are left out.

        Args:
            partitions: the partitions.
            group: the group; the application's unless given.
        """
        return self._group(group).committed(partitions)

    def commit_offsets(self, offsets: Mapping[Partition, int], group: str | None = None) -> None:
        """Set the positions of a consumer group that has no members.

        Args:
            offsets: the positions, each that of the next record to read.
            group: the group; the application's unless given.
        """
        self._group(group).commit(offsets)

    def close(self) -> None:
        """Leave the brokers."""
        while self._groups:
            self._groups.popitem()[1].close()

    def _group(self, group: str | None) -> GroupOffsets:
        name = group or self._config.application_id
        if name not in self._groups:
            self._groups[name] = GroupOffsets(self._config, name, timeout=timedelta(seconds=self._seconds))
        return self._groups[name]

    # Waiting

    def _metadata(self, doing: str, seconds: float | None = None) -> Any:
        deadline = time.monotonic() + (self._seconds if seconds is None else seconds)
        while True:
            left = deadline - time.monotonic()
            try:
                found = self._client.list_topics(timeout=max(0.01, min(left, _SLICE_SECONDS)))
                self._has_met = True
                return found
            except KafkaException as error:
                self._raise_if_refused(doing)
                failed = translate(error, doing, self._config.bootstrap_servers)
                if not isinstance(failed, BrokerUnavailable) or left <= _SLICE_SECONDS:
                    raise self._with_reason(failed) from error

    def _result(self, future: Future[_T], doing: str) -> _T:
        deadline = time.monotonic() + self._seconds + _SLICE_SECONDS  # the client's own timeout comes first
        while True:
            try:
                return future.result(timeout=_SLICE_SECONDS)
            except FutureTimeout:
                self._raise_if_refused(doing)
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(f"cannot {doing}: no answer after {self._seconds:.0f} seconds") from None
            except KafkaException as error:
                self._raise_if_refused(doing)
                raise self._with_reason(translate(error, doing, self._config.bootstrap_servers)) from error

    def _raise_if_refused(self, doing: str) -> None:
        """A client that is refused tries again and again, so that its requests seem to time out."""
        self._client.poll(0)  # calls the watch
        if self._watch.refused is not None:
            refused, self._watch.refused = self._watch.refused, None
            raise translate(refused, doing, self._config.bootstrap_servers)

    def _missing(self, topics: Iterable[str]) -> TopicMissing:
        return TopicMissing(
            f"missing topics {', '.join(topics)}",
            detail=f"bootstrap servers {self._config.bootstrap_servers}",
            hint="create them, for example with `millstream topics create`",
        )

    def _with_reason(self, error: KafkaError) -> KafkaError:
        if isinstance(error, BrokerUnavailable) and self._watch.last is not None:
            error.detail = f"{error.detail}; {self._watch.last.str()}"
        return error


def _until(found: Callable[[], _T | None], seconds: float) -> _T | None:
    """Ask until there is an answer; None if there was none in time."""
    deadline = time.monotonic() + seconds
    while (result := found()) is None and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return result


def _code(error: KafkaError) -> int | None:
    cause = error.__cause__
    return cause.args[0].code() if isinstance(cause, KafkaException) else None
