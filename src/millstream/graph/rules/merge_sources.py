"""Two `stream` calls on the same topics share one source."""

from __future__ import annotations

import re
from dataclasses import replace

from millstream.errors import TopologyError
from millstream.graph.nodes import Graph, Node, SourceNode


def merge_sources(graph: Graph) -> Graph:
    """Give the children of later sources to the first one of the same topics; its serdes win."""
    by_topic: dict[str, SourceNode] = {}
    by_pattern: dict[tuple[str, int], SourceNode] = {}
    replaced: dict[int, int] = {}
    for node in graph.by_creation():
        if not isinstance(node, SourceNode) or node.parents:
            continue
        first = _first_reader(node, by_topic, by_pattern)
        if first is None:
            continue
        if first.offset_reset != node.offset_reset:
            raise TopologyError(
                "two sources read the same topics with different offset reset policies",
                detail=f"'{first.name}' has {first.offset_reset}, '{node.name}' has {node.offset_reset}",
                hint="give both the same Consumed(offset_reset=...)",
            )
        replaced[node.id] = first.id
    if not replaced:
        return graph
    names = {graph[old].name: graph[new].name for old, new in replaced.items()}
    nodes = {
        node.id: _with_parents(node, tuple(dict.fromkeys(replaced.get(p, p) for p in node.parents)))
        for node in graph.nodes.values()
        if node.id not in replaced
    }
    groups = tuple(frozenset(names.get(name, name) for name in group) for group in graph.copartitioned)
    return Graph(nodes, graph.next_index, groups, graph.internal_topics)


def _first_reader(
    node: SourceNode, by_topic: dict[str, SourceNode], by_pattern: dict[tuple[str, int], SourceNode]
) -> SourceNode | None:
    """The earlier source of the same topics; remembers this one if there is none."""
    if node.pattern is not None:
        flags = node.pattern.flags & ~re.UNICODE
        first = by_pattern.setdefault((node.pattern.pattern, flags), node)
        return None if first is node else first
    for topic in node.topics:
        first = by_topic.setdefault(topic, node)
        if first is not node:
            if set(first.topics) != set(node.topics):
                raise TopologyError(
                    "Two source nodes are subscribed to overlapping but not equal input topics",
                    detail=f"'{first.name}' reads {list(first.topics)}, '{node.name}' reads {list(node.topics)}",
                    hint="read each topic by one stream() call, and merge() the streams",
                )
            return first
    return None


def _with_parents(node: Node, parents: tuple[int, ...]) -> Node:
    return node if parents == node.parents else replace(node, parents=parents)
