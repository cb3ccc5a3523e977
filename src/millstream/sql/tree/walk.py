"""Going through expressions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from millstream.sql.tree.expressions import ColumnReference, Expression

#: The attributes of every class that can hold expressions.
_parts_of: dict[type[Expression], tuple[str, ...]] = {}


def _parts(expression: Expression) -> tuple[str, ...]:
    kind = type(expression)
    if kind not in _parts_of:
        _parts_of[kind] = tuple(
            field.name
            for field in dataclasses.fields(kind)
            if "Expression" in str(field.type) or "When" in str(field.type)
        )
    return _parts_of[kind]


def _inside(value: Any) -> Iterator[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _inside(item)


def children(expression: Expression) -> Iterator[Expression]:
    """The expressions directly inside an expression, in the order in which they were written.

    >>> from millstream.sql.tree.expressions import IntegerLiteral, Sign
    >>> list(children(Sign(True, IntegerLiteral(1))))
    [IntegerLiteral(value=1)]
    """
    for name in _parts(expression):
        yield from _inside(getattr(expression, name))


def walk(expression: Expression) -> Iterator[Expression]:
    """An expression and everything inside it; what is outside comes before what is inside."""
    left = [expression]
    while left:
        current = left.pop()
        yield current
        left.extend(reversed(tuple(children(current))))


def references(expression: Expression) -> Iterator[ColumnReference]:
    """The columns an expression names, as often as it names them."""
    for inner in walk(expression):
        if isinstance(inner, ColumnReference):
            yield inner


def rewrite(expression: Expression, replace: Callable[[Expression], Expression | None]) -> Expression:
    """An expression with parts of it replaced.

    Args:
        expression: where to begin.
        replace: is asked for every part, the outer before the inner. What it returns takes the place of the part, and
            is not gone into; None leaves the part as it is, and goes into it.

    Returns:
        A new expression; the same one where nothing was replaced.

    >>> from millstream.sql.tree.expressions import ColumnReference, IntegerLiteral, Sign
    >>> one = IntegerLiteral(1)
    >>> rewrite(Sign(True, ColumnReference("A")), lambda part: one if isinstance(part, ColumnReference) else None)
    Sign(negative=True, value=IntegerLiteral(value=1))
    """
    replaced = replace(expression)
    if replaced is not None:
        return replaced
    changes = {}
    for name in _parts(expression):
        before = getattr(expression, name)
        after = _rewrite_value(before, replace)
        if after is not before:
            changes[name] = after
    return dataclasses.replace(expression, **changes) if changes else expression


def _rewrite_value(value: Any, replace: Callable[[Expression], Expression | None]) -> Any:
    if isinstance(value, Expression):
        return rewrite(value, replace)
    if isinstance(value, tuple):
        items = tuple(_rewrite_value(item, replace) for item in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value
