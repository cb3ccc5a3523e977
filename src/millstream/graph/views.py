"""How the table at a node is looked up by key."""

from __future__ import annotations

from millstream.graph.nodes import (
    AggregateNode,
    CogroupMergeNode,
    Graph,
    SuppressNode,
    TableFilterNode,
    TableMapValuesNode,
    TableNode,
    TableOperatorNode,
    TableTableJoinNode,
    TableTransformNode,
)
from millstream.processors.joins.table_table import join_view
from millstream.processors.suppress.view import suppress_view
from millstream.processors.tables.filter import filter_view
from millstream.processors.tables.map_values import map_values_view
from millstream.processors.tables.transform import transform_view
from millstream.processors.tables.view import ViewFactory, store_view
from millstream.processors.windows.view import session_view, window_view

_LAYOUTS = {"key_value": store_view, "window": window_view, "session": session_view}


def view_of(graph: Graph, node_id: int) -> ViewFactory:
    """The view of a table: its store where it has one, else what its operators compute from the stores above."""
    node = graph[node_id]
    match node:
        case TableNode():
            return store_view(node.store.name)
        case AggregateNode():
            return _LAYOUTS[node.layout](node.store.name)
        case CogroupMergeNode():
            return _LAYOUTS[node.layout](node.store_name)
        case TableTableJoinNode(store=None):
            return join_view(node.kind, view_of(graph, node.left), view_of(graph, node.right), node.joiner)
        case TableOperatorNode() | TableTableJoinNode() if node.store is not None:
            return store_view(node.store.name)
        case TableFilterNode():
            return filter_view(view_of(graph, node.parents[0]), node.predicate, node.negate)
        case TableMapValuesNode():
            return map_values_view(view_of(graph, node.parents[0]), node.mapper)
        case TableTransformNode():
            stores = (*node.store_names, *(store.name for store in node.stores))
            return transform_view(view_of(graph, node.parents[0]), node.supplier, node.name, stores)
        case SuppressNode():
            return suppress_view(view_of(graph, node.parents[0]), node.buffer.name)
        case _:
            raise AssertionError(f"{type(node).__name__} '{node.name}' is no table")
