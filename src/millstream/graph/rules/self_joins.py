"""A stream joined with itself needs one store, not two."""

from __future__ import annotations

from dataclasses import replace

from millstream.graph.nodes import Graph, JoinWindowNode, Node, SourceNode, StreamStreamJoinNode, TableSourceNode


def rewrite_self_joins(graph: Graph) -> Graph:
    """Turn joins of a stream with itself into self-joins, and remove the other side's window."""
    nodes = dict(graph.nodes)
    for node in graph.by_creation():
        if isinstance(node, StreamStreamJoinNode) and _is_self_join(graph, node):
            nodes[node.id] = replace(node, self_join=True)
            windows = [
                child
                for child in graph.children(node.parents[0])
                if isinstance(graph[child], JoinWindowNode) and graph[child].priority < node.priority
            ]
            del nodes[windows[-1]]
    return Graph(nodes, graph.next_index, graph.copartitioned, graph.internal_topics)


def _is_self_join(graph: Graph, node: StreamStreamJoinNode) -> bool:
    return len(node.parents) == 1 and _count_sources(graph, node, set()) <= 1


def _count_sources(graph: Graph, node: Node, seen: set[int]) -> int:
    """How many sources feed a node."""
    found = 1 if isinstance(node, SourceNode | TableSourceNode) else 0
    for parent in node.parents:
        if parent not in seen:
            seen.add(parent)
            found += _count_sources(graph, graph[parent], seen)
    return found
