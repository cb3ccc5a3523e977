"""SELECT on its own: pull and push queries."""

from __future__ import annotations

from millstream.sql.analysis import plan_query
from millstream.sql.engine.context import Context
from millstream.sql.errors import SqlError, StatementError
from millstream.sql.tree.statements import SelectQuery


def select(context: Context, statement: SelectQuery, text: str) -> None:
    """Check a query. It is the one place from which pull and push queries will be answered."""
    query = statement.query
    if query.emit is not None:
        plan_query(
            query,
            sink=None,
            catalogue=context.catalogue,
            functions=context.functions,
            config=context.settings,
            query_id=f"transient_{query.source.name}",
        )
        kind = "push"
    elif context.catalogue.get(query.source.name) is None:
        raise SqlError(f"{query.source.name} does not exist.")
    else:
        kind = "pull"
    raise StatementError(
        f"{kind} queries are not yet answered",
        statement=text,
        hint="write the result to a stream or table with CREATE .. AS SELECT",
    )
