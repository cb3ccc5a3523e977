"""SELECT on its own: pull and push queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.records import Windowed
from millstream.sql.analysis.wording import PULL_HELP
from millstream.sql.catalogue import Source
from millstream.sql.engine.answers.entities import QueryAnswer
from millstream.sql.engine.answers.rows import plain
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import QueryKind
from millstream.sql.engine.statements.planning import PreparedQuery, plan, prepare
from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import Step, TableSelect
from millstream.sql.pull import plan_pull
from millstream.sql.schema.columns import WINDOW_BOUNDS, Column
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import ColumnReference
from millstream.sql.tree.statements import SelectQuery, SourceKind

_Row = tuple[Any, ...]


def select(context: Context, statement: SelectQuery, text: str) -> QueryAnswer:
    """Answer a query: from the store behind a table, or by reading topics to their end."""
    is_pull = statement.query.emit is None
    if is_pull and not context.settings.get("ksql.pull.queries.enable", True):
        raise SqlError(
            f"Pull queries are disabled.{PULL_HELP}\nPlease set ksql.pull.queries.enable=true to enable this feature.\n"
        )
    query = prepare(context, statement.query)
    prepared = plan(context, query, None, f"transient_{query.source.name}", text)
    source = context.catalogue.sources[query.source.name]
    if is_pull and source.kind is SourceKind.TABLE:
        return _look_up(context, prepared, source)
    if is_pull and not context.settings.get("ksql.query.pull.stream.enabled", True):
        raise SqlError(
            "Pull queries on streams are disabled. To create a push query on the stream, add EMIT CHANGES to the end. "
            "To enable pull queries on streams, set the ksql.query.pull.stream.enabled config to 'true'."
        )
    return _read(context, prepared)


def _look_up(context: Context, prepared: PreparedQuery, table: Source) -> QueryAnswer:
    """The answer to a pull query of a table."""
    keeping = context.queries.creating(table.name)
    if keeping is None or keeping.kept is None:
        raise SqlError(
            f"The {quote(table.name)} table isn't queryable. To derive a queryable table, you can do "  # noqa: S608
            f"'CREATE TABLE QUERYABLE_{table.name} AS SELECT * FROM {table.name}'.{PULL_HELP}"
        )
    planned = plan_pull(
        prepared.planned.plan.step,
        table,
        keeping.kept,
        prepared.planned.limit,
        functions=context.functions,
        settings=context.settings,
        log=context.log,
    )
    rows = planned.answer(context.queries.runner.rows(keeping, keeping.kept.store))
    return QueryAnswer(
        statement_text=prepared.text,
        columns=planned.columns,
        rows=tuple(_plain(planned.columns, row) for row in rows),
    )


def _read(context: Context, prepared: PreparedQuery) -> QueryAnswer:
    """The answer to a push query, or to a pull query of a stream: what comes of all records that there are now."""
    planned = prepared.planned
    gone = _tombstone(planned.plan.step)
    rows: list[_Row] = []
    tombstones = set()

    def is_enough() -> bool:
        return planned.limit is not None and len(rows) >= planned.limit

    def take(key: Any, row: _Row | None) -> None:
        if is_enough():
            return
        if row is None:
            if gone is None:
                return
            tombstones.add(len(rows))
            row = gone(key)
        rows.append(row)

    query = prepared.build(context, QueryKind.PUSH, None, take)
    context.queries.runner.run_to_end(query, is_enough)
    columns = tuple(Column(column.name, column.type) for column in planned.schema.value)
    return QueryAnswer(
        statement_text=prepared.text,
        columns=columns,
        rows=tuple(_plain(columns, row) for row in rows),
        tombstones=frozenset(tombstones),
        final_message="Limit Reached" if is_enough() else "Query Completed",
    )


def _tombstone(step: Step) -> Callable[[Any], _Row] | None:
    """From the key of a row that is gone to the row that tells so: only its key columns have values."""
    if not isinstance(step, TableSelect):
        return None
    places = {column.name: index for index, column in enumerate(step.source.schema.key)}
    places |= {name: index - len(WINDOW_BOUNDS) for index, name in enumerate(WINDOW_BOUNDS)}
    named = [one.expression.name if isinstance(one.expression, ColumnReference) else None for one in step.selected]

    def row(key: Any) -> _Row:
        columns = (*key.key, *key.window) if isinstance(key, Windowed) else key
        return tuple(columns[places[name]] if name in places else None for name in named)

    return row


def _plain(columns: tuple[Column, ...], row: _Row) -> _Row:
    return tuple(plain(column.type, value) for column, value in zip(columns, row, strict=True))
