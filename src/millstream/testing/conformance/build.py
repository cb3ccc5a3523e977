"""From a case's list of operators to a topology."""

from __future__ import annotations

from millstream import StreamsBuilder, StreamsConfig, Topology
from millstream.testing.conformance.case import Case
from millstream.testing.conformance.operators import aggregates, joins, stateless
from millstream.testing.conformance.operators.handles import OperatorBuilder, Scope

_OPERATORS: dict[str, OperatorBuilder] = {**stateless.OPERATORS, **aggregates.OPERATORS, **joins.OPERATORS}


def build(case: Case, config: StreamsConfig) -> tuple[Topology, Scope]:
    """Call the DSL as the case says; the order of the calls fixes the names."""
    scope = Scope(StreamsBuilder(config))
    for op in case.topology:
        if op["op"] not in _OPERATORS:
            raise LookupError(f"the case format has no operator '{op['op']}'")
        _OPERATORS[op["op"]](scope, op)
    return scope.builder.build(config), scope
