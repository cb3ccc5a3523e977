"""CREATE .. AS SELECT and INSERT INTO .. SELECT: persistent queries."""

from __future__ import annotations

from dataclasses import replace

from millstream.sql.analysis import SinkRequest
from millstream.sql.catalogue import Source
from millstream.sql.engine.answers.entities import CommandId, CommandStatus, CurrentStatus, Entity, WarningEntity
from millstream.sql.engine.answers.statement_text import create_as_text
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery, QueryKind
from millstream.sql.engine.statements.effects import Effects
from millstream.sql.engine.statements.inference import declared_formats, new_schemas
from millstream.sql.engine.statements.planning import create_request, insert_request, plan, prepare
from millstream.sql.engine.statements.properties import WithClause
from millstream.sql.engine.statements.upgrade import check_query_upgrade, check_source_upgrade
from millstream.sql.engine.topics import TopicDescription
from millstream.sql.errors import ParseError, SqlError, StatementError
from millstream.sql.schema.types import quote
from millstream.sql.tree.queries import Query
from millstream.sql.tree.statements import CreateAsSelect, InsertInto, SelectQuery, SourceKind


def create_as_select(context: Context, statement: CreateAsSelect, text: str) -> Entity:
    """Make a stream or table of a query's results, and start the query."""
    clause = _clause(statement, text)
    prepared = prepare(context, statement.query)
    try:
        return _create(context, statement, prepared, clause, text)
    except StatementError:
        raise
    except SqlError as error:
        # From here on ksqlDB shows the statement as it understood it.
        shown = create_as_text(statement, prepared)
        raise StatementError(error.primary, statement=shown, detail=error.detail, hint=error.hint) from error


def _create(context: Context, statement: CreateAsSelect, prepared: Query, clause: WithClause, text: str) -> Entity:
    existing = context.catalogue.get(statement.name)
    query_id = context.queries.create_as_id(
        statement.kind,
        statement.name,
        replaceable=statement.if_not_exists or bool(context.settings.get("ksql.create.or.replace.enabled", True)),
    )
    planned = plan(context, prepared, create_request(context, statement, clause, text), query_id, text)
    sink = planned.sink
    if sink is None:
        raise SqlError(f"the query has no result for {quote(statement.name)}")
    if existing is not None and not statement.or_replace:
        if statement.if_not_exists:
            return WarningEntity(statement_text=text, message=f"{_exists(sink, existing)}.")
        raise SqlError(_exists(sink, existing))
    if existing is not None and existing.read_only:
        raise SqlError(f"Cannot insert into read-only {existing.kind.value.lower()}: {existing.name}")
    sink = replace(sink, formats=declared_formats(context, sink, clause))
    planned = planned.with_sink(sink)
    topic = _topic(context, statement, sink, clause)
    context.topics.has(topic)
    schemas = new_schemas(context, sink, clause, if_exists=True)
    query = planned.build(context, QueryKind.CREATE_AS, sink.topic)
    if existing is not None:
        check_source_upgrade(existing, sink)
    replaced = context.queries.get(query_id)
    if replaced is not None:
        check_query_upgrade(replaced.plan.step, query.plan.step)
    with Effects(context) as effects:
        effects.create_topic(topic)
        effects.register(schemas)
        context.queries.add(query, numbered=replaced is None)
    context.catalogue.put(sink, query.sources)
    return _started(sink, query, text)


def insert_into(context: Context, statement: InsertInto, text: str) -> Entity:
    """Start a query that adds its results to a stream."""
    try:
        wanted = WithClause.of_insert(statement.properties).text("QUERY_ID")
    except SqlError as error:
        raise ParseError(f"Failed to prepare statement: {error.primary}", statement=text) from error
    query_id = context.queries.insert_id(wanted)
    prepared = prepare(context, statement.query)
    planned = plan(context, prepared, insert_request(statement, text), query_id, text)
    target = context.catalogue.sources[statement.target]
    query = planned.build(context, QueryKind.INSERT, target.topic)
    context.queries.add(query, numbered=wanted is None)
    return _started(target, query, text)


def plan_for_explain(
    context: Context, statement: CreateAsSelect | InsertInto | SelectQuery, text: str
) -> PersistentQuery:
    """The query that a statement would start."""
    prepared = prepare(context, statement.query)
    request: SinkRequest | None
    if isinstance(statement, SelectQuery):
        request, query_id = None, f"transient_{statement.query.source.name}"
    elif isinstance(statement, InsertInto):
        request, query_id = insert_request(statement, text), context.queries.insert_id(None)
    else:
        request = create_request(context, statement, _clause(statement, text), text)
        query_id = context.queries.create_as_id(statement.kind, statement.name, replaceable=True)
    planned = plan(context, prepared, request, query_id, text)
    return planned.build(context, QueryKind.CREATE_AS, None if planned.sink is None else planned.sink.topic)


def _clause(statement: CreateAsSelect, text: str) -> WithClause:
    try:
        return WithClause.of_create_as(statement.properties)
    except SqlError as error:
        raise ParseError(f"Failed to prepare statement: {error.primary}", statement=text) from error


def _exists(sink: Source, existing: Source) -> str:
    return (
        f"Cannot add {sink.kind.value.lower()} '{sink.name}': "
        f"A {existing.kind.value.lower()} with the same name already exists"
    )


def _topic(context: Context, statement: CreateAsSelect, sink: Source, clause: WithClause) -> TopicDescription:
    """The topic of the results: as large as the topic of the leftmost source unless WITH says otherwise."""
    first = context.catalogue.get(statement.query.source.name)
    source = None if first is None else context.topics.describe(first.topic)
    partitions = clause.number("PARTITIONS") or (1 if source is None else source.partitions)
    replicas = clause.number("REPLICAS") or (-1 if source is None else source.replicas)
    window = statement.query.window
    policy = "delete" if sink.kind is SourceKind.STREAM else "compact"
    if window is not None and sink.kind is SourceKind.TABLE:
        policy = "compact,delete"
    config = {"cleanup.policy": clause.text("CLEANUP_POLICY") or policy}
    retention = clause.number("RETENTION_MS")
    if retention is None and window is not None and window.retention is not None:
        retention = window.retention.milliseconds
    if retention is not None:
        config["retention.ms"] = str(retention)
    return TopicDescription(sink.topic, partitions, replicas, config)


def _started(sink: Source, query: PersistentQuery, text: str) -> CurrentStatus:
    return CurrentStatus(
        statement_text=text,
        command_id=CommandId(sink.kind.value.lower(), quote(sink.name), "create"),
        command_status=CommandStatus(f"Created query with ID {query.id}", query_id=query.id),
    )
