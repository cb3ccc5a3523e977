"""What `Topology.describe()` answers: plain values, whose text is that of Kafka Streams."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from millstream.errors import describe_callable
from millstream.topology.nodes import TopicExtractor


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


@dataclass(frozen=True, slots=True)
class SourceDescription:
    """A source: the topics it reads, or the pattern their names match."""

    name: str
    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None
    successors: tuple[str, ...]
    predecessors: tuple[str, ...] = ()

    def __str__(self) -> str:
        topics = f"[{', '.join(self.topics)}]" if self.pattern is None else self.pattern.pattern
        return f"Source: {self.name} (topics: {topics})\n      --> {_names(self.successors)}"


@dataclass(frozen=True, slots=True)
class ProcessorDescription:
    """A processor and the stores it is connected to."""

    name: str
    stores: tuple[str, ...]
    successors: tuple[str, ...]
    predecessors: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"Processor: {self.name} (stores: [{', '.join(self.stores)}])\n"
            f"      --> {_names(self.successors)}\n"
            f"      <-- {_names(self.predecessors)}"
        )


@dataclass(frozen=True, slots=True)
class SinkDescription:
    """A sink: the topic it writes to, or the function that chooses it."""

    name: str
    topic: str | None
    topic_extractor: TopicExtractor | None
    predecessors: tuple[str, ...]
    successors: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """`topic: orders` or `extractor class: by_region at orders.py:14`."""
        if self.topic_extractor is None:
            return f"topic: {self.topic}"
        return f"extractor class: {extractor_text(self.topic_extractor)}"

    def __str__(self) -> str:
        return f"Sink: {self.name} ({self.target})\n      <-- {_names(self.predecessors)}"


NodeDescription: TypeAlias = SourceDescription | ProcessorDescription | SinkDescription


@dataclass(frozen=True, slots=True)
class SubTopologyDescription:
    """A sub-topology: nodes with more behind them first."""

    id: int
    nodes: tuple[NodeDescription, ...]

    def __str__(self) -> str:
        return f"Sub-topology: {self.id}\n" + "".join(f"    {node}\n" for node in self.nodes) + "\n"


@dataclass(frozen=True, slots=True)
class GlobalStoreDescription:
    """A global store's two nodes. It has an id among the sub-topologies, but no tasks."""

    id: int
    source: SourceDescription
    processor: ProcessorDescription

    def __str__(self) -> str:
        return (
            f"Sub-topology: {self.id} for global store (will not generate tasks)\n"
            f"    {self.source}\n    {self.processor}\n"
        )


@dataclass(frozen=True, slots=True)
class TopologyDescription:
    """A topology to look at: `print` it, or walk its parts."""

    sub_topologies: tuple[SubTopologyDescription, ...]
    global_stores: tuple[GlobalStoreDescription, ...]

    def parts(self) -> list[SubTopologyDescription | GlobalStoreDescription]:
        """Sub-topologies and global stores together, by id."""
        return sorted((*self.sub_topologies, *self.global_stores), key=lambda part: part.id)

    def __str__(self) -> str:
        return "Topologies:\n " + "".join(f"  {part}" for part in self.parts())


def extractor_text(extractor: TopicExtractor) -> str:
    """What a topic extractor is called in texts: as it prints itself, or where its function was written."""
    is_plain = any(hasattr(extractor, mark) for mark in ("__code__", "__func__", "func"))  # function, method, partial
    text = str(extractor)
    return describe_callable(extractor) if is_plain or text == object.__repr__(extractor) else text
