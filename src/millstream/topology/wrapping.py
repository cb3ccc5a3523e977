"""Putting a `ProcessorWrapper` around the processors of a topology."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from millstream.config import StreamsConfig
from millstream.errors import TopologyError
from millstream.processors.built_in import BuiltInProcessor, WrappedOperator
from millstream.processors.user import FixedKeyOperator, ProcessorOperator, UserOperator
from millstream.topology.nodes import AnyStoreBuilder, GlobalStore, Node, ProcessorNode
from millstream.topology.suppliers import check_supplier
from millstream.wrappers import ProcessorSupplier, ProcessorWrapper


class Wrappable(Protocol):
    """What wrapping needs of a `millstream.topology.topology.Topology`."""

    wrapper: ProcessorWrapper | None
    nodes: dict[str, Node]
    stores: dict[str, AnyStoreBuilder]
    global_stores: dict[str, GlobalStore]

    def add_state_store(self, builder: AnyStoreBuilder, *processors: str) -> object:
        """Add a store and connect processors to it."""


def wrap_processors(topology: Wrappable, wrapper: ProcessorWrapper) -> None:
    """Wrap all processors of a topology."""
    topology.wrapper = wrapper
    offered: set[str] = set()
    for node in list(topology.nodes.values()):
        if isinstance(node, ProcessorNode):
            wrap_node(topology, node, wrapper, offered)


def wrap_node(topology: Wrappable, node: ProcessorNode, wrapper: ProcessorWrapper, offered: set[str]) -> None:
    """Wrap one node's processor.

    Args:
        topology: where it is.
        node: with its stores.
        wrapper: the user's.
        offered: names of the stores that came with other nodes.
    """
    wrap = wrapper.wrap_processor_supplier
    run: type[UserOperator] = ProcessorOperator
    supplier = _user_supplier(node)
    if supplier is not None:
        if node.factory.func is FixedKeyOperator:  # type: ignore[attr-defined]  # it is a partial
            wrap, run = wrapper.wrap_fixed_key_processor_supplier, FixedKeyOperator
        given = ProcessorSupplier(supplier, tuple(check_supplier(supplier)))
    else:
        run = WrappedOperator
        new = [name for name in node.stores if name not in offered]
        offered.update(new)
        given = ProcessorSupplier(
            partial(BuiltInProcessor, node.factory), tuple(_builder(topology, name) for name in new)
        )
    wrapped = wrap(node.name, given)
    for builder in check_supplier(wrapped):
        _put_store(topology, node, builder)
    node.factory = partial(run, wrapped)


def check_wrapped(topology: Wrappable, config: StreamsConfig) -> None:
    """A wrapper that nobody told the topology of would never be asked."""
    if config.processor_wrapper is not None and topology.wrapper is None:
        raise TopologyError(
            "the configuration has a processor_wrapper that the topology was not built with",
            hint="give the configuration to StreamsBuilder(config) or Topology(config)",
        )


def _user_supplier(node: ProcessorNode) -> Callable[[], Any] | None:
    """The supplier of a processor of the user's own."""
    factory = node.factory
    if isinstance(factory, partial) and factory.func in (ProcessorOperator, FixedKeyOperator):
        supplier: Callable[[], Any] = factory.args[0]
        return supplier
    return None


def _builder(topology: Wrappable, store: str) -> AnyStoreBuilder:
    found = topology.global_stores.get(store)
    return topology.stores[store] if found is None else found.builder


def _put_store(topology: Wrappable, node: ProcessorNode, builder: AnyStoreBuilder) -> None:
    """Take what the wrapper made of a store, or a store that it adds."""
    found = topology.global_stores.get(builder.name)
    if found is not None and found.processor == node.name:
        topology.global_stores[builder.name] = replace(found, builder=builder)
    elif builder.name in node.stores:
        topology.stores[builder.name] = builder
    else:
        topology.add_state_store(builder, node.name)
