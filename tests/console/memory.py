"""What the console asks, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.console.kafka.looking import GroupLag
from millstream.errors import MillstreamError
from millstream.kafka.admin import Partition
from millstream.kafka.group_admin import Group, Member
from millstream.sql.engine.topics import InMemoryTopics, TopicRecord
from millstream.task.watching.watch import Seen


class MemoryLooking:
    """See `Looking`: topics of one partition."""

    def __init__(self, topics: InMemoryTopics) -> None:
        self._topics = topics
        self.asked = 0
        self.is_away = False

    def topics(self) -> dict[str, int]:
        return dict.fromkeys(self._topics.names(), 1)

    def bounds(self, partitions: Iterable[Partition]) -> dict[Partition, tuple[int, int]]:
        return {at: (0, end) for at, end in self.ends(partitions).items()}

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        if self.is_away:
            raise MillstreamError("the broker is away")
        self.asked += 1
        return {at: len(self._topics.read(at[0], from_beginning=True)) for at in partitions if at[0] in self.topics()}

    def groups(self, topic: str) -> list[GroupLag]:
        return [GroupLag("readers", "stable", {0: 1})]

    def group(self, name: str) -> Group:
        return Group(name, "stable", (Member("lane", "here", (("slots", 2), ("slots", 1))),))

    def records(self, ranges: dict[Partition, tuple[int, int]]) -> list[TopicRecord]:
        return [
            record
            for (topic, _), (begin, end) in ranges.items()
            for record in self._topics.read(topic, from_beginning=True)[begin:end]
        ]

    def close(self) -> None:
        pass


class MemoryLanes:
    """See `Lanes`."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, float]] = {}
        self.lanes = {0, 1}
        self.seen: list[Seen] = []

    def told(self) -> dict[str, dict[str, float]]:
        return {query: dict(found) for query, found in self.known.items()}

    def figures(self) -> dict[str, dict[str, float]]:
        return {
            query: {"process-total": found["processed"], "records-lag": found.get("lag", 0.0)}
            for query, found in self.known.items()
        }

    def tasks(self) -> dict[str, dict[int, tuple[tuple[str, ...], Mapping[str, float]]]]:
        return {query: {0: (("0_0", "0_1"), {}), 1: ((), {"0_2": 0.4}), 7: (("0_9",), {})} for query in self.known}

    def places(self) -> dict[int, tuple[str, int]]:
        return {lane: ("here", 100 + lane) for lane in self.lanes}

    def look(self, query_id: str, seconds: float) -> list[Seen]:
        return self.seen
