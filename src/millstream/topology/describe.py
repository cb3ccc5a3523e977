"""From a topology to its description, in the order in which Kafka Streams lists nodes and their neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.topology.description import (
    GlobalStoreDescription,
    NodeDescription,
    ProcessorDescription,
    SinkDescription,
    SourceDescription,
    SubTopologyDescription,
    TopologyDescription,
)
from millstream.topology.java_collections import TreeSet, hash_order
from millstream.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode, SubTopology


def describe(nodes: Mapping[str, Node], sub_topologies: Iterable[SubTopology]) -> TopologyDescription:
    """Describe all parts of a topology."""
    parts: list[SubTopologyDescription] = []
    global_stores: list[GlobalStoreDescription] = []
    for sub_topology in sub_topologies:
        described = _describe_nodes([nodes[name] for name in sub_topology.nodes])
        match described:
            case [SourceDescription() as source, ProcessorDescription() as processor] if sub_topology.is_global:
                global_stores.append(GlobalStoreDescription(sub_topology.id, source, processor))
            case _:
                parts.append(SubTopologyDescription(sub_topology.id, tuple(described)))
    return TopologyDescription(tuple(parts), tuple(global_stores))


class _Placed:
    """A node while its neighbours are being collected."""

    __slots__ = ("name", "node", "position", "predecessors", "size", "successors")

    def __init__(self, node: Node, position: int) -> None:
        self.node = node
        self.name = node.name
        self.position = position
        self.size = 1  # of the sub-tree below it, every path counted
        self.predecessors = TreeSet(_compare)
        self.successors = TreeSet(_compare)


def _compare(a: _Placed, b: _Placed) -> int:
    if a is b:
        return 0
    if a.size != b.size:
        return b.size - a.size
    return -1 if a.name < b.name else 1


def _describe_nodes(nodes: list[Node]) -> list[NodeDescription]:
    placed = {node.name: _Placed(node, position) for position, node in enumerate(nodes)}
    for name in hash_order(placed):
        one = placed[name]
        for parent in one.node.parents:
            predecessor = placed[parent]
            one.predecessors.add(predecessor)
            predecessor.successors.add(one)
            _grow(predecessor, one.size)
    ordered = sorted(placed.values(), key=lambda one: (-one.size, one.name))
    return [_describe_node(one) for one in ordered]


def _grow(start: _Placed, delta: int) -> None:
    """Add to the size of a node and of all that are known to be above it, once for every path.

    Parents are always added before their children, so walking back by position meets each ancestor once, after all
    paths through it are known. (Following the paths one by one takes exponential time in a chain of diamonds.)
    """
    pending = {start: delta}
    while pending:
        one = max(pending, key=lambda candidate: candidate.position)
        amount = pending.pop(one)
        one.size += amount
        for predecessor in one.predecessors:
            pending[predecessor] = pending.get(predecessor, 0) + amount


def _describe_node(one: _Placed) -> NodeDescription:
    node = one.node
    successors = tuple(successor.name for successor in one.successors)
    predecessors = tuple(predecessor.name for predecessor in one.predecessors)
    match node:
        case SourceNode():
            return SourceDescription(node.name, tuple(hash_order(node.topics)), node.pattern, successors)
        case ProcessorNode():
            return ProcessorDescription(node.name, tuple(hash_order(node.stores)), successors, predecessors)
        case SinkNode():
            if isinstance(node.topic, str):
                return SinkDescription(node.name, node.topic, None, predecessors)
            return SinkDescription(node.name, None, node.topic, predecessors)
