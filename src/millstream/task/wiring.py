"""Connecting a task's operators.

There are two ways. If an exception can only end the task, nothing stands between operators, and stateless ones are
fused. If a handler may decide to go on, every call of an operator is guarded, so that only its record is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millstream.processors.operator import Forward, Operator, forward_to_nobody
from millstream.records import Headers, Record
from millstream.task.errors.handling import ErrorHandling, FatalError
from millstream.task.fused import Fuser
from millstream.task.records import RawRecord
from millstream.task.sink import SinkOperator
from millstream.task.source import Source
from millstream.topology.nodes import Node


def connect(
    nodes: Iterable[Node], operators: Mapping[str, Operator], sources: Mapping[str, Source], errors: ErrorHandling
) -> None:
    """Give every source and operator its way to its children, in the order they were attached."""
    if errors.guards_nodes:
        _connect_guarded(nodes, operators, sources, errors)
    else:
        _connect_fused({node.name: node for node in nodes}, operators, sources)


def _connect_fused(nodes: Mapping[str, Node], operators: Mapping[str, Operator], sources: Mapping[str, Source]) -> None:
    fuser = Fuser(nodes, operators)
    for name in nodes:
        if name in sources:
            sources[name].forward = fuser.forward(name)
        elif not fuser.is_fused(name):
            operator = operators[name]
            operator.forward = fuser.forward(name)
            if operator.hosts_user_code:
                operator.children = {child: fuser.entry(child) for child in fuser.children(name)}


def _connect_guarded(
    nodes: Iterable[Node], operators: Mapping[str, Operator], sources: Mapping[str, Source], errors: ErrorHandling
) -> None:
    for node in nodes:
        children = {name: _guarded(operators[name], errors) for name in node.children if name in operators}
        forward = _all(list(children.values()))
        if node.name in sources:
            sources[node.name].forward = forward
        else:
            operator = operators[node.name]
            operator.forward = forward
            operator.children = children
            if operator.hosts_user_code:
                operator.guard = _NodeGuard(node.name, errors)


class _NodeGuard:
    """See `Guard`."""

    def __init__(self, node: str, errors: ErrorHandling) -> None:
        self._node = node
        self._errors = errors

    def source(self) -> RawRecord | None:
        return self._errors.source_record

    def failed(self, error: Exception, record: Record[Any, Any], source: RawRecord | None) -> None:
        if isinstance(error, FatalError):
            raise error
        errors = self._errors
        before, errors.source_record = errors.source_record, source
        try:
            errors.node_raised(self._node, error, record)
        finally:
            errors.source_record = before


def _guarded(child: Operator, errors: ErrorHandling) -> Forward:
    process = child.process
    if isinstance(child, SinkOperator):
        return process  # what a sink raises is its parent's to handle
    name = child.name

    def guarded(key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        try:
            process(key, value, timestamp, headers)
        except FatalError:
            raise
        except Exception as error:
            errors.node_raised(name, error, Record(key, value, timestamp, headers))

    return guarded


def _all(children: list[Forward]) -> Forward:
    if not children:
        return forward_to_nobody
    if len(children) == 1:
        return children[0]

    def forward_to_all(key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        for child in children:
            child(key, value, timestamp, headers)

    return forward_to_all
