"""From the query of a statement to a persistent query that can be started."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.sql.analysis import PlannedQuery, SinkRequest, plan_query, prepare_query
from millstream.sql.catalogue import Catalogue, Source
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery, QueryKind
from millstream.sql.engine.statements.properties import WithClause
from millstream.sql.errors import SqlError
from millstream.sql.physical import Results, build_query
from millstream.sql.plan.steps import StreamSink, TableSink
from millstream.sql.schema.formats import TimestampColumn
from millstream.sql.tree.expressions import NullLiteral
from millstream.sql.tree.queries import Query
from millstream.sql.tree.statements import CreateAsSelect, InsertInto


def prepare(context: Context, query: Query) -> Query:
    """A query with all names settled."""
    try:
        return prepare_query(query, context.catalogue, context.settings)
    except SqlError as error:
        raise SqlError(f"Exception while preparing statement: {error.primary}") from error


@dataclass(frozen=True)
class PreparedQuery:
    """The query of a statement, analysed and planned, on its way to a runner: nothing is done to it a second time.

    Attributes:
        text: the statement.
        query: its query, with all names settled.
        planned: what becomes of it.
        sources: what it is planned with.
    """

    text: str
    query: Query
    planned: PlannedQuery
    sources: Catalogue

    @property
    def sink(self) -> Source | None:
        """The stream or table that is made of the results; None unless CREATE .. AS SELECT makes one."""
        return self.planned.sink

    def with_sink(self, sink: Source) -> PreparedQuery:
        """The same, its results written in the formats of a sink that is else the same."""
        plan = self.planned.plan
        if isinstance(plan.step, StreamSink | TableSink):
            plan = replace(plan, step=replace(plan.step, formats=sink.formats))
        return replace(self, planned=replace(self.planned, plan=plan, sink=sink))

    def build(
        self, context: Context, kind: QueryKind, sink_topic: str | None, results: Results | None = None
    ) -> PersistentQuery:
        """What a runner runs. `results` hears of the results of a query that has no sink."""
        plan = self.planned.plan
        built = build_query(
            plan,
            functions=context.functions,
            settings=context.settings,
            registry=context.registry if context.live_registry is None else context.live_registry,
            log=context.log,
            results=results,
        )
        return PersistentQuery(
            plan.query_id,
            kind,
            self.text,
            plan,
            built.topology,
            context.application_id(plan.query_id),
            context.settings,
            frozenset(source.topic for name in plan.sources if (source := self.sources.get(name)) is not None),
            sink_topic,
            built.kept,
        )


def plan(
    context: Context,
    query: Query,
    sink: SinkRequest | None,
    query_id: str,
    text: str,
    catalogue: Catalogue | None = None,
) -> PreparedQuery:
    """Plan a query that `prepare` gave. Its sources are those of the engine unless a catalogue is given."""
    sources = context.catalogue if catalogue is None else catalogue
    planned = plan_query(
        query,
        sink=sink,
        catalogue=sources,
        functions=context.functions,
        config=context.settings,
        query_id=query_id,
        partitions=lambda topic: _partitions(context, topic),
    )
    return PreparedQuery(text, query, planned, sources)


def _partitions(context: Context, topic: str) -> int:
    found = context.topics.describe(topic)
    return 1 if found is None else found.partitions


def insert_request(statement: InsertInto, text: str) -> SinkRequest:
    """Where INSERT INTO writes."""
    return SinkRequest(statement.target, None, sql=text, at=statement.at)


def create_request(context: Context, statement: CreateAsSelect, clause: WithClause, text: str) -> SinkRequest:
    """Where CREATE .. AS SELECT writes. What WITH does not say is taken over from the leftmost source."""
    column = clause.timestamp_column
    key_format, value_format = clause.key_format, clause.value_format
    first = context.catalogue.get(statement.query.source.name)
    if first is not None:
        no_key = any(isinstance(expression, NullLiteral) for expression in statement.query.partition_by)
        key_format = key_format or ("NONE" if no_key else first.formats.key.format.name)
        value_format = value_format or first.formats.value.format.name
    return SinkRequest(
        statement.name,
        statement.kind,
        clause.topic,
        clause.key_format,
        clause.value_format,
        dict(clause.key_properties(statement.name, key_format or "")),
        dict(clause.value_properties(value_format or "")),
        clause.wrap_single_value,
        None if column is None else TimestampColumn(column, clause.text("TIMESTAMP_FORMAT")),
        statement.or_replace,
        statement.if_not_exists,
        text,
        statement.at,
    )
