"""`Topology`: sources, processors, sinks and stores, and how they are connected."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from millstream.config import StreamsConfig
from millstream.errors import ArgumentError, TopologyError
from millstream.extractors import TimestampExtractor
from millstream.processors.operator import OperatorFactory
from millstream.processors.user import processor_operator
from millstream.serdes import AnySerde
from millstream.topology import groups
from millstream.topology.checks import (
    check_new_node,
    check_not_global,
    check_offset_reset,
    check_parents,
    check_pattern_is_free,
    check_topic_is_free,
    kind,
)
from millstream.topology.describe import describe
from millstream.topology.description import TopologyDescription
from millstream.topology.names import check_name
from millstream.topology.nodes import (
    AnyStoreBuilder,
    GlobalStore,
    Node,
    OffsetReset,
    ProcessorNode,
    SinkNode,
    SourceNode,
    SubTopology,
    TopicExtractor,
)
from millstream.topology.pictures.html import draw_html
from millstream.topology.pictures.mermaid import draw_mermaid
from millstream.topology.pictures.svg import draw_svg
from millstream.topology.suppliers import check_supplier
from millstream.topology.wrapping import wrap_node
from millstream.wrappers import ProcessorWrapper


class Topology:
    """A graph of nodes that records flow through.

    `StreamsBuilder.build()` makes one; with the methods below one is written by hand (the Processor API). They return
    the topology, so calls can be chained.

    Example:
        topology = Topology()
        topology.add_source("orders", "orders", key=Serdes.string, value=Serdes.json)
        topology.add_processor("dedup", Dedup, "orders")
        topology.add_state_store(Stores.key_value_store(...), "dedup")
        topology.add_sink("out", "unique-orders", "dedup", key=Serdes.string, value=Serdes.json)

    Args:
        config: what shapes the topology: the `processor_wrapper`.
    """

    def __init__(self, config: StreamsConfig | None = None) -> None:
        #: What is around all processors.
        self.wrapper: ProcessorWrapper | None = None if config is None else config.processor_wrapper
        #: In the order they were added, in which parents always come before their children.
        self.nodes: dict[str, Node] = {}
        self.stores: dict[str, AnyStoreBuilder] = {}
        self.global_stores: dict[str, GlobalStore] = {}
        #: Repartition topics without the application's prefix, with their partition count where the user fixed it.
        self.internal_topics: dict[str, int | None] = {}
        #: Names of source nodes whose topics must have equally many partitions.
        self.copartition_groups: list[frozenset[str]] = []
        #: Stores that are restored from a source topic instead of a changelog of their own.
        self.source_topic_changelogs: dict[str, str] = {}

    # --- the Processor API

    def add_source(
        self,
        name: str,
        *topics: str,
        pattern: str | re.Pattern[str] | None = None,
        key: AnySerde | None = None,
        value: AnySerde | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: OffsetReset | None = None,
    ) -> Topology:
        """Read topics, or all topics whose whole name matches a pattern.

        Args:
            name: the node's name.
            topics: one or more topics, unless there is a pattern.
            pattern: a regular expression.
            key: serde of the keys; the configured default if missing.
            value: serde of the values; the configured default if missing.
            timestamp_extractor: where event time comes from; the configured default if missing.
            offset_reset: where to start without a committed offset: `earliest`, `latest`, `none` or a `timedelta`.
        """
        check_new_node(self.nodes, name, "source")
        check_offset_reset(offset_reset)
        if pattern is None:
            if not topics:
                raise TopologyError(
                    "you must provide at least one topic",
                    detail=f"source {name} has neither topics nor a pattern",
                    hint=f'write add_source("{name}", "some-topic") or give a pattern',
                )
            seen: set[str] = set()
            for topic in topics:
                check_name(topic, "topic")
                check_topic_is_free(self.nodes, topic, name, taken_here=seen)
                seen.add(topic)
            compiled = None
        else:
            if topics:
                raise TopologyError(
                    f"source {name} has both topics and a pattern",
                    detail=f"topics {', '.join(topics)}; pattern {pattern!r}",
                    hint="add two sources",
                )
            compiled = re.compile(pattern)
            check_pattern_is_free(self.nodes, compiled, name)
        self.nodes[name] = SourceNode(name, topics, compiled, key, value, timestamp_extractor, offset_reset)
        return self

    def add_processor(self, name: str, supplier: Callable[[], Any], *parents: str) -> Topology:
        """Run a processor on what its parents forward.

        Args:
            name: the node's name.
            supplier: the processor's class, or a function that makes a new one each time. Stores that the supplier
                names with `stores` are added and connected.
            parents: sources and processors that were added before.
        """
        stores = check_supplier(supplier)
        self.add_operator(name, processor_operator(supplier), *parents)
        for builder in stores:
            self.add_state_store(builder, name)
        self._wrap(name)
        return self

    def add_sink(
        self,
        name: str,
        topic: str | TopicExtractor,
        *parents: str,
        key: AnySerde | None = None,
        value: AnySerde | None = None,
        partitioner: Callable[..., Any] | None = None,
    ) -> Topology:
        """Write what the parents forward to a topic.

        Args:
            name: the node's name.
            topic: the topic, or a function that chooses it for each record.
            parents: sources and processors that were added before.
            key: serde of the keys; the configured default if missing.
            value: serde of the values; the configured default if missing.
            partitioner: chooses the partition; Kafka's way if missing.
        """
        check_new_node(self.nodes, name, "sink")
        if isinstance(topic, str):
            check_name(topic, "topic")
        elif not callable(topic):
            raise ArgumentError(
                "topic must be a name or a function that chooses one",
                detail=f"sink {name} got {topic!r}, of type {type(topic).__name__}",
            )
        check_parents(self.nodes, self.global_stores, "sink", name, parents)
        self._attach(SinkNode(name, topic, parents, key, value, partitioner))
        return self

    def add_state_store(self, builder: AnyStoreBuilder, *processors: str) -> Topology:
        """Add a store and connect processors to it.

        The same builder may be added again, to connect more processors; another one of the same name may not.
        """
        name = check_name(builder.name, "state store")
        if name in self.stores and self.stores[name] is not builder:
            raise TopologyError(
                f"a different StateStore has already been added with the name {name}",
                detail=f"it is used by {', '.join(self._users_of(name)) or 'no processor yet'}",
                hint="give one of them another name, or share the store by adding the same builder",
            )
        check_not_global(self.global_stores, name)
        self.stores[name] = builder
        for processor in processors:
            self._connect(processor, name)
        return self

    def connect_processor_and_state_stores(self, processor: str, *stores: str) -> Topology:
        """Let a processor use stores that were added before."""
        if not stores:
            raise TopologyError("must provide at least one state store name", detail=f"for processor {processor}")
        for store in stores:
            self._connect(processor, store)
        return self

    def add_global_store(
        self,
        builder: AnyStoreBuilder,
        source_name: str,
        topic: str,
        processor_name: str,
        supplier: Callable[[], Any],
        *,
        key: AnySerde | None = None,
        value: AnySerde | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Topology:
        """Keep a full copy of a topic in a store that every processor can read, without being connected to it.

        Args:
            builder: of the store; without logging, as the topic itself is its log.
            source_name: the name of the node that reads the topic.
            topic: what the store is filled from.
            processor_name: the name of the node that writes the store.
            supplier: of the processor that writes the store. It must not forward.
            key: serde of the keys; the configured default if missing.
            value: serde of the values; the configured default if missing.
            timestamp_extractor: accepted for likeness; global stores take the records' own timestamps.
        """
        check_supplier(supplier)
        self.add_global_operator(
            builder,
            source_name,
            topic,
            processor_name,
            processor_operator(supplier),
            key=key,
            value=value,
            timestamp_extractor=timestamp_extractor,
        )
        self._wrap(processor_name)
        return self

    def add_read_only_state_store(
        self,
        builder: AnyStoreBuilder,
        source_name: str,
        topic: str,
        processor_name: str,
        supplier: Callable[[], Any],
        *,
        key: AnySerde | None = None,
        value: AnySerde | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Topology:
        """Keep a topic in a store, each task its own partition. The topic is the store's changelog.

        Other processors may be connected to the store, to read it. Arguments are those of `add_global_store`.
        """
        self.add_source(
            source_name,
            topic,
            key=key,
            value=value,
            timestamp_extractor=timestamp_extractor,
            offset_reset="earliest",
        )
        self.add_processor(processor_name, supplier, source_name)
        self.add_state_store(builder, processor_name)
        self.connect_source_topic(builder.name, topic)
        return self

    # --- looking at it

    def describe(self) -> TopologyDescription:
        """The topology's parts; printed, they read as in Kafka Streams."""
        return describe(self.nodes, self.sub_topologies())

    def to_mermaid(self) -> str:
        """A Mermaid flowchart."""
        return draw_mermaid(self.describe())

    def to_svg(self, path: str | Path | None = None) -> str:
        """A drawing; also written to a file if there is a path."""
        return _written(draw_svg(self.describe()), path)

    def to_html(self, path: str | Path | None = None, *, title: str = "Topology") -> str:
        """A page with the drawing and the text of `describe()`; also written to a file if there is a path."""
        return _written(draw_html(self.describe(), title), path)

    # --- for the layers above and the tasks

    def add_operator(self, name: str, factory: OperatorFactory, *parents: str) -> Topology:
        """Add a node that runs a built-in operator."""
        check_new_node(self.nodes, name, "processor")
        check_parents(self.nodes, self.global_stores, "processor", name, parents)
        self._attach(ProcessorNode(name, factory, parents))
        return self

    def add_global_operator(
        self,
        builder: AnyStoreBuilder,
        source_name: str,
        topic: str,
        processor_name: str,
        factory: OperatorFactory,
        *,
        key: AnySerde | None = None,
        value: AnySerde | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Topology:
        """Add a global store that is written by a built-in operator."""
        check_new_node(self.nodes, source_name, "source")
        check_new_node(self.nodes, processor_name, "processor")
        store = check_name(builder.name, "state store")
        if store in self.stores:
            raise TopologyError(
                f"a different StateStore has already been added with the name {store}",
                hint="give the global store another name",
            )
        check_not_global(self.global_stores, store)
        if builder.logging:
            raise TopologyError(
                f"StateStore {store} for global table must not have logging enabled",
                detail=f"topic {topic} is its log already",
                hint="build the store with logging disabled",
            )
        if source_name == processor_name:
            raise TopologyError(
                "the source and the processor of a global store must have different names",
                detail=f"both are {source_name}",
            )
        check_name(topic, "topic")
        check_topic_is_free(self.nodes, topic, source_name)
        self.nodes[source_name] = SourceNode(
            source_name, (topic,), None, key, value, timestamp_extractor, offset_reset="earliest"
        )
        self._attach(ProcessorNode(processor_name, factory, (source_name,), stores=[store]))
        self.global_stores[store] = GlobalStore(builder, source_name, processor_name, topic)
        return self

    def add_internal_topic(self, name: str, partitions: int | None = None) -> None:
        """Make a topic one of the application's own: its real name starts with the application id."""
        check_name(name, "topic")
        if partitions is not None and partitions < 1:
            raise ArgumentError(
                "number of partitions must be at least 1", detail=f"internal topic {name} got {partitions}"
            )
        self.internal_topics[name] = partitions

    def copartition(self, sources: Collection[str]) -> None:
        """Demand that the topics of these sources have equally many partitions."""
        self.copartition_groups.append(frozenset(sources))

    def connect_source_topic(self, store: str, topic: str) -> None:
        """Let a source topic be a store's changelog."""
        if store in self.source_topic_changelogs:
            raise TopologyError(
                f"source store {store} is already added",
                detail=f"its changelog is topic {self.source_topic_changelogs[store]}",
            )
        self.source_topic_changelogs[store] = topic

    def sub_topologies(self) -> list[SubTopology]:
        """The connected parts, by id; those of global stores have no tasks."""
        return groups.sub_topologies(self.nodes, self.global_stores)

    def _wrap(self, name: str) -> None:
        """Put the user's wrapper around a processor that was just added. The DSL's are wrapped when all are there."""
        node = self.nodes[name]
        if self.wrapper is not None and isinstance(node, ProcessorNode):
            wrap_node(self, node, self.wrapper, set())

    def _attach(self, node: ProcessorNode | SinkNode) -> None:
        self.nodes[node.name] = node
        for parent in node.parents:
            self.nodes[parent].children.append(node.name)

    def _connect(self, processor: str, store: str) -> None:
        if store in self.global_stores:
            raise TopologyError(
                f"global StateStore {store} can be used by a processor without being specified; "
                "it should not be explicitly passed",
                detail=f"it was named for processor {processor}",
                hint="leave it out",
            )
        if store not in self.stores:
            raise TopologyError(
                f"StateStore {store} is not added yet",
                detail=f"there are {', '.join(self.stores) or 'no stores'}; it was named for processor {processor}",
                hint="add it with add_state_store first",
            )
        node = self.nodes.get(processor)
        if node is None:
            raise TopologyError(
                f"processor {processor} is not added yet",
                detail=f"StateStore {store} was to be connected to it; there are {', '.join(self.nodes) or 'no nodes'}",
                hint="add the processor first",
            )
        if not isinstance(node, ProcessorNode):
            raise TopologyError(
                f"cannot connect a state store {store} to a source node or a sink node",
                detail=f"{processor} is a {kind(node)}",
                hint="only processors have stores",
            )
        if any(processor == one.processor for one in self.global_stores.values()):
            raise TopologyError(
                f"cannot connect a state store {store} to the processor of a global store",
                detail=f"{processor} runs outside of tasks and has only its global store",
            )
        if store not in node.stores:
            node.stores.append(store)

    def _users_of(self, store: str) -> list[str]:
        return [node.name for node in self.nodes.values() if isinstance(node, ProcessorNode) and store in node.stores]


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
