"""The stores that can be asked, and what is known of each without a broker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from millstream.changelogs import changelogs_of
from millstream.config import StreamsConfig
from millstream.errors import UnknownStore
from millstream.processors import user
from millstream.serdes import Serdes
from millstream.serdes.serde import AnySerde
from millstream.state.builders import StoreBuilder
from millstream.state.suppliers import StoreKind, StoreSupplier
from millstream.task.serdes import store_with_serdes
from millstream.topology.nodes import ProcessorNode, SinkNode, SourceNode
from millstream.topology.topology import Topology


@dataclass(frozen=True)
class ViewStore:
    """A store that can be asked.

    Args:
        name: its name.
        kind: its interface.
        supplier: how its rows are kept.
        key: the serde of its keys.
        value: the serde of its values.
        topic: the topic that copies are made of.
        sub_topology: whose tasks have it; None: it is global.
        scattered: a key may be in another partition than the one that Kafka's partitioner gives it, because others
            wrote the records that its task reads, or user code decides what is under which key.
    """

    name: str
    kind: StoreKind
    supplier: StoreSupplier
    key: AnySerde
    value: AnySerde
    topic: str
    sub_topology: int | None
    scattered: bool

    @property
    def is_global(self) -> bool:
        """Whether every instance has all of it."""
        return self.sub_topology is None

    def of_bytes(self) -> StoreBuilder:
        """The same store, of bytes: what the engine has, without serdes, cache and log.

        So rows travel between instances as they lie in the store, and only who asked turns them into objects.
        """
        return StoreBuilder(self.name, self.kind, self.supplier, Serdes.bytes, Serdes.bytes, logging=False)


def view_stores(topology: Topology, config: StreamsConfig) -> dict[str, ViewStore]:
    """The stores of a topology that can be asked: those with a changelog, and global ones.

    The engine's own stores, such as the buffers of joins, have other interfaces and cannot.
    """
    found: dict[str, ViewStore] = {}
    for name, changelog in changelogs_of(topology, config.application_id).items():
        builder = topology.stores[name]
        if isinstance(builder, StoreBuilder):
            scattered = _is_scattered(topology, name, changelog.sub_topology)
            found[name] = _described(builder, config, changelog.topic, changelog.sub_topology, scattered)
    for name, store in topology.global_stores.items():
        if isinstance(store.builder, StoreBuilder):
            found[name] = _described(store.builder, config, store.topic, None, False)
    return dict(sorted(found.items()))


def find(stores: dict[str, ViewStore], name: str, topology: Topology) -> ViewStore:
    """The store of that name.

    Raises:
        UnknownStore: there is none that can be asked.
    """
    store = stores.get(name)
    if store is not None:
        return store
    known = ", ".join(stores) or "none"
    builder = topology.stores.get(name)
    if builder is not None and not builder.logging:
        raise UnknownStore(
            f"store '{name}' cannot be asked",
            detail="it has no changelog, which views are made of",
            hint=f"leave out logging=False in its Materialized; stores that can be asked: {known}",
        )
    raise UnknownStore(
        f"there is no store '{name}' that can be asked",
        detail=f"there are: {known}",
        hint="name the store with Materialized or Stores",
    )


def _described(
    builder: StoreBuilder, config: StreamsConfig, topic: str, sub_topology: int | None, scattered: bool
) -> ViewStore:
    complete: Any = store_with_serdes(builder, config, topic)
    supplier = replace(builder.supplier, name=builder.name)
    # Views show what stores without headers show: keys, values and timestamps of a changelog are the same.
    kind = builder.kind.without_headers
    return ViewStore(builder.name, kind, supplier, complete.key, complete.value, topic, sub_topology, scattered)


def _is_scattered(topology: Topology, store: str, sub_topology: int) -> bool:
    nodes = [topology.nodes[name] for name in topology.sub_topologies()[sub_topology].nodes]
    read: set[str] = set()
    for node in nodes:
        if isinstance(node, SourceNode):
            read.update(node.topics)
            if node.pattern is not None:
                return True
        elif isinstance(node, ProcessorNode) and store in node.stores and _is_users(node):
            return True
    if not read <= set(topology.internal_topics):
        return True
    return any(
        isinstance(node, SinkNode)
        and node.partitioner is not None
        and (not isinstance(node.topic, str) or node.topic in read)
        for node in topology.nodes.values()
    )


def _is_users(node: ProcessorNode) -> bool:
    """Whether it runs a user's processor; asked of its factory, as making one would call the user's supplier."""
    return getattr(node.factory, "__module__", None) == user.__name__
