"""Looking at consumer groups: who is in them, and how far they are; and deleting them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupTopicPartitions

from millstream.kafka.admin import Admin, Partition
from millstream.kafka.errors import KafkaError


@dataclass(frozen=True)
class Member:
    """A consumer in a group.

    Args:
        client: its client id.
        host: where it runs.
        partitions: what it was assigned.
    """

    client: str
    host: str
    partitions: tuple[Partition, ...]


@dataclass(frozen=True)
class Group:
    """A consumer group.

    Args:
        name: its id.
        state: "stable", "empty" (it has positions, and nobody is in it), "dead" (there is no such group) ...
        members: who is in it.
    """

    name: str
    state: str
    members: tuple[Member, ...]


class GroupAdmin(Admin):
    """An admin client for groups."""

    def groups(self) -> dict[str, str]:
        """The groups there are, and their states."""
        found = self._result(self._client.list_consumer_groups(request_timeout=self._seconds), "list groups")
        for error in found.errors:
            raise KafkaError("cannot list all groups", detail=str(error))
        return {group.group_id: _state(group) for group in sorted(found.valid, key=lambda group: group.group_id)}

    def describe(self, group: str) -> Group:
        """A group; one that does not exist is dead."""
        self._wait_for_coordinator(group)
        (future,) = self._client.describe_consumer_groups([group], request_timeout=self._seconds).values()
        try:
            found = self._result(future, f"describe group {group}")
        except KafkaError as error:
            if "GROUP_ID_NOT_FOUND" in str(error.detail):  # brokers since 4.0
                return Group(group, "dead", ())
            raise
        return Group(
            group,
            _state(found),
            tuple(
                Member(
                    member.client_id,
                    member.host.lstrip("/"),
                    tuple((at.topic, at.partition) for at in member.assignment.topic_partitions),
                )
                for member in found.members
            ),
        )

    def positions(self, group: str) -> dict[Partition, int]:
        """All positions that a group committed."""
        self._wait_for_coordinator(group)
        request = [ConsumerGroupTopicPartitions(group)]
        (future,) = self._client.list_consumer_group_offsets(request, request_timeout=self._seconds).values()
        found = self._result(future, f"get offsets of group {group}")
        return {(at.topic, at.partition): at.offset for at in found.topic_partitions if at.offset >= 0}

    def delete_groups(self, groups: Collection[str]) -> None:
        """Delete groups and their positions; those that do not exist are left alone."""
        for group in groups:
            self._wait_for_coordinator(group)
            (future,) = self._client.delete_consumer_groups([group], request_timeout=self._seconds).values()
            try:
                self._result(future, f"delete group {group}")
            except KafkaError as error:
                if "GROUP_ID_NOT_FOUND" not in str(error.detail):
                    raise

    def _wait_for_coordinator(self, group: str) -> None:
        """The admin client of librdkafka crashes the process while a group's coordinator starts (its issue 5040)."""
        topic = next(iter(self.topics(internal=True)), None)
        if topic is not None:
            self.committed_offsets([(topic, 0)], group)


def _state(group: object) -> str:
    return str(group.state.name).lower().replace("_", " ")  # type: ignore[attr-defined]
