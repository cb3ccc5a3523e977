"""What runs when: a topology's tasks in waves.

A batch begins with the records of its topics. Tasks fed by them run in wave 0; what those write to repartition topics
goes through a Spark exchange and is the input of wave 1, and so on. A sub-topology runs as late as its latest input, so
that it can take all of them by timestamp. Only an input that depends on the sub-topology itself (the responses of a
foreign-key join) makes it run a second time in the same batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream.errors import TopologyError
from millstream.topology.nodes import SinkNode, SourceNode
from millstream.topology.partitions import resolve_partitions
from millstream.topology.topology import Topology

#: A topic and a partition.
Partition = tuple[str, int]


@dataclass(frozen=True)
class TaskId:
    """One task: a partition of a sub-topology."""

    sub_topology: int
    partition: int

    @property
    def name(self) -> str:
        """As Kafka Streams writes it."""
        return f"{self.sub_topology}_{self.partition}"


@dataclass(frozen=True)
class Part:
    """A sub-topology: its nodes, and the undecorated topics of its sources by the wave they are read in."""

    id: int
    nodes: tuple[str, ...]
    topics: Mapping[str, int]
    partitions: int


class Plan:
    """The waves of a topology whose topics have these partition counts."""

    def __init__(self, topology: Topology, external: Mapping[str, int]) -> None:
        self.external = dict(external)
        self.internal = resolve_partitions(topology, external)
        self._topology = topology
        self._owner = {name: part.id for part in topology.sub_topologies() if not part.is_global for name in part.nodes}
        self._waves = self._source_waves()
        self.parts = {
            part.id: self._part(part.id, part.nodes) for part in topology.sub_topologies() if not part.is_global
        }
        self.waves = 1 + max((wave for part in self.parts.values() for wave in part.topics.values()), default=0)
        #: Every task in a fixed order; its place decides its lane.
        self.tasks = [
            TaskId(part.id, partition) for part in self.parts.values() for partition in range(part.partitions)
        ]
        #: The place of each sub-topology's first task: with many tasks, looking for one in the list takes long.
        self._first: dict[int, int] = {}
        for place, task_id in enumerate(self.tasks):
            self._first.setdefault(task_id.sub_topology, place)
        self._readers: dict[str, list[int]] = {}
        for part in self.parts.values():
            for topic in part.topics:
                self._readers.setdefault(topic, []).append(part.id)

    def partitions_of(self, topic: str) -> int:
        """How many partitions a topic has, undecorated names for internal ones."""
        count = self.internal.get(topic)
        return self.external[topic] if count is None else count

    def tasks_of_lane(self, lane: int, lanes: int) -> list[TaskId]:
        """The tasks that a lane owns."""
        return self.tasks[lane::lanes]

    def lane_of(self, task_id: TaskId, lanes: int) -> int:
        """The lane that owns a task."""
        return (self._first[task_id.sub_topology] + task_id.partition) % lanes

    def reading_lane(self, topic: str, partition: int, lanes: int) -> int:
        """The lane that reads a partition: the one of the first task that takes it in wave 0, else any fixed one."""
        for part in self.readers(topic):
            if self.parts[part].topics[topic] == 0:
                return self.lane_of(TaskId(part, partition), lanes)
        return partition % lanes

    def readers(self, topic: str) -> list[int]:
        """The sub-topologies that read a topic."""
        return self._readers.get(topic, [])

    def meeting(self) -> list[set[str]]:
        """Sets of topics on the broker whose records meet: in a task that takes several, or behind an exchange."""
        writers = self._writers()
        groups: list[tuple[set[str], bool]] = []
        for part in self.parts.values():
            written = {topic for topic, sinks in writers.items() if any(self._owner[sink] == part.id for sink in sinks)}
            topics, meet = {*part.topics, *written}, len(part.topics) > 1 or bool(written)
            apart = [group for group in groups if group[0].isdisjoint(topics)]
            for others, others_meet in [group for group in groups if not group[0].isdisjoint(topics)]:
                topics |= others
                meet |= others_meet
            groups = [*apart, (topics, meet)]
        return [topics - set(self.internal) for topics, meet in groups if meet]

    def _part(self, part_id: int, nodes: Iterable[str]) -> Part:
        topics: dict[str, int] = {}
        for name in nodes:
            node = self._topology.nodes[name]
            if isinstance(node, SourceNode):
                for topic in self.topics_of(node):
                    topics[topic] = self._waves[name]
        counts = [self.partitions_of(topic) for topic in topics]
        return Part(part_id, tuple(nodes), topics, max(counts, default=0))

    def topics_of(self, node: SourceNode) -> list[str]:
        """A source's topics; those of a pattern are the known topics that match it."""
        if node.pattern is None:
            return list(node.topics)
        return sorted(topic for topic in self.external if node.pattern.fullmatch(topic))

    def _source_waves(self) -> dict[str, int]:
        """The wave in which each source is read, found by raising waves until nothing changes."""
        nodes = self._topology.nodes
        sources = {name: node for name, node in nodes.items() if isinstance(node, SourceNode) and name in self._owner}
        writers = self._writers()
        feeds = {
            name: frozenset[str]().union(
                *(self._upstream(sink) for topic in node.topics for sink in writers.get(topic, ()))
            )
            for name, node in sources.items()
        }
        # Where two sub-topologies feed each other, what is independent by sources cannot always be kept together.
        for together in (self._independent(feeds), self._independent_by_parts(feeds, writers)):
            waves = _settled(feeds, together)
            if waves is not None:
                return waves
        raise TopologyError("the repartition topics of this topology feed each other in a circle")

    def _independent(self, feeds: Mapping[str, frozenset[str]]) -> list[list[str]]:
        """Of each sub-topology, the sources that depend on no source of the same one."""

        def all_above(name: str) -> set[str]:
            seen: set[str] = set()
            waiting = [*feeds[name]]
            while waiting:
                source = waiting.pop()
                if source not in seen:
                    seen.add(source)
                    waiting.extend(feeds[source])
            return seen

        found: dict[int, list[str]] = {}
        for name in feeds:
            if all(self._owner[source] != self._owner[name] for source in all_above(name)):
                found.setdefault(self._owner[name], []).append(name)
        return list(found.values())

    def _independent_by_parts(
        self, feeds: Mapping[str, frozenset[str]], writers: Mapping[str, list[str]]
    ) -> list[list[str]]:
        """The same, where whatever a sub-topology writes counts as depending on all that it reads."""
        above = self._reachable(writers)
        found: dict[int, list[str]] = {}
        for name, feeders in feeds.items():
            part = self._owner[name]
            if not any(part in above[self._owner[feeder]] for feeder in feeders):
                found.setdefault(part, []).append(name)
        return list(found.values())

    def _writers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, node in self._topology.nodes.items():
            if isinstance(node, SinkNode) and node.topic in self._topology.internal_topics:
                found.setdefault(str(node.topic), []).append(name)
        return found

    def _upstream(self, name: str) -> frozenset[str]:
        """The sources above a node."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting.extend(self._topology.nodes[node].parents)
        return frozenset(node for node in seen if isinstance(self._topology.nodes[node], SourceNode))

    def _reachable(self, writers: Mapping[str, list[str]]) -> dict[int, set[int]]:
        """For each sub-topology, itself and those whose output it can see."""
        direct: dict[int, set[int]] = {part: {part} for part in self._owner.values()}
        for name, part in self._owner.items():
            node = self._topology.nodes[name]
            if isinstance(node, SourceNode):
                for topic in node.topics:
                    direct[part].update(self._owner[writer] for writer in writers.get(topic, ()))
        changed = True
        while changed:
            changed = False
            for above in direct.values():
                more = set[int]().union(*(direct[other] for other in above))
                if not more <= above:
                    above |= more
                    changed = True
        return direct


def _settled(feeds: Mapping[str, frozenset[str]], together: Iterable[Iterable[str]]) -> dict[str, int] | None:
    """The first wave in which each source can be read after all that feed it; None if there is none.

    Args:
        feeds: for each source those that feed it.
        together: sources that are to be read in the same wave.
    """
    waves = dict.fromkeys(feeds, 0)
    for _ in range(len(feeds) + 1):  # each turn settles one wave at least
        before = dict(waves)
        for name, feeders in feeds.items():
            waves[name] = max([waves[name], *(1 + waves[source] for source in feeders)])
        for group in together:
            latest = max(waves[name] for name in group)
            waves.update(dict.fromkeys(group, latest))
        if waves == before:
            return waves
    return None
