"""Several repartitions below one change of key become one, directly after the change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from millstream.graph.names import repartition_names
from millstream.graph.nodes import Graph, Node, RepartitionNode
from millstream.serdes.deferred import DeferredSerde
from millstream.serdes.serde import AnySerde


def merge_repartitions(graph: Graph) -> Graph:
    """Share one repartition topic where the key changed once and the value did not change since."""
    merging = _Merging(graph)
    return merging.run()


class _Merging:
    """A graph while its repartitions are merged: nodes, and each node's parents in order."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes = dict(graph.nodes)
        self._parents = {node.id: list(node.parents) for node in graph.nodes.values()}
        self._next_index = graph.next_index
        self._renamed: dict[str, str] = {}

    def run(self) -> Graph:
        for changer, repartitions in self._groups().items():
            if repartitions:
                self._merge(changer, repartitions)
        nodes = {
            node.id: node if tuple(self._parents[node.id]) == node.parents
            else replace(node, parents=tuple(self._parents[node.id]))
            for node in self._nodes.values()
        }  # fmt: skip
        groups = tuple(
            frozenset(self._renamed.get(name, name) for name in group) for group in self._graph.copartitioned
        )
        return Graph(
            nodes, self._next_index, tuple(group for group in groups if len(group) > 1), self._graph.internal_topics
        )

    def _groups(self) -> dict[int, list[int]]:
        """The repartitions that can be merged, by the change of key (or the merge of streams) above them."""
        groups: dict[int, list[int]] = {}
        merges: list[int] = []
        for node in self._graph.by_creation():
            if node.changes_key:
                groups[node.id] = []
            elif isinstance(node, RepartitionNode) and node.mergeable:
                changer = self._changer_above(node.id)
                if changer is not None:
                    groups[changer].append(node.id)
            elif node.merges:
                merges.append(node.id)
        below_merges = {merge: self._changers_above_merge(merge, groups) for merge in merges}
        covered: set[int] = set()
        for merge, changers in below_merges.items():
            groups[merge] = list(dict.fromkeys(r for changer in changers for r in groups[changer]))
            covered.update(changers)
        return {changer: found for changer, found in groups.items() if changer not in covered}

    def _changer_above(self, repartition: int) -> int | None:
        """The change of key above, unless the value changed in between."""
        nearest = self._find_above(repartition, lambda node: node.changes_key or node.changes_value)
        changer = self._find_above(repartition, lambda node: node.changes_key)
        return changer if changer is not None and nearest == changer else None

    def _changers_above_merge(self, merge: int, groups: dict[int, list[int]]) -> list[int]:
        found = []
        for changer, repartitions in groups.items():
            below_merge = any(
                self._find_above(repartition, lambda node: merge in self._parents[node.id]) is not None
                for repartition in repartitions
            )
            if below_merge and self._find_above(merge, lambda node, c=changer: c in self._parents[node.id]) is not None:  # type: ignore[misc]
                found.append(changer)
        return found

    def _find_above(self, start: int, accept: Callable[[Node], bool]) -> int | None:
        """The node itself or the nearest ancestor that is accepted; of several branches the last decides."""
        if accept(self._nodes[start]):
            return start
        found = None
        for parent in self._parents[start]:
            if accept(self._nodes[parent]):
                return parent
            found = self._find_above(parent, accept)
        return found

    def _merge(self, changer: int, repartitions: list[int]) -> None:
        first = self._nodes[repartitions[0]]
        assert isinstance(first, RepartitionNode)  # noqa: S101 - narrows the type
        originals = [node for r in repartitions if isinstance(node := self._nodes[r], RepartitionNode)]
        sink_name, filter_name, source_name = repartition_names(first.topic, first.topic, self._next_index)
        self._next_index += 3
        merged = RepartitionNode(
            id=max(self._nodes) + 1,
            name=source_name,
            parents=(),
            # With the changer's own priority it is written right after it, before anything that reads it.
            priority=self._nodes[changer].priority,
            topic=first.topic,
            sink_name=sink_name,
            filter_name=filter_name,
            key=_first_known([node.key for node in originals]),
            value=_first_known([node.value for node in originals]),
        )
        self._nodes[merged.id] = merged
        self._parents[merged.id] = []
        for repartition in originals:
            top = self._find_above(repartition.id, lambda node: changer in self._parents[node.id])
            if top is not None:
                self._parents[top].remove(changer)
                self._parents[top].append(merged.id)
            self._bypass(repartition.id)
            self._renamed[repartition.name] = source_name
        self._parents[merged.id] = [changer]

    def _bypass(self, repartition: int) -> None:
        """Let a repartition's children read its parents."""
        above = self._parents[repartition]
        for parents in self._parents.values():
            if repartition in parents:
                parents.remove(repartition)
                parents.extend(parent for parent in above if parent not in parents)
        del self._nodes[repartition]
        del self._parents[repartition]


def _first_known(serdes: list[AnySerde | None]) -> AnySerde | None:
    return next((serde for serde in serdes if not isinstance(serde, DeferredSerde)), serdes[0])
