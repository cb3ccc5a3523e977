"""What a statement would run, without running it."""

from __future__ import annotations

import re

from millstream.ksqldb.commands.execution.sandbox import sandbox
from millstream.server.problems import BadRequest
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.queries import PersistentQuery
from millstream.sql.engine.statements.selection import TableLookup, plan_select
from millstream.sql.errors import SqlError
from millstream.sql.parser import statements
from millstream.sql.tree.statements import CreateAsSelect, CreateSource, Explain, InsertInto, SelectQuery

#: EXPLAIN, with all that may stand before it.
_EXPLAIN = re.compile(r"\A(?:\s|--[^\n]*\n|/\*.*?\*/)*EXPLAIN\b", re.IGNORECASE | re.DOTALL)


def explained(context: Context, text: str) -> PersistentQuery:
    """The query that statements would start, or answer a SELECT with; the last one if they would start several.

    Args:
        context: the state of the engine, which is left as it is.
        text: CREATE .. AS SELECT, INSERT INTO .. SELECT or SELECT, after what these need; or EXPLAIN of one of them,
            or of a query that runs.

    Raises:
        BadRequest: they start none, or are not right.
    """
    tried = sandbox(context)
    engine = Engine(tried)
    found: PersistentQuery | None = None
    try:
        for one in statements(text):
            parsed = engine.parse(one)
            if isinstance(parsed.statement, Explain):
                if parsed.statement.query_id is not None:
                    found = _running(context, parsed.statement.query_id)
                    continue
                parsed = engine.parse(_EXPLAIN.sub("", one))
            if isinstance(parsed.statement, SelectQuery):
                planned = plan_select(tried, parsed.statement, parsed.text, "explained")
                found = planned.keeping if isinstance(planned, TableLookup) else planned.build(tried, lambda *_: None)
            elif isinstance(parsed.statement, CreateSource | CreateAsSelect | InsertInto):
                before = {id(query) for query in tried.queries}
                engine.execute_parsed(parsed)
                found = next((query for query in tried.queries if id(query) not in before), found)
            else:
                raise BadRequest("only statements that start queries can be drawn", detail=parsed.text)
    except SqlError as error:
        raise BadRequest(error.primary, detail=error.detail, hint=error.hint) from error
    if found is None:
        raise BadRequest("nothing is run for this", hint="write CREATE .. AS SELECT, INSERT INTO .. SELECT or SELECT")
    return found


def _running(context: Context, query_id: str) -> PersistentQuery:
    query = context.queries.get(query_id)
    if query is None:
        raise BadRequest(f"there is no query {query_id}", hint="SHOW QUERIES tells their ids")
    return query
