"""Which tables must have a store, and which must send old values with their updates.

A join, a `group_by` or a `suppress` needs both from the tables above it; a `filter` uses old values only where they
cost nothing extra. The calls are visited in the order in which they were made, because a filter looks only at what had
been decided when it was called.
"""

from __future__ import annotations

from millstream.graph.nodes import (
    AggregateNode,
    CogroupMergeNode,
    ForeignKeyResultNode,
    Graph,
    Node,
    StreamTableJoinNode,
    SuppressNode,
    TableFilterNode,
    TableGroupByNode,
    TableNode,
    TableOperatorNode,
    TableTableJoinNode,
)


class Demands:
    """What a graph's operators demand of its tables."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._stored: set[int] = set()
        self._old: set[int] = set()
        for node in graph.by_creation():
            self._hear(node)

    def stored(self, node_id: int) -> bool:
        """Whether this table needs its store."""
        return node_id in self._stored

    def old_values(self, node_id: int) -> bool:
        """Whether this table's updates must carry the old value."""
        return node_id in self._old

    def _hear(self, node: Node) -> None:
        match node:
            case ForeignKeyResultNode():
                if node.stored:
                    self._stored.add(node.id)
                for table in (node.left, node.right):
                    self._ask_view(table)
                    self._ask_old(table, force=True)
            case TableNode():
                if node.stored:
                    self._stored.add(node.id)
            case TableFilterNode():
                if self._ask_old(node.parents[0], force=False):
                    self._old.add(node.id)
            case TableGroupByNode() | SuppressNode():
                self._ask_old(node.parents[0], force=True)
            case TableTableJoinNode():
                if node.kind in ("left", "outer"):
                    self._ask_old(node.left, force=True)
                if node.kind == "outer":
                    self._ask_old(node.right, force=True)
                self._ask_view(node.left)
                self._ask_view(node.right)
            case StreamTableJoinNode():
                self._ask_view(node.table)
            case _:
                pass

    def _ask_view(self, node_id: int) -> None:
        """A join will look this table up: the stores it takes must exist."""
        node = self._graph[node_id]
        match node:
            case TableNode():
                self._stored.add(node_id)
            case TableOperatorNode(store=None) | SuppressNode():
                self._ask_view(node.parents[0])
            case _:
                pass

    def _ask_old(self, node_id: int, *, force: bool) -> bool:
        """Have this table send old values; without force only if that needs no new store."""
        if node_id in self._old and not isinstance(self._graph[node_id], TableFilterNode):
            return True
        node = self._graph[node_id]
        match node:
            case TableNode():
                if not force and node_id not in self._stored:
                    return False
                self._stored.add(node_id)
            case AggregateNode():
                pass
            case CogroupMergeNode():
                self._old.update(node.parents)
            case TableTableJoinNode():
                self._ask_old(node.left, force=True)
                self._ask_old(node.right, force=True)
            case TableOperatorNode(store=None) | SuppressNode():
                if not self._ask_old(node.parents[0], force=force) and node_id not in self._old:
                    return False
            case _:
                pass
        self._old.add(node_id)
        return True
