"""How a topology falls into sub-topologies.

Nodes belong together when one forwards to the other or when they share a store. Topics connect nothing: what is behind
a repartition topic is another sub-topology. Ids follow the first node of each part, in the order nodes were added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.topology.nodes import GlobalStore, Node, ProcessorNode, SubTopology


class _Union:
    """Disjoint sets of names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def root(self, name: str) -> str:
        parent = self._parent
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    def unite(self, a: str, b: str) -> None:
        self._parent[self.root(b)] = self.root(a)


def sub_topologies(nodes: Mapping[str, Node], global_stores: Mapping[str, GlobalStore]) -> list[SubTopology]:
    """The connected parts, those of global stores included."""
    union = _Union(nodes)
    first_user: dict[str, str] = {}
    for node in nodes.values():
        for parent in node.parents:
            union.unite(parent, node.name)
        if isinstance(node, ProcessorNode):
            for store in node.stores:
                union.unite(first_user.setdefault(store, node.name), node.name)

    members: dict[str, list[str]] = {}
    for name in nodes:
        members.setdefault(union.root(name), []).append(name)
    global_roots = {union.root(store.source) for store in global_stores.values()}
    return [
        SubTopology(number, tuple(names), root in global_roots) for number, (root, names) in enumerate(members.items())
    ]
