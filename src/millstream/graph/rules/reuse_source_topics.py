"""A table's own topic can serve as the changelog of its store."""

from __future__ import annotations

from dataclasses import replace

from millstream.graph.nodes import Graph, TableSourceNode


def reuse_source_topics(graph: Graph) -> Graph:
    """Mark every `table(...)`: what its store would log is in the topic already."""
    nodes = {
        node.id: replace(node, reuses_topic=True) if isinstance(node, TableSourceNode) else node
        for node in graph.nodes.values()
    }
    return Graph(nodes, graph.next_index, graph.copartitioned, graph.internal_topics)
