"""Whether the keys of topics that are joined lie where Kafka's partitioner puts them.

A join looks for partners in partitions of equal number. Producers of librdkafka, which most that are not written in
Java are made with, put keys elsewhere by default than Java's: half of the rows then find no partner, and nothing fails.
So lanes look at the first keys they read of such topics and report what they saw; the driver warns.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from millstream.kafka.admin import Partition
from millstream.kafka.partitioner import partition_many
from millstream.task.records import RawRecord
from millstream.topology.nodes import SourceNode
from millstream.topology.topology import Topology

log = logging.getLogger("millstream.client")

#: How many keys are looked at in each partition.
_KEYS = 100


class KeysSeen(TypedDict):
    """What a lane saw since it last told.

    groups: topics on the broker that are joined, and whether also with records that were given new keys here.
    keys: of each topic, how many keys were looked at, how many are not where murmur2 puts them, and how many are where
            CRC32 does.
    """

    groups: list[tuple[list[str], bool]]
    keys: dict[str, list[int]]


class KeyPlaces:
    """A lane's look at the first keys of each partition.

    Args:
        topology: which topics are joined.
        topics_of: the topics of a source.
        counts: how many partitions topics have that others write.
        own: the topics that the application writes for itself, where it puts keys.
    """

    def __init__(
        self,
        topology: Topology,
        topics_of: Callable[[SourceNode], list[str]],
        counts: Mapping[str, int],
        own: Collection[str],
    ) -> None:
        self._groups: list[tuple[list[str], bool]] = []
        #: How many keys of a partition are still to be looked at.
        self._left: dict[Partition, int] = {}
        self._counts: dict[str, int] = {}
        for names in topology.copartition_groups:
            sources = [node for name in names if isinstance(node := topology.nodes[name], SourceNode)]
            topics = {topic for node in sources for topic in topics_of(node)}
            read = sorted(topics - set(own))
            if len(topics) > 1 and read and counts[read[0]] > 1:
                self._groups.append((read, len(read) < len(topics)))
                for topic in read:
                    self._counts[topic] = counts[topic]
                    self._left.update({(topic, number): _KEYS for number in range(self._counts[topic])})
        self._keys: dict[str, list[int]] = {}

    def look(self, partition: Partition, records: list[RawRecord]) -> None:
        """See where keys lie, if this partition's were not seen enough."""
        left = self._left.get(partition)
        if left is None:
            return
        # No key, and for librdkafka also an empty one: anywhere.
        keys = [key for key in (record[0] for record in records[:left]) if key]
        topic, place = partition
        count = self._counts[topic]
        off = sum(at != place for at in partition_many(keys, count))
        by_crc = sum(zlib.crc32(key) % count == place for key in keys)
        found = self._keys.setdefault(topic, [0, 0, 0])
        self._keys[topic] = [found[0] + len(keys), found[1] + off, found[2] + by_crc]
        self._left[partition] = left - len(keys)
        if len(keys) == left:
            del self._left[partition]

    def take(self) -> KeysSeen | None:
        """What was seen since the last call; None if nothing."""
        if not self._keys:
            return None
        keys, self._keys = self._keys, {}
        return {"groups": self._groups, "keys": keys}


@dataclass
class _Topic:
    keys: int = 0
    off: int = 0
    by_crc: int = 0


class Judge:
    """Adds up what lanes saw, and warns once for each join."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}
        self._warned: set[tuple[str, ...]] = set()

    def add(self, seen: KeysSeen | None) -> None:
        """Take in what a lane saw."""
        if seen is None:
            return
        for name, (keys, off, by_crc) in seen["keys"].items():
            topic = self._topics.setdefault(name, _Topic())
            topic.keys += keys
            topic.off += off
            topic.by_crc += by_crc
        for topics, rekeyed in seen["groups"]:
            group = tuple(topics)
            if group not in self._warned and self._is_apart(group, rekeyed):
                self._warned.add(group)
                log.warning("%s", self._warning(group, rekeyed))

    def _is_apart(self, group: Iterable[str], rekeyed: bool) -> bool:
        found = [self._topics.get(topic) for topic in group]
        known = [topic for topic in found if topic is not None and topic.keys]
        if len(known) < len(found):
            return False  # all of them are to be told about
        if not rekeyed and all(topic.by_crc == topic.keys for topic in known):
            return False  # equal keys are together all the same
        return any(topic.off for topic in known)

    def _warning(self, group: Iterable[str], rekeyed: bool) -> str:
        told, odd, by_crc = [], [], []
        for name in group:
            topic = self._topics[name]
            if not topic.off:
                told.append(f"all {topic.keys} sampled keys of '{name}' are where murmur2 puts them")
                continue
            odd.append(f"'{name}'")
            told.append(f"{topic.off} of {topic.keys} sampled keys of '{name}' are not where murmur2 puts them")
            if topic.by_crc == topic.keys:
                by_crc.append(f"'{name}'")
        if rekeyed:
            told.append("records that get a new key in this application are")
        likely = (
            f" The keys of {' and '.join(by_crc)} are where librdkafka's default partitioner puts them (CRC32)."
            if by_crc
            else ""
        )
        return (
            f"joined topics are not partitioned alike, so that records may find no partner: {'; '.join(told)}.{likely} "
            f"Set partitioner=murmur2_random in the producers of {' and '.join(odd)} and write the topics anew, or "
            "repartition() before the join; ignore this if all of them are written with a partitioner of your own."
        )
