"""MIN and MAX."""

from __future__ import annotations

from typing import Any

from millstream.sql.functions.declare import AggregateContext, Aggregation, Declarations
from millstream.sql.functions.java.ordering import order_key

FUNCTIONS = Declarations("AGGREGATE")

_SIGNATURES = (
    "(INTEGER val) -> INTEGER",
    "(BIGINT val) -> BIGINT",
    "(DOUBLE val) -> DOUBLE",
    "(DECIMAL val) -> DECIMAL",
    "(DATE val) -> DATE",
    "(TIME val) -> TIME",
    "(TIMESTAMP val) -> TIMESTAMP",
    "(STRING val) -> STRING",
    "(BYTES val) -> BYTES",
)


def _nothing() -> None:
    return None


@FUNCTIONS.aggregate("MAX", *_SIGNATURES)
def maximum(context: AggregateContext) -> Aggregation:
    """Computes the maximum value for a key."""
    key = order_key(context.column)

    def larger(most: Any, value: Any) -> Any:
        if value is None or most is None:
            return most if value is None else value
        if key is None:
            return most if most > value else value
        return most if key(most) > key(value) else value

    return Aggregation(_nothing, larger, larger, returns=context.column)


@FUNCTIONS.aggregate("MIN", *_SIGNATURES)
def minimum(context: AggregateContext) -> Aggregation:
    """Computes the minimum value for a key."""
    key = order_key(context.column)

    def smaller(least: Any, value: Any) -> Any:
        if value is None or least is None:
            return least if value is None else value
        if key is None:
            return least if least < value else value
        return least if key(least) < key(value) else value

    return Aggregation(_nothing, smaller, smaller, returns=context.column)
