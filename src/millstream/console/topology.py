"""A topology, drawn, and what there is to say of its parts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import millstream
from millstream.errors import describe_callable
from millstream.task.watching.watch import Seen, SeenRecord
from millstream.topology.description import ProcessorDescription, SinkDescription, SourceDescription
from millstream.topology.nodes import Node, ProcessorNode, SinkNode
from millstream.topology.pictures.picture import parts
from millstream.topology.pictures.svg import draw_svg
from millstream.topology.topology import Topology

_PACKAGE = str(Path(millstream.__file__).parent)
_MOST_RECORDS = 5


def topology_json(name: str, topology: Topology, application: str, sql: str | None = None) -> dict[str, Any]:
    """The drawing of a topology, without a style of its own, and its nodes by name.

    Args:
        name: of the query or application.
        topology: what is drawn.
        application: the name that internal topics begin with.
        sql: the statement that it was made of.
    """
    description = topology.describe()
    nodes: dict[str, dict[str, Any]] = {}
    for part in parts(description):
        for node in part.nodes:
            found: dict[str, Any] = {
                "part": part.title,
                "before": list(node.predecessors),
                "after": list(node.successors),
                "origin": list(dict.fromkeys(origins(topology.nodes[node.name]))),
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
        "id": name,
        "sql": sql,
        "svg": draw_svg(description, styled=False),
        "text": str(description),
        "application": application,
        "nodes": nodes,
    }


def seen_json(seen: Iterable[Seen]) -> dict[str, Any]:
    """What was seen of nodes in all lanes: records a second, share of the time, the last records."""
    rates: dict[str, float] = {}
    moments: dict[str, int] = {}
    last: dict[str, list[SeenRecord]] = {}
    busy = looks = 0
    for one in seen:
        busy += one.busy
        looks += one.moments
        for name, node in one.nodes.items():
            rates[name] = rates.get(name, 0.0) + node.rate
            moments[name] = moments.get(name, 0) + node.moments
            last.setdefault(name, []).extend(node.last)
    return {
        "busy": busy / looks if looks else None,
        "nodes": {
            name: {
                "rate": round(rate, 1),
                "share": moments[name] / busy if busy else None,
                "last": [
                    {"key": record.key, "value": record.value, "timestamp": record.timestamp}
                    for record in last[name][:_MOST_RECORDS]
                ],
            }
            for name, rate in rates.items()
        },
    }


def origins(node: Node) -> Iterator[str]:
    """The functions of the user that a node calls, and where they were written: `<lambda> at orders.py:14`."""
    if isinstance(node, ProcessorNode):
        yield from _functions(node.factory)
    elif isinstance(node, SinkNode):
        for function in (node.topic, node.partitioner):
            if callable(function):
                yield from _functions(function)


def _functions(function: Callable[..., Any]) -> Iterator[str]:
    if isinstance(function, functools.partial):
        for given in (*function.args, *function.keywords.values()):
            for one in given if isinstance(given, list | tuple) else (given,):
                if callable(one):
                    yield from _functions(one)
        function = function.func
    code = getattr(function, "__code__", None)
    if isinstance(function, type):
        process = getattr(function, "process", None)
        code = getattr(process, "__code__", None)
    if code is not None and not code.co_filename.startswith((_PACKAGE, "<")):
        yield describe_callable(function.process if isinstance(function, type) else function)  # type: ignore[attr-defined]
