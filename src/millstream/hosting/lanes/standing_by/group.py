"""Who is in the lanes' group, and which slots each has.

Asked with librdkafka's old function: the newer one aborts the process if a broker goes while it is asked (librdkafka
issues 4605 and 5040), and this is asked all the time.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from millstream.config import StreamsConfig
from millstream.kafka.clients import make_admin

_ASKING_SECONDS = 5.0
_VERSION_SIZE = 2
_SHORT, _INT = Struct(">h"), Struct(">i")


@dataclass(frozen=True)
class Member:
    """A lane in the group.

    Args:
        id: its name in the group, which is another one each time it joins.
        client: its client id, which tells what it is.
        host: where brokers see it.
        slots: what it has.
    """

    id: str
    client: str
    host: str
    slots: frozenset[int]


class Group:
    """Looks at a group.

    Args:
        config: where the brokers are.
        name: the group.
        topic: the topic of slots.
    """

    def __init__(self, config: StreamsConfig, name: str, topic: str) -> None:
        self._config = config
        self._name = name
        self._topic = topic
        self._client: AdminClient | None = None

    def look(self) -> list[Member] | None:
        """Its members, each with its slots; None while they are shared out anew, or brokers do not answer."""
        if self._client is None:
            self._client = make_admin(self._config)
        # Said each time; where warnings are errors, that would be an error of another kind in the middle of it.
        warnings.filterwarnings("ignore", "list_groups", DeprecationWarning)
        try:
            found: list[Any] = self._client.list_groups(self._name, _ASKING_SECONDS)
        except KafkaException:
            return None
        if not found or found[0].state in ("Empty", "Dead"):
            return []
        if found[0].state != "Stable":
            return None
        return [
            Member(one.id, one.client_id, one.client_host.lstrip("/"), frozenset(assigned(one.assignment, self._topic)))
            for one in found[0].members
        ]


def assigned(data: bytes, topic: str) -> Iterator[int]:
    """The partitions of a topic in an assignment, as Kafka's consumers write it."""
    at = _VERSION_SIZE
    if len(data) < at:  # a member that has just come
        return
    (topics,) = _INT.unpack_from(data, at)
    at += _INT.size
    for _ in range(topics):
        (length,) = _SHORT.unpack_from(data, at)
        at += _SHORT.size
        name = data[at : at + length].decode()
        at += length
        (count,) = _INT.unpack_from(data, at)
        at += _INT.size
        if name == topic:
            yield from (_INT.unpack_from(data, at + number * _INT.size)[0] for number in range(count))
        at += count * _INT.size
