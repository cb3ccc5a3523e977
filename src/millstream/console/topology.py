"""A query's topology, drawn, and what there is to say of its parts."""

from __future__ import annotations

from typing import Any

from millstream.sql.engine.queries import PersistentQuery
from millstream.topology.description import ProcessorDescription, SinkDescription, SourceDescription
from millstream.topology.pictures.picture import parts
from millstream.topology.pictures.svg import draw_svg


def topology_json(query: PersistentQuery) -> dict[str, Any]:
    """The drawing of a query, without a style of its own, and its nodes by name."""
    description = query.topology.describe()
    nodes: dict[str, dict[str, Any]] = {}
    for part in parts(description):
        for node in part.nodes:
            found: dict[str, Any] = {
                "part": part.title,
                "before": list(node.predecessors),
                "after": list(node.successors),
            }
            match node:
                case SourceDescription():
                    found |= {"kind": "source", "topics": list(node.topics)}
                case ProcessorDescription():
                    found |= {"kind": "processor", "stores": list(node.stores)}
                case SinkDescription():
                    found |= {"kind": "sink", "target": node.target}
            nodes[node.name] = found
    return {
        "id": query.id,
        "sql": query.sql,
        "svg": draw_svg(description, styled=False),
        "text": str(description),
        "application": query.application_id,
        "nodes": nodes,
    }
