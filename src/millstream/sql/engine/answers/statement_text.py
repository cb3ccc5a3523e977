"""Statements as ksqlDB writes them once it has completed them: messages show this text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream.sql.tree.expressions import FunctionCall, Literal
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.queries import (
    AllColumns,
    HoppingWindow,
    Join,
    JoinKind,
    Query,
    SelectItem,
    SessionWindow,
    SingleColumn,
    TumblingWindow,
    Window,
)
from millstream.sql.tree.statements import CreateAsSelect

_JOINS = {
    JoinKind.INNER: "INNER JOIN",
    JoinKind.LEFT: "LEFT OUTER JOIN",
    JoinKind.RIGHT: "RIGHT OUTER JOIN",
    JoinKind.OUTER: "FULL OUTER JOIN",
}


def create_as_text(statement: CreateAsSelect, prepared: Query) -> str:
    """A CREATE .. AS SELECT, its query with all names qualified and all columns named."""
    replace = "OR REPLACE " if statement.or_replace else ""
    exists = "IF NOT EXISTS " if statement.if_not_exists else ""
    given = ", ".join(f"{name}={_literal(value)}" for name, value in statement.properties.items())
    clause = f"WITH ({given}) " if given else ""
    head = f"CREATE {replace}{statement.kind.value} {exists}{statement.name} {clause}AS "
    return head + "\n".join(_lines(prepared))


def _literal(value: Literal) -> str:
    return format_expression(value)


def _lines(query: Query) -> Iterator[str]:
    items = list(map(_item, query.select))
    yield f"SELECT {items[0]}" if len(items) == 1 else "SELECT\n  " + ",\n  ".join(items)
    yield f"FROM {query.source.name} {query.source.alias}"
    yield from map(_join, query.joins)
    if query.window is not None:
        yield f"WINDOW {_window(query.window)} "
    if query.where is not None:
        yield f"WHERE {format_expression(query.where)}"
    if query.group_by:
        yield f"GROUP BY {', '.join(map(format_expression, query.group_by))}"
    if query.partition_by:
        yield f"PARTITION BY {', '.join(map(format_expression, query.partition_by))}"
    if query.having is not None:
        yield f"HAVING {format_expression(query.having)}"
    yield f"EMIT {query.emit.value if query.emit is not None else 'CHANGES'}"
    if query.limit is not None:
        yield f"LIMIT {query.limit}"


def _item(item: SelectItem) -> str:
    if isinstance(item, SingleColumn):
        text = format_expression(item.expression)
        if item.expression == FunctionCall("COUNT", ()):
            text = "COUNT(*)"
        return f"{text} {item.alias}" if item.alias else text
    if isinstance(item, AllColumns):
        return "*" if item.source is None else f"{item.source}.*"
    return f"{format_expression(item.base)}->*"


def _join(join: Join) -> str:
    within = ""
    if join.within is not None:
        within = f" WITHIN {join.within.before}"
        if join.within.after != join.within.before:
            within = f" WITHIN ({join.within.before}, {join.within.after})"
        if join.within.grace is not None:
            within += f" GRACE PERIOD {join.within.grace}"
    text = f"{_JOINS[join.kind]} {join.right.name} {join.right.alias}{within}"
    return f"{text} ON ({format_expression(join.criteria)})"


def _window(window: Window) -> str:
    parts: list[Any] = []
    if isinstance(window, TumblingWindow):
        name, parts = "TUMBLING", [f"SIZE {window.size}"]
    elif isinstance(window, HoppingWindow):
        name, parts = "HOPPING", [f"SIZE {window.size}", f"ADVANCE BY {window.advance}"]
    elif isinstance(window, SessionWindow):
        name, parts = "SESSION", [str(window.gap)]
    if window.retention is not None:
        parts.append(f"RETENTION {window.retention}")
    if window.grace is not None:
        parts.append(f"GRACE PERIOD {window.grace}")
    return f"{name} ( {' , '.join(parts)} )"
