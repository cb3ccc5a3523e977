"""What streams, tables and grouped streams have in common: a node of the graph, and the serdes known there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.config import StreamsConfig
from millstream.errors import TopologyError
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
        return self.graph.new_name(prefix, None if given is None else check_name(check_name(given) + suffix))


@dataclass(frozen=True)
class Place:
    """Where in the graph a stream or table is, and what is known of its data there.

    A serde that nobody gave is an `UnknownSerde`.
    """

    dsl: Dsl
    node: int
    name: str
    key: Serde[Any]
    value: Serde[Any]
    #: The sources that feed it since the last exchange: those must be co-partitioned with what it is joined with.
    sources: frozenset[str]


def check_same_builder(one: Dsl, other: Dsl, operator: str) -> None:
    """Streams and tables of different builders have no topology in common."""
    if one is not other:
        raise TopologyError(
            f"{operator} needs streams and tables of one StreamsBuilder",
            detail="the two come from different ones",
            hint="make both with the same builder",
        )


def repartitioned(place: Place, base: str, key: Serde[Any], value: Serde[Any]) -> Place:
    """The same stream behind a repartition topic that the DSL makes by itself."""
    graph = place.dsl.graph
    names = graph.new_repartition_names(base)
    node = graph.add(RepartitionNode, parents=(place.node,), key=key, value=value, **names)
    return Place(place.dsl, node, names["name"], key, value, frozenset({names["name"]}))
