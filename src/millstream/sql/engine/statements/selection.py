"""SELECT on its own: pull and push queries."""

from __future__ import annotations

from millstream.sql.engine.context import Context
from millstream.sql.engine.statements.planning import plan, prepare
from millstream.sql.errors import StatementError
from millstream.sql.tree.statements import SelectQuery


def select(context: Context, statement: SelectQuery, text: str) -> None:
    """Plan a query. It is the one place from which pull and push queries will be answered."""
    prepared = prepare(context, statement.query)
    plan(context, prepared, None, f"transient_{statement.query.source.name}", text)
    kind = "pull" if statement.query.emit is None else "push"
    raise StatementError(
        f"{kind} queries are not yet answered",
        statement=text,
        hint="write the result to a stream or table with CREATE .. AS SELECT",
    )
