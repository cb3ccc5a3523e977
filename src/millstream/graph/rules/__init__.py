"""The optimiser: a tuple of functions from a graph to a graph, one file each."""

from __future__ import annotations

from collections.abc import Callable

from millstream.graph.nodes import Graph
from millstream.graph.rules.merge_repartitions import merge_repartitions
from millstream.graph.rules.merge_sources import merge_sources
from millstream.graph.rules.reuse_source_topics import reuse_source_topics
from millstream.graph.rules.self_joins import rewrite_self_joins

Rule = Callable[[Graph], Graph]

#: Rules in the order they are applied, each with the optimisation that switches it on (None: always).
RULES: tuple[tuple[str | None, Rule], ...] = (
    (None, merge_sources),
    ("reuse_ktable_source_topics", reuse_source_topics),
    ("merge_repartition_topics", merge_repartitions),
    ("single_store_self_join", rewrite_self_joins),
)


def optimize(graph: Graph, wanted: frozenset[str]) -> Graph:
    """Apply the rules whose optimisation is wanted."""
    for optimization, rule in RULES:
        if optimization is None or optimization in wanted:
            graph = rule(graph)
    return graph
