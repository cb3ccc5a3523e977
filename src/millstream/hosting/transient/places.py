"""Where reading begins, fixed before anybody is told that it has begun."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from millstream.kafka.admin import Admin
from millstream.kafka.errors import BrokerUnavailable, TopicMissing

_ASKING_SECONDS = 5.0
_AGAIN_SECONDS = 0.1
#: A topic and a partition.
Partition = tuple[str, int]


@dataclass(frozen=True)
class Places:
    """The partitions of topics, as they were at one moment.

    Attributes:
        starts: the offset at which each is read from.
        ends: the offset after its last committed record.
    """

    starts: Mapping[Partition, int]
    ends: Mapping[Partition, int]

    @property
    def counts(self) -> dict[str, int]:
        """How many partitions each topic has."""
        counts: dict[str, int] = {}
        for topic, partition in self.ends:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
        return counts


def places(admin: Admin, topics: Collection[str], *, from_beginning: bool) -> Places:
    """Where topics begin, or end, now.

    Raises:
        TopicMissing: a topic does not exist.
    """
    counts = admin.require_topics(topics)
    partitions = [(topic, number) for topic, count in counts.items() for number in range(count)]
    ends = _patiently(lambda: admin.end_offsets(partitions, committed=True))
    return Places(_patiently(lambda: admin.begin_offsets(partitions)) if from_beginning else ends, ends)


def _patiently(ask: Callable[[], dict[Partition, int]]) -> dict[Partition, int]:
    """Ask again for a while: the leader of a topic that was just made may not know it yet."""
    deadline = time.monotonic() + _ASKING_SECONDS
    while True:
        try:
            return ask()
        except (BrokerUnavailable, TopicMissing):
            if time.monotonic() > deadline:
                raise
        time.sleep(_AGAIN_SECONDS)
