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


@dataclass(frozen=True)
class Slot:
    """One task: a partition of a sub-topology."""

    sub_topology: int
    partition: int

    @property
    def task_id(self) -> str:
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
        self.slots = [Slot(part.id, partition) for part in self.parts.values() for partition in range(part.partitions)]
        self._readers: dict[str, list[int]] = {}
        for part in self.parts.values():
            for topic in part.topics:
                self._readers.setdefault(topic, []).append(part.id)

    def partitions_of(self, topic: str) -> int:
        """How many partitions a topic has, undecorated names for internal ones."""
        count = self.internal.get(topic)
        return self.external[topic] if count is None else count

    def slots_of_lane(self, lane: int, lanes: int) -> list[Slot]:
        """The tasks that a lane owns."""
        return self.slots[lane::lanes]

    def lane_of(self, slot: Slot, lanes: int) -> int:
        """The lane that owns a task."""
        return self.slots.index(slot) % lanes

    def readers(self, topic: str) -> list[int]:
        """The sub-topologies that read a topic."""
        return self._readers.get(topic, [])

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
        waves = dict.fromkeys(sources, 0)
        writers = self._writers()
        feeds = {
            name: frozenset[str]().union(
                *(self._upstream(sink) for topic in node.topics for sink in writers.get(topic, ()))
            )
            for name, node in sources.items()
        }
        above = self._reachable(writers)
        for _ in range(len(sources) * len(sources) + 1):
            before = dict(waves)
            for name in sources:
                if feeds[name]:
                    waves[name] = max(waves[name], 1 + max(waves[source] for source in feeds[name]))
            for part in set(self._owner.values()):
                mine = [name for name in sources if self._owner[name] == part]
                independent = [
                    name for name in mine if not any(part in above[self._owner[feeder]] for feeder in feeds[name])
                ]
                latest = max((waves[name] for name in independent), default=0)
                for name in independent:
                    waves[name] = latest
            if waves == before:
                return waves
        raise TopologyError("the repartition topics of this topology feed each other in a circle")

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
