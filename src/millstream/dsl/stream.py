"""What streams, tables and grouped streams have in common: a node of the graph, and the serdes known there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.config import StreamsConfig
from millstream.graph.builder import GraphBuilder
from millstream.graph.nodes import RepartitionNode
from millstream.serdes import Serde
from millstream.topology.names import check_name


class Dsl:
    """The builder that all objects of one topology share."""

    def __init__(self, config: StreamsConfig) -> None:
        self.config = config
        self.graph = GraphBuilder()

    def name(self, prefix: str, given: str | None = None, suffix: str = "") -> str:
        """A node's name: the given one with the suffix, or a generated one."""
        return self.graph.new_name(prefix, None if given is None else check_name(given + suffix))


@dataclass(frozen=True)
class Place:
    """Where in the graph a stream or table is, and what is known of its data there."""

    dsl: Dsl
    node: int
    name: str
    key: Serde[Any] | None
    value: Serde[Any] | None
    #: The sources that feed it since the last exchange: those must be co-partitioned with what it is joined with.
    sources: frozenset[str]


def repartitioned(place: Place, base: str, key: Serde[Any] | None, value: Serde[Any] | None) -> Place:
    """The same stream behind a repartition topic that the DSL makes by itself."""
    graph = place.dsl.graph
    names = graph.new_repartition_names(base)
    node = graph.add(RepartitionNode, parents=(place.node,), key=key, value=value, **names)
    return Place(place.dsl, node, names["name"], key, value, frozenset({names["name"]}))
