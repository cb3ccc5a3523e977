"""Times of records compared with text: the text becomes a time.

ROWTIME, WINDOWSTART and WINDOWEND are BIGINT, yet `ROWTIME > '2020-01-31'` is what users write.
"""

from __future__ import annotations

from millstream.sql.schema.columns import ROWTIME, WINDOW_BOUNDS
from millstream.sql.schema.time_text import parse_timestamp
from millstream.sql.tree.expressions import (
    Between,
    ColumnReference,
    Comparison,
    Expression,
    LongLiteral,
    StringLiteral,
)
from millstream.sql.tree.walk import rewrite

_TIMES = {ROWTIME, *WINDOW_BOUNDS}


def with_times(expression: Expression) -> Expression:
    """The expression with text that is compared with a record's time made a time.

    Raises:
        SqlError: such a text is no time.
    """
    return rewrite(expression, _with_times)


def _with_times(expression: Expression) -> Expression | None:
    changed: Expression = expression
    match expression:
        case Between(value=value, low=low, high=high) if _is_time(value):
            changed = Between(value, _time(low), _time(high), at=expression.at)
        case Comparison(operator=operator, left=left, right=right) if _is_time(left):
            changed = Comparison(operator, left, _time(right), at=expression.at)
        case Comparison(operator=operator, left=left, right=right) if _is_time(right):
            changed = Comparison(operator, _time(left), right, at=expression.at)
    return None if changed == expression else changed


def _is_time(expression: Expression) -> bool:
    return isinstance(expression, ColumnReference) and expression.name in _TIMES


def _time(expression: Expression) -> Expression:
    if isinstance(expression, StringLiteral):
        return LongLiteral(parse_timestamp(expression.value), at=expression.at)
    return expression
