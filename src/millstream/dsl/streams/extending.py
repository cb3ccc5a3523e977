"""For layers above the DSL: operators of their own on a stream, and the serdes that are known there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millstream.dsl.streams.kstream import KStream
from millstream.dsl.unknown import unknown_value
from millstream.graph.nodes import ProcessorNode
from millstream.processors.operator import OperatorFactory
from millstream.serdes.serde import AnySerde
from millstream.topology.names import check_name


def serdes_of(stream: KStream[Any, Any]) -> tuple[AnySerde, AnySerde]:
    """The serdes of a stream's keys and values."""
    return stream._place.key, stream._place.value


def sources_of(stream: KStream[Any, Any]) -> frozenset[str]:
    """The names of the source nodes that feed a stream since the last repartition."""
    return stream._place.sources


def with_serdes(stream: KStream[Any, Any], key: AnySerde, value: AnySerde) -> KStream[Any, Any]:
    """The same stream, whose keys and values are known to have these serdes."""
    place = replace(stream._place, key=key, value=value)
    return KStream(place, repartition_needed=stream._repartition_needed)


def run_operator(
    stream: KStream[Any, Any], factory: OperatorFactory, *stores: str, name: str, origin: str
) -> KStream[Any, Any]:
    """The stream behind an operator that leaves keys as they are.

    Args:
        stream: what it gets.
        factory: of the operator.
        stores: names of stores it is connected to.
        name: of its node.
        origin: what errors about a missing serde say of its values.
    """
    place = stream._place
    node = place.dsl.graph.add(
        ProcessorNode, name=check_name(name), parents=(place.node,), factory=factory, store_names=stores
    )
    result = replace(place, node=node, name=name, value=unknown_value(origin))
    return KStream(result, repartition_needed=stream._repartition_needed)
