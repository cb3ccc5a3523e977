"""From the query of a statement to a persistent query that can be started."""

from __future__ import annotations

from millstream.sql.analysis import PlannedQuery, SinkRequest, plan_query, prepare_query
from millstream.sql.catalogue import Catalogue
from millstream.sql.engine.context import Context
from millstream.sql.engine.properties import WithClause
from millstream.sql.engine.queries import PersistentQuery, QueryKind
from millstream.sql.errors import SqlError
from millstream.sql.physical import build_topology
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


def plan(
    context: Context, query: Query, sink: SinkRequest | None, query_id: str, catalogue: Catalogue | None = None
) -> PlannedQuery:
    """The steps of a query. Its sources are those of the engine unless a catalogue is given."""
    return plan_query(
        query,
        sink=sink,
        catalogue=context.catalogue if catalogue is None else catalogue,
        functions=context.functions,
        config=context.settings,
        query_id=query_id,
        partitions=lambda topic: _partitions(context, topic),
    )


def _partitions(context: Context, topic: str) -> int:
    found = context.topics.describe(topic)
    return 1 if found is None else found.partitions


def persistent_query(
    context: Context,
    kind: QueryKind,
    planned: PlannedQuery,
    text: str,
    sink_topic: str | None,
    catalogue: Catalogue | None = None,
) -> PersistentQuery:
    """The query of a plan, with its topology."""
    sources = context.catalogue if catalogue is None else catalogue
    topology = build_topology(
        planned.plan,
        functions=context.functions,
        settings=context.settings,
        registry=context.registry,
        log=context.log,
    )
    return PersistentQuery(
        planned.plan.query_id,
        kind,
        text,
        planned.plan,
        topology,
        context.application_id(planned.plan.query_id),
        context.settings,
        frozenset(source.topic for name in planned.plan.sources if (source := sources.get(name)) is not None),
        sink_topic,
    )


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
