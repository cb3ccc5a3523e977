"""Topologies: nodes and stores, the sub-topologies they fall into, and how they are shown."""

from millstream.topology.description import (
    GlobalStoreDescription,
    NodeDescription,
    ProcessorDescription,
    SinkDescription,
    SourceDescription,
    SubTopologyDescription,
    TopologyDescription,
)
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
from millstream.topology.partitions import check_fixed_partitions, resolve_partitions
from millstream.topology.suppliers import check_supplier
from millstream.topology.topology import Topology

__all__ = [
    "AnyStoreBuilder",
    "GlobalStore",
    "GlobalStoreDescription",
    "Node",
    "NodeDescription",
    "OffsetReset",
    "ProcessorDescription",
    "ProcessorNode",
    "SinkDescription",
    "SinkNode",
    "SourceDescription",
    "SourceNode",
    "SubTopology",
    "SubTopologyDescription",
    "TopicExtractor",
    "Topology",
    "TopologyDescription",
    "check_fixed_partitions",
    "check_name",
    "check_supplier",
    "resolve_partitions",
]
