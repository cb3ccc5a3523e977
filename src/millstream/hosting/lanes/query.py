"""A query as lanes run it: its topology, its topics, and the tasks it consists of."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from millstream.changelogs import Changelog, changelogs_of
from millstream.config import StreamsConfig
from millstream.hosting.copartitioning import KeyPlaces
from millstream.kafka.admin import Partition
from millstream.topology.nodes import OffsetReset, SourceNode
from millstream.topology.topology import Topology

#: Into how many slots the tasks of many queries fall. So many lanes at most have something to do.
SLOTS = 32
#: From a task's slot to the next one's: far enough that lanes share a query, whether slots are dealt out or cut in two.
_STEP = 17
#: How often a query is tried again without a commit in between.
_TRIES = 4


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
        input_ids: the topics that it reads: in one that was made again, offsets mean nothing any more.
        slots: how many slots there are.
        stride: how many slots there are for the same partition of all parts, if no other query uses them; else 0.
        tries: how often it is tried again after an error, without a commit in between.
    """

    id: str
    topology: Topology
    config: StreamsConfig
    counts: Mapping[str, int] = field(hash=False)
    starts: Mapping[Partition, int] = field(hash=False)
    changelog_ids: Mapping[str, str] = field(hash=False, default_factory=dict)
    input_ids: Mapping[str, str] = field(hash=False, default_factory=dict)
    slots: int = SLOTS
    stride: int = 0
    tries: int = _TRIES

    @cached_property
    def changelogs(self) -> dict[str, Changelog]:
        """By store."""
        return changelogs_of(self.topology, self.config.application_id)

    @cached_property
    def tasks(self) -> list[HostedTaskId]:
        """All of its tasks. Those of one part lie in different slots, so that lanes share them."""
        application = self.config.application_id
        found: list[HostedTaskId] = []
        for part in self.topology.sub_topologies():
            if part.is_global:
                continue  # each lane has a copy
            topics = [topic for node in self._sources(part.nodes) for topic in self.topics_of(node)]
            for partition in range(max((self.counts[topic] for topic in topics), default=0)):
                inputs = tuple((topic, partition) for topic in topics if partition < self.counts[topic])
                slot = self._slot(part.id, partition)
                nodes = frozenset(part.nodes)
                found.append(HostedTaskId(self.id, application, part.id, partition, nodes, inputs, slot))
        return found

    def _slot(self, part: int, partition: int) -> int:
        """Of nothing else than its name: a task's note is found in its slot, also when other topics have grown."""
        if self.stride:
            # Not the same part in every so manieth slot: lanes that are dealt slots in turn would have one part each.
            return (partition * self.stride + (part + partition) % self.stride) % self.slots
        return (zlib.crc32(self.config.application_id.encode()) + (part + partition) * _STEP) % self.slots

    def real_name(self, topic: str) -> str:
        """The name on the broker."""
        return f"{self.config.application_id}-{topic}" if topic in self.topology.internal_topics else topic

    def reset_of(self, topic: str) -> OffsetReset:
        """Where to go on in a topic that does not have what comes next."""
        for node in self._sources(self.topology.nodes):
            if node.offset_reset is not None and topic in self.topics_of(node):
                return node.offset_reset
        return self.config.offset_reset

    def with_topics(self, counts: Mapping[str, int]) -> HostedQuery:
        """The same with the topics on the broker that there are now."""
        own = {self.real_name(topic) for topic in self.topology.internal_topics}
        return replace(self, counts={**counts, **{topic: self.counts[topic] for topic in own if topic in self.counts}})

    def key_places(self) -> KeyPlaces:
        """Who looks at the first keys of its joined topics."""
        own = {self.real_name(topic) for topic in self.topology.internal_topics}
        return KeyPlaces(self.topology, self.topics_of, self.counts, own)

    @property
    def external_inputs(self) -> list[Partition]:
        """What it reads that somebody else writes, without global tables; of topics that are there."""
        own = {self.real_name(topic) for topic in self.topology.internal_topics}
        of_globals = {store.source for store in self.topology.global_stores.values()}
        topics = {
            topic
            for node in self._sources(self.topology.nodes)
            if node.name not in of_globals
            for topic in self.topics_of(node)
        }
        return [(topic, number) for topic in sorted(topics - own) for number in range(self.counts.get(topic, 0))]

    @property
    def named_inputs(self) -> set[str]:
        """The topics that it reads by their names, and not because they match a pattern."""
        return {topic for node in self._sources(self.topology.nodes) for topic in node.topics}

    @property
    def global_inputs(self) -> list[Partition]:
        """What global tables are copies of."""
        topics = {store.topic for store in self.topology.global_stores.values()}
        return [(topic, partition) for topic in sorted(topics) for partition in range(self.counts[topic])]

    def topics_of(self, node: SourceNode) -> list[str]:
        """A source's topics on the broker; those of a pattern are the known topics that match it."""
        if node.pattern is None:
            return [self.real_name(topic) for topic in node.topics]
        return sorted(topic for topic in self.counts if node.pattern.fullmatch(topic))

    def _sources(self, names: Iterable[str]) -> Iterator[SourceNode]:
        for name in names:
            node = self.topology.nodes[name]
            if isinstance(node, SourceNode):
                yield node
