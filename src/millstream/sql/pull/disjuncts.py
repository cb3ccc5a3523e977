"""A condition as alternatives: each can be looked up by itself."""

from __future__ import annotations

from functools import reduce
from itertools import product

from millstream.sql.tree.expressions import (
    Between,
    Comparison,
    ComparisonOperator,
    Expression,
    InList,
    Logical,
    LogicalOperator,
)

#: One alternative: all of them must hold.
Conjunction = tuple[Expression, ...]

#: Conditions of more alternatives than this are not taken apart: they are asked of every row.
_MOST = 10_000


def disjuncts(condition: Expression) -> list[Conjunction] | None:
    """The alternatives of a condition, ORs outside of ANDs; None when there are too many.

    IN is one alternative per value, BETWEEN is two comparisons.
    """
    match condition:
        case Logical(operator=LogicalOperator.OR, left=left, right=right):
            one, other = disjuncts(left), disjuncts(right)
            if one is None or other is None or len(one) + len(other) > _MOST:
                return None
            return [*one, *other]
        case Logical(left=left, right=right):
            one, other = disjuncts(left), disjuncts(right)
            if one is None or other is None or len(one) * len(other) > _MOST:
                return None
            return [(*before, *after) for before, after in product(one, other)]
        case InList(value=value, choices=choices) if len(choices) <= _MOST:
            return [(Comparison(ComparisonOperator.EQUAL, value, choice, at=condition.at),) for choice in choices]
        case Between(value=value, low=low, high=high):
            lower = Comparison(ComparisonOperator.GREATER_THAN_OR_EQUAL, value, low, at=condition.at)
            upper = Comparison(ComparisonOperator.LESS_THAN_OR_EQUAL, value, high, at=condition.at)
            return [(lower, upper)]
    return [(condition,)]


def joined(conjunction: Conjunction) -> Expression:
    """A conjunction as one expression."""
    return reduce(lambda one, other: Logical(LogicalOperator.AND, one, other), conjunction)
