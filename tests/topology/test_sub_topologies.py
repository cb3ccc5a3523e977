"""What connects nodes, and the order of ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.processors.operator import Operator
from millstream.topology import SubTopology, Topology

MakeBuilder = Callable[..., Any]


def test_no_nodes() -> None:
    assert Topology().sub_topologies() == []


def test_topics_do_not_connect(rekeyed: Topology) -> None:
    assert rekeyed.sub_topologies() == [
        SubTopology(0, ("source", "select-key", "r-sink"), False),
        SubTopology(1, ("r-source", "count"), False),
    ]


def test_shared_stores_connect(rekeyed: Topology) -> None:
    rekeyed.connect_processor_and_state_stores("select-key", "counts")
    assert rekeyed.sub_topologies() == [
        SubTopology(0, ("source", "select-key", "r-sink", "r-source", "count"), False),
    ]


def test_several_parents_connect() -> None:
    topology = Topology().add_source("a", "ta").add_source("b", "tb").add_source("c", "tc")
    topology.add_operator("p", Operator, "c", "a")
    assert topology.sub_topologies() == [SubTopology(0, ("a", "c", "p"), False), SubTopology(1, ("b",), False)]


def test_global_stores_take_an_id(builder: MakeBuilder) -> None:
    topology = Topology().add_source("a", "ta")
    topology.add_global_operator(builder("g", logging=False), "gs", "gt", "gp", Operator)
    topology.add_source("b", "tb")
    assert topology.sub_topologies() == [
        SubTopology(0, ("a",), False),
        SubTopology(1, ("gs", "gp"), True),
        SubTopology(2, ("b",), False),
    ]
