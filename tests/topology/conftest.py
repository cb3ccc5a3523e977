"""A store builder that builds nothing, and short ways to make topologies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from millstream.processors.operator import Operator
from millstream.state.store import StateStore
from millstream.topology import Topology


@dataclass(frozen=True)
class Builder:
    name: str
    logging: bool = True

    def build(self) -> StateStore:
        raise NotImplementedError


@pytest.fixture
def builder() -> Callable[..., Builder]:
    return Builder


@pytest.fixture
def orders() -> Topology:
    """Topic in -> source -> count (store counts) -> sink -> out."""
    topology = Topology()
    topology.add_source("source", "in").add_operator("count", Operator, "source")
    topology.add_state_store(Builder("counts"), "count").add_sink("sink", "out", "count")
    return topology


@pytest.fixture
def rekeyed() -> Topology:
    """Two sub-topologies with repartition topic `r` between them."""
    topology = Topology()
    topology.add_internal_topic("r")
    topology.add_source("source", "in").add_operator("select-key", Operator, "source")
    topology.add_sink("r-sink", "r", "select-key").add_source("r-source", "r")
    topology.add_operator("count", Operator, "r-source").add_state_store(Builder("counts"), "count")
    return topology
