"""SELECT on its own: pull and push queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from millstream.records import Windowed
from millstream.sql.analysis.wording import PULL_HELP
from millstream.sql.catalogue import Source
from millstream.sql.engine.answers.entities import QueryAnswer
from millstream.sql.engine.answers.rows import plain_rows
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery, QueryKind
from millstream.sql.engine.statements.planning import PreparedQuery, plan, prepare
from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import Step, TableSelect
from millstream.sql.pull import PullPlan, plan_pull
from millstream.sql.schema.columns import WINDOW_BOUNDS, Column
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import ColumnReference
from millstream.sql.tree.statements import SelectQuery, SourceKind

_Row = tuple[Any, ...]


@dataclass(frozen=True)
class TableLookup:
    """A pull query of a table: answered from the store behind it.

    Attributes:
        keeping: the query that keeps the store.
        plan: what is asked of the store.
    """

    prepared: PreparedQuery
    keeping: PersistentQuery
    plan: PullPlan
    store: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """Of its rows; they tell which belong to the key."""
        return self.plan.columns

    def rows(self, context: Context) -> Iterator[_Row]:
        """The rows of the answer; they are looked up as they are taken.

        Raises:
            MillstreamError: the store cannot be asked.
        """
        return map(plain_rows(self.columns), self.plan.answer(context.queries.runner.rows(self.keeping, self.store)))


@dataclass(frozen=True)
class TopicReading:
    """A push query, or a pull query of a stream: answered by a topology over the records of topics.

    Attributes:
        to_end: whether it ends where the topics end.
    """

    prepared: PreparedQuery
    to_end: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        """Of its rows."""
        return tuple(Column(column.name, column.type) for column in self.prepared.planned.schema.value)

    @property
    def limit(self) -> int | None:
        """The most rows that are wanted."""
        return self.prepared.planned.limit

    def build(self, context: Context, take: Callable[[_Row, bool], object]) -> PersistentQuery:
        """What can be run.

        Args:
            context: what expressions need.
            take: hears of each row, and whether it says that its key is gone.
        """
        gone = _tombstone(self.prepared.planned.plan.step)
        present = plain_rows(self.columns)

        def result(key: Any, row: _Row | None) -> None:
            if row is not None:
                take(present(row), False)
            elif gone is not None:
                take(present(gone(key)), True)

        return self.prepared.build(context, QueryKind.PUSH, None, result)


def plan_select(
    context: Context, statement: SelectQuery, text: str, query_id: str | None = None
) -> TableLookup | TopicReading:
    """How a query is answered.

    Args:
        context: with the session's settings.
        statement: the query.
        text: of the statement.
        query_id: its id; one after its source unless given.

    Raises:
        SqlError: it cannot be answered.
    """
    is_pull = statement.query.emit is None
    if is_pull and not context.settings.get("ksql.pull.queries.enable", True):
        raise SqlError(
            f"Pull queries are disabled.{PULL_HELP}\nPlease set ksql.pull.queries.enable=true to enable this feature.\n"
        )
    query = prepare(context, statement.query)
    prepared = plan(context, query, None, query_id or f"transient_{query.source.name}", text)
    source = context.catalogue.sources[query.source.name]
    if is_pull and source.kind is SourceKind.TABLE:
        return _plan_lookup(context, prepared, source)
    if is_pull and not context.settings.get("ksql.query.pull.stream.enabled", True):
        raise SqlError(
            "Pull queries on streams are disabled. To create a push query on the stream, add EMIT CHANGES to the end. "
            "To enable pull queries on streams, set the ksql.query.pull.stream.enabled config to 'true'."
        )
    return TopicReading(prepared, is_pull)


def select(context: Context, statement: SelectQuery, text: str) -> QueryAnswer:
    """Answer a query at once: from the store behind a table, or by reading topics to their end."""
    found = plan_select(context, statement, text)
    if isinstance(found, TopicReading):
        return _read(context, found)
    return QueryAnswer(
        statement_text=found.prepared.text,
        columns=found.columns,
        rows=tuple(found.rows(context)),
    )


def _plan_lookup(context: Context, prepared: PreparedQuery, table: Source) -> TableLookup:
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
    return TableLookup(prepared, keeping, planned, keeping.kept.store)


def _read(context: Context, reading: TopicReading) -> QueryAnswer:
    """What comes of all records that there are now."""
    rows: list[_Row] = []
    tombstones = set()

    def is_enough() -> bool:
        return reading.limit is not None and len(rows) >= reading.limit

    def take(row: _Row, is_tombstone: bool) -> None:
        if is_enough():
            return
        if is_tombstone:
            tombstones.add(len(rows))
        rows.append(row)

    context.queries.runner.run_to_end(reading.build(context, take), is_enough)
    return QueryAnswer(
        statement_text=reading.prepared.text,
        columns=reading.columns,
        rows=tuple(rows),
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
