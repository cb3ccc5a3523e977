"""The texts are those of Kafka Streams 4.1.0 for the same topologies."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from millstream.processors.operator import Operator
from millstream.topology import SinkDescription, SourceDescription, Topology

MakeBuilder = Callable[..., Any]


def test_no_nodes() -> None:
    assert str(Topology().describe()) == "Topologies:\n "


def test_one_sub_topology(orders: Topology) -> None:
    assert (
        str(orders.describe())
        == """\
Topologies:
   Sub-topology: 0
    Source: source (topics: [in])
      --> count
    Processor: count (stores: [counts])
      --> sink
      <-- source
    Sink: sink (topic: out)
      <-- count

"""
    )


def test_neighbours_are_sorted_with_the_sizes_of_the_time_they_met() -> None:
    """Node nm9 is as small as nm7 when nm5 gets it, but the path over nm7 to nm9 is known by then."""
    topology = Topology().add_source("nm2", "in-0").add_operator("nm5", Operator, "nm2")
    topology.add_operator("nm7", Operator, "nm5").add_operator("nm9", Operator, "nm7", "nm5")
    topology.add_operator("st11-repartition-filter", Operator, "nm9")
    topology.add_sink("st11-repartition-sink", "st11-repartition", "st11-repartition-filter")
    topology.add_sink("nm13", "out-0", "nm9")
    assert (
        str(topology.describe())
        == """\
Topologies:
   Sub-topology: 0
    Source: nm2 (topics: [in-0])
      --> nm5
    Processor: nm5 (stores: [])
      --> nm7, nm9
      <-- nm2
    Processor: nm7 (stores: [])
      --> nm9
      <-- nm5
    Processor: nm9 (stores: [])
      --> st11-repartition-filter, nm13
      <-- nm5, nm7
    Processor: st11-repartition-filter (stores: [])
      --> st11-repartition-sink
      <-- nm9
    Sink: nm13 (topic: out-0)
      <-- nm9
    Sink: st11-repartition-sink (topic: st11-repartition)
      <-- st11-repartition-filter

"""
    )


def test_global_stores_and_sub_topologies_by_id(builder: MakeBuilder) -> None:
    topology = Topology()
    topology.add_global_operator(builder("g", logging=False), "gs", "gt", "gp", Operator)
    topology.add_source("s", "in-0", "in-1").add_sink("d", Extractor(), "s")
    assert (
        str(topology.describe())
        == """\
Topologies:
   Sub-topology: 0 for global store (will not generate tasks)
    Source: gs (topics: [gt])
      --> gp
    Processor: gp (stores: [g])
      --> none
      <-- gs
  Sub-topology: 1
    Source: s (topics: [in-1, in-0])
      --> d
    Sink: d (extractor class: DYNAMIC)
      <-- s

"""
    )


class Extractor:
    def __str__(self) -> str:
        return "DYNAMIC"

    def __call__(self, key: object, value: object, context: object) -> str:
        return "x"

    def method(self, key: object, value: object, context: object) -> str:
        return "x"


class Plain:
    def __call__(self, key: object, value: object, context: object) -> str:
        return "x"


def by_region(key: object, value: object, context: object) -> str:
    return "x"


def test_extractors_are_named() -> None:
    def text(extractor: Callable[..., str]) -> str:
        node = Topology().add_source("s", "t").add_sink("d", extractor, "s").describe().sub_topologies[0].nodes[1]
        assert isinstance(node, SinkDescription)
        assert node.topic is None
        assert node.topic_extractor is extractor or node.topic_extractor == extractor
        return node.target.removeprefix("extractor class: ").split(":")[0]

    assert text(by_region) == "by_region at test_describe.py"
    assert text(functools.partial(by_region, context=1)) == "by_region at test_describe.py"
    assert text(Extractor().method) == "Extractor.method at test_describe.py"
    assert text(Plain()) == "Plain at test_describe.py"
    assert text(Extractor()) == "DYNAMIC"


def test_a_pattern_stands_for_the_topics() -> None:
    description = Topology().add_source("s", pattern="a.*").describe()
    assert "Source: s (topics: a.*)\n      --> none" in str(description)
    node = description.sub_topologies[0].nodes[0]
    assert isinstance(node, SourceDescription)
    assert node.topics == ()
    assert node.pattern is not None
    assert node.pattern.pattern == "a.*"


def test_descriptions_are_values(orders: Topology) -> None:
    description = orders.describe()
    assert description == orders.describe()
    assert [node.name for node in description.sub_topologies[0].nodes] == ["source", "count", "sink"]
    assert description.sub_topologies[0].nodes[1].predecessors == ("source",)
    assert description.sub_topologies[0].nodes[1].successors == ("sink",)
    orders.add_source("more", "more")
    assert description != orders.describe()


def test_a_chain_of_diamonds_takes_no_time() -> None:
    """Its sub-tree size is counted by paths: 2 to the power of 60."""
    topology = Topology().add_source("n0", "t")
    for number in range(60):
        topology.add_operator(f"a{number}", Operator, f"n{number}").add_operator(f"b{number}", Operator, f"n{number}")
        topology.add_operator(f"n{number + 1}", Operator, f"a{number}", f"b{number}")
    assert topology.describe().sub_topologies[0].nodes[0].name == "n0"
