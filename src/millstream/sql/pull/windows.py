"""Bounds of windows: comparisons with WINDOWSTART and WINDOWEND."""

from __future__ import annotations

from collections.abc import Callable

from millstream.sql.pull.lookups import Times
from millstream.sql.schema.columns import WINDOWEND, WINDOWSTART
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import ComparisonOperator, Expression
from millstream.sql.tree.format import format_expression

_WITHIN: dict[ComparisonOperator, Callable[[int], Times]] = {
    ComparisonOperator.EQUAL: lambda time: Times(time, time),
    ComparisonOperator.LESS_THAN: lambda time: Times(last=time - 1),
    ComparisonOperator.LESS_THAN_OR_EQUAL: lambda time: Times(last=time),
    ComparisonOperator.GREATER_THAN: lambda time: Times(first=time + 1),
    ComparisonOperator.GREATER_THAN_OR_EQUAL: lambda time: Times(first=time),
}
#: Comparisons that say the same kind of thing: a bound may be given once.
_KINDS = {
    ComparisonOperator.LESS_THAN_OR_EQUAL: ComparisonOperator.LESS_THAN,
    ComparisonOperator.GREATER_THAN_OR_EQUAL: ComparisonOperator.GREATER_THAN,
}


class WindowTimes:
    """The times within which windows start and end.

    Args:
        invalid: makes the error of a condition that is not allowed.
    """

    def __init__(self, invalid: Callable[..., Exception]) -> None:
        self._invalid = invalid
        self._times = {WINDOWSTART: Times(), WINDOWEND: Times()}
        self._given: dict[str, set[ComparisonOperator]] = {WINDOWSTART: set(), WINDOWEND: set()}

    @property
    def starts(self) -> Times:
        return self._times[WINDOWSTART]

    @property
    def ends(self) -> Times:
        return self._times[WINDOWEND]

    def add(self, part: Expression, column: str, operator: ComparisonOperator, time: int) -> None:
        """Take a comparison into account, the column on its left side.

        Raises:
            SqlError: it is the second of its kind, or is combined with an equality.
        """
        kind = _KINDS.get(operator, operator)
        given = self._given[column]
        repeated = kind in given
        given.add(kind)
        if ComparisonOperator.EQUAL in given and len(given) > 1:
            shown = format_expression(part)
            raise self._invalid(f"`{shown}` cannot be combined with other {quote(column)} bounds", windowed=True)
        if repeated:
            raise self._invalid(f"Duplicate {quote(column)} bounds on: {kind.name}", windowed=True)
        self._times[column] &= _WITHIN[operator](time)
