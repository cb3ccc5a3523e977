"""What the pictures of a topology have in common: parts with their nodes and stores, and the topics between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millstream.topology.description import (
    GlobalStoreDescription,
    NodeDescription,
    ProcessorDescription,
    SinkDescription,
    SourceDescription,
    TopologyDescription,
    extractor_text,
)


@dataclass(frozen=True, slots=True)
class Part:
    """A sub-topology, or a global store with its two nodes."""

    id: int
    title: str
    nodes: tuple[NodeDescription, ...]

    @property
    def stores(self) -> list[str]:
        """The stores of all processors."""
        return list(dict.fromkeys(store for _, store in self.store_edges()))

    def edges(self) -> Iterator[tuple[str, str]]:
        """From node to node."""
        for node in self.nodes:
            for successor in node.successors:
                yield node.name, successor

    def store_edges(self) -> Iterator[tuple[str, str]]:
        """From processor to store."""
        for node in self.nodes:
            if isinstance(node, ProcessorDescription):
                for store in node.stores:
                    yield node.name, store

    def reads(self) -> Iterator[tuple[str, str]]:
        """From topic to source."""
        for node in self.nodes:
            if isinstance(node, SourceDescription):
                topics = node.topics if node.pattern is None else (f"/{node.pattern.pattern}/",)
                for topic in topics:
                    yield topic, node.name

    def writes(self) -> Iterator[tuple[str, str]]:
        """From sink to topic."""
        for node in self.nodes:
            if isinstance(node, SinkDescription):
                extractor = node.topic_extractor
                yield node.name, str(node.topic) if extractor is None else f"chosen by {extractor_text(extractor)}"


def parts(description: TopologyDescription) -> list[Part]:
    """All parts of a topology, by id."""
    return [
        Part(part.id, f"Sub-topology {part.id}: global store", (part.source, part.processor))
        if isinstance(part, GlobalStoreDescription)
        else Part(part.id, f"Sub-topology {part.id}", part.nodes)
        for part in description.parts()
    ]


def kind(node: NodeDescription) -> str:
    """`source`, `processor` or `sink`."""
    match node:
        case SourceDescription():
            return "source"
        case SinkDescription():
            return "sink"
        case ProcessorDescription():
            return "processor"
