"""Building a topology by hand, and everything that is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from millstream.errors import ArgumentError, TopologyError
from millstream.processors.api import Processor
from millstream.processors.operator import Operator
from millstream.records import Record
from millstream.serdes import Serdes
from millstream.topology import ProcessorNode, SinkNode, SourceNode, Topology

MakeBuilder = Callable[..., Any]


class Echo(Processor[Any, Any, Any, Any]):
    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)


def test_nodes_know_their_neighbours() -> None:
    topology = Topology()
    topology.add_source("a", "ta", key=Serdes.string, value=Serdes.long, offset_reset="earliest")
    topology.add_source("b", "tb")
    topology.add_processor("p", Echo, "a", "b")
    topology.add_sink("s", "out", "p", "a", key=Serdes.string)
    assert list(topology.nodes) == ["a", "b", "p", "s"]
    source, processor, sink = topology.nodes["a"], topology.nodes["p"], topology.nodes["s"]
    assert isinstance(source, SourceNode)
    assert source.topics == ("ta",)
    assert source.key is Serdes.string
    assert source.value is Serdes.long
    assert source.offset_reset == "earliest"
    assert source.parents == ()
    assert source.children == ["p", "s"]
    assert isinstance(processor, ProcessorNode)
    assert processor.parents == ("a", "b")
    assert processor.children == ["s"]
    assert processor.factory() is not processor.factory()
    assert isinstance(sink, SinkNode)
    assert sink.parents == ("p", "a")
    assert sink.topic == "out"
    assert sink.children == []


def test_a_source_of_a_pattern() -> None:
    node = Topology().add_source("s", pattern="orders-.*").nodes["s"]
    assert isinstance(node, SourceNode)
    assert node.topics == ()
    assert node.pattern == re.compile("orders-.*")


def test_a_pattern_may_overlap_another_pattern() -> None:
    topology = Topology().add_source("a", pattern="x.*", offset_reset="latest").add_source("b", pattern="x.*y")
    assert list(topology.nodes) == ["a", "b"]


def message(call: Callable[[], object]) -> str:
    with pytest.raises(TopologyError) as error:
        call()
    return error.value.primary


def test_duplicate_node_names(orders: Topology) -> None:
    text = "processor count is already added"
    assert message(lambda: orders.add_source("count", "x")) == text
    assert message(lambda: orders.add_operator("count", Operator, "source")) == text
    assert message(lambda: orders.add_sink("count", "x", "source")) == text
    with pytest.raises(TopologyError) as error:
        orders.add_sink("count", "x", "source")
    assert error.value.detail == "it is a processor; the new node is a sink"


def test_sources_need_topics() -> None:
    topology = Topology()
    assert message(lambda: topology.add_source("s")) == "you must provide at least one topic"
    assert message(lambda: topology.add_source("s", "t", pattern="u")) == "source s has both topics and a pattern"
    assert message(lambda: topology.add_source("s", "t u")).startswith('name "t u" is illegal')
    assert topology.nodes == {}


def test_a_topic_has_one_source(orders: Topology) -> None:
    text = "topic in has already been registered by another source"
    assert message(lambda: orders.add_source("again", "in")) == text
    assert message(lambda: Topology().add_source("twice", "in", "in")) == text
    with pytest.raises(TopologyError) as error:
        orders.add_source("again", "other", "in")
    assert error.value.detail == "source source reads it, source again wants it too"
    assert "again" not in orders.nodes


def test_patterns_and_topics_must_not_overlap(orders: Topology) -> None:
    assert (
        message(lambda: orders.add_source("p", pattern="i."))
        == "pattern i. will match a topic that has already been registered by another source"
    )
    orders.add_source("p", pattern="i.x")
    assert (
        message(lambda: orders.add_source("q", "inx"))
        == "topic inx matches a pattern already registered by another source"
    )
    orders.add_source("q", "inxy")  # the whole name must match


@pytest.mark.parametrize("reset", ["earliest", "latest", "none", timedelta(hours=1), None])
def test_offset_resets(reset: str | timedelta | None) -> None:
    Topology().add_source("s", "t", offset_reset=reset)


def test_unknown_offset_resets() -> None:
    assert message(lambda: Topology().add_source("s", "t", offset_reset="now")) == "unrecognized reset format 'now'"
    with pytest.raises(ArgumentError, match="offset reset cannot be in the future"):
        Topology().add_source("s", "t", offset_reset=timedelta(seconds=-1))


def test_parents(orders: Topology) -> None:
    assert message(lambda: orders.add_operator("p", Operator)) == "processor p must have at least one parent"
    assert message(lambda: orders.add_sink("p", "t")) == "sink p must have at least one parent"
    assert message(lambda: orders.add_operator("p", Operator, "p")) == "processor p cannot be a predecessor of itself"
    assert message(lambda: orders.add_operator("p", Operator, "q")) == "predecessor processor q is not added yet for p"
    assert message(lambda: orders.add_sink("p", "t", "q")) == "predecessor processor q is not added yet for p"
    assert message(lambda: orders.add_operator("p", Operator, "sink")) == "sink sink cannot be used as a parent"
    assert message(lambda: orders.add_sink("p", "t", "sink")) == "sink sink cannot be used as a parent"
    assert list(orders.nodes) == ["source", "count", "sink"]


def test_a_dynamic_sink_is_no_parent_either() -> None:
    topology = Topology().add_source("s", "t").add_sink("d", lambda key, value, context: "x", "s")
    assert message(lambda: topology.add_operator("p", Operator, "d")) == "sink d cannot be used as a parent"


def test_a_sink_needs_a_topic(orders: Topology) -> None:
    with pytest.raises(ArgumentError, match="topic must be a name or a function that chooses one"):
        orders.add_sink("x", 7, "count")  # type: ignore[arg-type]


def test_the_same_builder_may_be_added_again(orders: Topology) -> None:
    orders.add_operator("other", Operator, "source")
    orders.add_state_store(orders.stores["counts"], "other", "other")
    node = orders.nodes["other"]
    assert isinstance(node, ProcessorNode)
    assert node.stores == ["counts"]


def test_store_errors(orders: Topology, builder: MakeBuilder) -> None:
    assert (
        message(lambda: orders.add_state_store(builder("counts")))
        == "a different StateStore has already been added with the name counts"
    )
    orders.add_state_store(builder("s"))
    connect = orders.connect_processor_and_state_stores
    assert message(lambda: connect("count")) == "must provide at least one state store name"
    assert message(lambda: connect("count", "x")) == "StateStore x is not added yet"
    assert message(lambda: connect("x", "s")) == "processor x is not added yet"
    text = "cannot connect a state store s to a source node or a sink node"
    assert message(lambda: connect("source", "s")) == text
    assert message(lambda: connect("sink", "s")) == text
    assert message(lambda: orders.add_state_store(builder("a b"))).startswith('name "a b" is illegal')
    connect("count", "s")
    node = orders.nodes["count"]
    assert isinstance(node, ProcessorNode)
    assert node.stores == ["counts", "s"]


def test_global_stores(orders: Topology, builder: MakeBuilder) -> None:
    store = builder("g", logging=False)
    orders.add_global_store(store, "g-source", "g-topic", "g-processor", Echo, key=Serdes.string)
    assert list(orders.nodes)[-2:] == ["g-source", "g-processor"]
    assert orders.global_stores["g"].builder is store
    assert orders.global_stores["g"].topic == "g-topic"
    assert "g" not in orders.stores
    source = orders.nodes["g-source"]
    assert isinstance(source, SourceNode)
    assert source.children == ["g-processor"]
    assert source.key is Serdes.string

    def add(name: str, topic: str, source: str = "s2", processor: str = "p2", logging: bool = False) -> str:
        return message(lambda: orders.add_global_store(builder(name, logging=logging), source, topic, processor, Echo))

    assert add("g", "t2") == "a different GlobalStateStore has already been added with the name g"
    assert add("counts", "t2") == "a different StateStore has already been added with the name counts"
    assert add("g2", "g-topic") == "topic g-topic has already been registered by another source"
    assert add("g2", "in") == "topic in has already been registered by another source"
    assert add("g2", "t2", source="count") == "processor count is already added"
    assert add("g2", "t2", processor="count") == "processor count is already added"
    assert add("g2", "t2", "x", "x") == "the source and the processor of a global store must have different names"
    assert add("g2", "t2", logging=True) == "StateStore g2 for global table must not have logging enabled"
    assert list(orders.global_stores) == ["g"]

    assert (
        message(lambda: orders.add_source("x", "g-topic"))
        == "topic g-topic has already been registered by another source"
    )
    assert message(lambda: orders.add_state_store(builder("g"))) == (
        "a different GlobalStateStore has already been added with the name g"
    )
    assert message(lambda: orders.connect_processor_and_state_stores("count", "g")) == (
        "global StateStore g can be used by a processor without being specified; it should not be explicitly passed"
    )
    assert message(lambda: orders.connect_processor_and_state_stores("g-processor", "counts")) == (
        "cannot connect a state store counts to the processor of a global store"
    )
    for parent in ("g-source", "g-processor"):
        assert (
            message(lambda parent=parent: orders.add_operator("x", Operator, parent))  # type: ignore[misc]
            == f"node {parent} of a global store cannot be used as a parent"
        )


def test_read_only_stores(builder: MakeBuilder) -> None:
    topology = Topology()
    topology.add_read_only_state_store(builder("s"), "source", "t", "processor", Echo, value=Serdes.long)
    source = topology.nodes["source"]
    assert isinstance(source, SourceNode)
    assert source.offset_reset == "earliest"
    assert topology.source_topic_changelogs == {"s": "t"}
    assert list(topology.stores) == ["s"]
    assert message(lambda: topology.connect_source_topic("s", "u")) == "source store s is already added"


def test_suppliers_bring_stores(builder: MakeBuilder) -> None:
    first, second, third, fourth = (builder(name) for name in ("s1", "s2", "s3", "s4"))

    class ByMethod(Echo):
        def stores(self) -> list[Any]:
            return [first]

    class ByAttribute(Echo):
        stores = (second,)

    class Supplier:
        def __call__(self) -> Echo:
            return Echo()

        def stores(self) -> list[Any]:
            return [third, fourth]

    topology = Topology().add_source("s", "t")
    topology.add_processor("a", ByMethod, "s").add_processor("b", partial(ByAttribute), "s")
    topology.add_processor("c", Supplier(), "s").add_processor("d", Echo, "s").add_processor("e", ByMethod, "s")
    stores = {node.name: node.stores for node in topology.nodes.values() if isinstance(node, ProcessorNode)}
    assert stores == {"a": ["s1"], "b": ["s2"], "c": ["s3", "s4"], "d": [], "e": ["s1"]}
    assert list(topology.stores) == ["s1", "s2", "s3", "s4"]


def test_a_supplier_gives_a_new_processor_each_time() -> None:
    topology = Topology().add_source("s", "t")
    one = Echo()
    with pytest.raises(ArgumentError, match="generates single reference") as error:
        topology.add_processor("p", lambda: one, "s")
    assert error.value.detail == "it returned the same Echo twice"
    assert "<lambda> at test_topology.py:" in error.value.primary
    with pytest.raises(ArgumentError, match="supplier is not callable"):
        topology.add_processor("p", one, "s")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="supplier returned None"):
        topology.add_processor("p", lambda: None, "s")
    assert "p" not in topology.nodes


def test_internal_topics_and_copartition_groups() -> None:
    topology = Topology()
    topology.add_internal_topic("a")
    topology.add_internal_topic("b", 4)
    topology.copartition(["x", "y"])
    assert topology.internal_topics == {"a": None, "b": 4}
    assert topology.copartition_groups == [frozenset({"x", "y"})]
    with pytest.raises(ArgumentError, match="number of partitions must be at least 1"):
        topology.add_internal_topic("c", 0)
