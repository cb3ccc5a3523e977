"""What a topology refuses when a node or a store is added."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta

from millstream.errors import ArgumentError, TopologyError
from millstream.topology.names import check_name
from millstream.topology.nodes import GlobalStore, Node, OffsetReset, SinkNode, SourceNode


def kind(node: Node) -> str:
    """`source`, `processor` or `sink`."""
    return "source" if isinstance(node, SourceNode) else "sink" if isinstance(node, SinkNode) else "processor"


def check_new_node(nodes: Mapping[str, Node], name: str, what: str) -> None:
    """A node needs a legal name that no other has."""
    check_name(name, what)
    if name in nodes:
        raise TopologyError(
            f"processor {name} is already added",
            detail=f"it is a {kind(nodes[name])}; the new node is a {what}",
            hint="every node needs a name of its own",
        )


def check_parents(
    nodes: Mapping[str, Node],
    global_stores: Mapping[str, GlobalStore],
    what: str,
    name: str,
    parents: tuple[str, ...],
) -> None:
    """Parents are sources and processors that are there already."""
    if not parents:
        raise TopologyError(
            f"{what} {name} must have at least one parent",
            hint="name the sources or processors it gets its records from",
        )
    global_nodes = {node for store in global_stores.values() for node in (store.source, store.processor)}
    for parent in parents:
        if parent == name:
            raise TopologyError(
                f"processor {name} cannot be a predecessor of itself", hint="records flow one way; name another parent"
            )
        if parent not in nodes:
            raise TopologyError(
                f"predecessor processor {parent} is not added yet for {name}",
                detail=f"there are {', '.join(nodes) or 'no nodes'}",
                hint="add parents before their children",
            )
        if isinstance(nodes[parent], SinkNode):
            raise TopologyError(
                f"sink {parent} cannot be used as a parent",
                detail=f"it is named as a parent of {name}",
                hint="use the sink's own parent, or read the sink's topic with a source",
            )
        if parent in global_nodes:
            raise TopologyError(
                f"node {parent} of a global store cannot be used as a parent",
                detail=f"it is named as a parent of {name}",
                hint="every processor can read the global store itself",
            )


def check_topic_is_free(nodes: Mapping[str, Node], topic: str, source: str, taken_here: Collection[str] = ()) -> None:
    """A topic is read by one source only."""
    for other in _sources(nodes):
        if topic in other.topics:
            raise _topic_taken(topic, source, other.name)
        if other.pattern is not None and other.pattern.fullmatch(topic):
            raise TopologyError(
                f"topic {topic} matches a pattern already registered by another source",
                detail=f"source {other.name} reads {other.pattern.pattern}, source {source} wants {topic}",
                hint="let only one source read the topic",
            )
    if topic in taken_here:
        raise _topic_taken(topic, source, source)


def check_pattern_is_free(nodes: Mapping[str, Node], pattern: re.Pattern[str], source: str) -> None:
    """A pattern does not match what another source reads."""
    for other in _sources(nodes):
        for topic in other.topics:
            if pattern.fullmatch(topic):
                raise TopologyError(
                    f"pattern {pattern.pattern} will match a topic that has already been registered by another source",
                    detail=f"topic {topic} is read by source {other.name}; the pattern is that of source {source}",
                    hint="let only one source read the topic",
                )


def check_not_global(global_stores: Mapping[str, GlobalStore], store: str) -> None:
    """A store cannot have a global store's name."""
    if store in global_stores:
        raise TopologyError(
            f"a different GlobalStateStore has already been added with the name {store}",
            detail=f"it is filled from topic {global_stores[store].topic}",
            hint="give one of them another name",
        )


def check_offset_reset(offset_reset: OffsetReset | None) -> None:
    """One of Kafka's policies, or a time span."""
    if isinstance(offset_reset, timedelta):
        if offset_reset < timedelta(0):
            raise ArgumentError("offset reset cannot be in the future", detail=f"got {offset_reset!r}")
    elif offset_reset not in (None, "earliest", "latest", "none"):
        raise TopologyError(
            f"unrecognized reset format {offset_reset!r}", hint="use 'earliest', 'latest', 'none' or a timedelta"
        )


def _sources(nodes: Mapping[str, Node]) -> Iterator[SourceNode]:
    return (node for node in nodes.values() if isinstance(node, SourceNode))


def _topic_taken(topic: str, source: str, owner: str) -> TopologyError:
    return TopologyError(
        f"topic {topic} has already been registered by another source",
        detail=f"source {owner} reads it, source {source} wants it too",
        hint="add one source for the topic and give it several children",
    )
