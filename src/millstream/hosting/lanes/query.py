"""A query as lanes run it: its topology, its topics, and the tasks it consists of."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from millstream.changelogs import Changelog, changelogs_of
from millstream.config import StreamsConfig
from millstream.errors import TopologyError
from millstream.kafka.admin import Partition
from millstream.topology.nodes import OffsetReset, SourceNode
from millstream.topology.topology import Topology

#: Into how many slots all tasks fall; so many lanes at most have something to do.
SLOTS = 32
#: From a task's slot to the next one's: far enough that lanes share a query, whether slots are dealt out or cut in two.
_STEP = 17


@dataclass(frozen=True)
class HostedTaskId:
    """A task of a query: which nodes it runs, what it reads, and the slot that decides which lane has it."""

    query: str
    application: str
    sub_topology: int
    partition: int
    nodes: frozenset[str] = field(hash=False, repr=False)
    inputs: tuple[Partition, ...]
    slot: int

    @property
    def name(self) -> str:
        """As Kafka Streams writes it."""
        return f"{self.sub_topology}_{self.partition}"

    @property
    def key(self) -> bytes:
        """Of its note."""
        return f"{self.application}/{self.name}".encode()


@dataclass(frozen=True)
class HostedQuery:
    """A query.

    Args:
        id: its name among the queries of a service.
        topology: what it does.
        config: how, and under which `application_id`.
        counts: how many partitions the topics have that it reads or writes, by their real names.
        starts: where it begins to read inputs that it has never read.
        changelog_ids: the topics that its stores' changelogs are: one of the same name that was made later has lost
            what was in them.
    """

    id: str
    topology: Topology
    config: StreamsConfig
    counts: Mapping[str, int] = field(hash=False)
    starts: Mapping[Partition, int] = field(hash=False)
    changelog_ids: Mapping[str, str] = field(hash=False, default_factory=dict)

    @cached_property
    def changelogs(self) -> dict[str, Changelog]:
        """By store."""
        return changelogs_of(self.topology, self.config.application_id)

    @cached_property
    def tasks(self) -> list[HostedTaskId]:
        """All of its tasks. Those of one part lie in different slots, so that lanes share them."""
        application = self.config.application_id
        first = zlib.crc32(application.encode())
        found: list[HostedTaskId] = []
        for part in self.topology.sub_topologies():
            if part.is_global:
                raise TopologyError(f"query {self.id} has a global table", detail="lanes have none")
            topics = [topic for node in self._sources(part.nodes) for topic in self._topics(node)]
            for partition in range(max(self.counts[topic] for topic in topics)):
                inputs = tuple((topic, partition) for topic in topics if partition < self.counts[topic])
                # Of nothing else: its note is found in its slot, also when other topics have grown.
                slot = (first + (part.id + partition) * _STEP) % SLOTS
                nodes = frozenset(part.nodes)
                found.append(HostedTaskId(self.id, application, part.id, partition, nodes, inputs, slot))
        return found

    def real_name(self, topic: str) -> str:
        """The name on the broker."""
        return f"{self.config.application_id}-{topic}" if topic in self.topology.internal_topics else topic

    def reset_of(self, topic: str) -> OffsetReset:
        """Where to go on in a topic that does not have what comes next."""
        for node in self._sources(self.topology.nodes):
            if node.offset_reset is not None and topic in self._topics(node):
                return node.offset_reset
        return self.config.offset_reset

    def _sources(self, names: Iterable[str]) -> Iterator[SourceNode]:
        for name in names:
            node = self.topology.nodes[name]
            if isinstance(node, SourceNode):
                if node.pattern is not None:
                    raise TopologyError(f"query {self.id} reads topics by a pattern", detail="lanes read named topics")
                yield node

    def _topics(self, node: SourceNode) -> list[str]:
        return [self.real_name(topic) for topic in node.topics]
