"""CREATE .. AS SELECT and INSERT INTO .. SELECT: persistent queries."""

from __future__ import annotations

from millstream.sql.analysis import PlannedQuery, SinkRequest, plan_query, prepare_query
from millstream.sql.catalogue import Source
from millstream.sql.engine.context import Context
from millstream.sql.engine.entities import CommandId, CommandStatus, CurrentStatus, Entity, WarningEntity
from millstream.sql.engine.inference import check_declared_schemas, register_schemas
from millstream.sql.engine.properties import WithClause
from millstream.sql.engine.queries import PersistentQuery, QueryKind
from millstream.sql.engine.topics import TopicDescription
from millstream.sql.engine.upgrade import check_query_upgrade, check_source_upgrade
from millstream.sql.errors import ParseError, SqlError, StatementError
from millstream.sql.physical import build_topology
from millstream.sql.schema.formats import TimestampColumn
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import NullLiteral
from millstream.sql.tree.queries import Query
from millstream.sql.tree.statements import CreateAsSelect, InsertInto, SourceKind


def create_as_select(context: Context, statement: CreateAsSelect, text: str) -> Entity:
    """Make a stream or table of a query's results, and start the query."""
    clause = _clause(statement, text)
    existing = context.catalogue.get(statement.name)
    query_id = context.queries.create_as_id(
        statement.kind,
        statement.name,
        replaceable=statement.if_not_exists or bool(context.settings.get("ksql.create.or.replace.enabled", True)),
    )
    planned = _planned(context, statement.query, _sink_request(context, statement, clause, text), query_id)
    sink = planned.sink
    if sink is None:
        raise SqlError(f"the query has no result for {quote(statement.name)}")
    if existing is not None and not statement.or_replace:
        if statement.if_not_exists:
            return WarningEntity(statement_text=text, message=_exists(sink, existing, dot="."))
        raise SqlError(_exists(sink, existing))
    if existing is not None and existing.read_only:
        raise SqlError(f"Cannot insert into read-only {existing.kind.value.lower()}: {existing.name}")
    named = check_declared_schemas(context, sink, clause)
    if named is not None:
        planned = _planned(context, statement.query, _sink_request(context, statement, named, text), query_id)
        sink = planned.sink or sink
    _create_topic(context, statement, sink, clause)
    register_schemas(context, sink.topic, sink.schema, sink.formats, clause, replace=True)
    query = _query(context, QueryKind.CREATE_AS, planned, query_id, text, sink.topic)
    if existing is not None:
        check_source_upgrade(existing, sink)
    replaced = context.queries.get(query_id)
    if replaced is not None:
        check_query_upgrade(replaced.plan.step, planned.plan.step)
    else:
        context.queries.id_used()
    context.catalogue.put(sink, planned.plan.sources)
    context.queries.add(query)
    return _status(sink.kind, sink.name, "create", f"Created query with ID {query_id}", query_id, text)


def insert_into(context: Context, statement: InsertInto, text: str) -> Entity:
    """Start a query that adds its results to a stream."""
    try:
        wanted = WithClause.of_insert(statement.properties).text("QUERY_ID")
    except SqlError as error:
        raise ParseError(f"Failed to prepare statement: {error.primary}", statement=text) from error
    target = context.catalogue.get(statement.target)
    query_id = context.queries.insert_id(wanted)
    planned = _planned(
        context, statement.query, SinkRequest(statement.target, None, sql=text, at=statement.at), query_id
    )
    if target is None:
        raise SqlError(f"Sink does not exist for the INSERT INTO statement: {quote(statement.target)}")
    if target.read_only:
        raise SqlError(f"Cannot insert into read-only {target.kind.value.lower()}: {target.name}")
    query = _query(context, QueryKind.INSERT, planned, query_id, text, target.topic)
    if wanted is None:
        context.queries.id_used()
    context.queries.add(query)
    return _status(target.kind, target.name, "create", f"Created query with ID {query_id}", query_id, text)


def plan_for_explain(context: Context, statement: CreateAsSelect | InsertInto, text: str) -> PersistentQuery:
    """The query that a statement would start."""
    if isinstance(statement, InsertInto):
        request, query_id = (
            SinkRequest(statement.target, None, sql=text, at=statement.at),
            context.queries.insert_id(None),
        )
    else:
        request = _sink_request(context, statement, _clause(statement, text), text)
        query_id = context.queries.create_as_id(statement.kind, statement.name, replaceable=True)
    planned = _planned(context, statement.query, request, query_id)
    topic = planned.sink.topic if planned.sink is not None else None
    return _query(context, QueryKind.CREATE_AS, planned, query_id, text, topic)


def _clause(statement: CreateAsSelect, text: str) -> WithClause:
    try:
        return WithClause.of_create_as(statement.properties)
    except SqlError as error:
        raise ParseError(f"Failed to prepare statement: {error.primary}", statement=text) from error


def _insert_request(statement: InsertInto, text: str) -> SinkRequest:
    return SinkRequest(statement.target, None, sql=text, at=statement.at)


def _sink_request(context: Context, statement: CreateAsSelect, clause: WithClause, text: str) -> SinkRequest:
    column = clause.timestamp_column
    first = context.catalogue.get(statement.query.source.name)
    key_format, value_format = clause.key_format, clause.value_format
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


def _planned(context: Context, query: Query, sink: SinkRequest | None, query_id: str) -> PlannedQuery:
    try:
        prepared = prepare_query(query, context.catalogue, context.settings)
    except StatementError:
        raise
    except SqlError as error:
        raise SqlError(f"Exception while preparing statement: {error.primary}") from error
    return plan_query(
        prepared,
        sink=sink,
        catalogue=context.catalogue,
        functions=context.functions,
        config=context.settings,
        query_id=query_id,
        partitions=lambda topic: _partitions(context, topic),
    )


def _partitions(context: Context, topic: str) -> int:
    found = context.topics.describe(topic)
    return 1 if found is None else found.partitions


def _query(
    context: Context, kind: QueryKind, planned: PlannedQuery, query_id: str, text: str, sink_topic: str | None
) -> PersistentQuery:
    topology = build_topology(
        planned.plan,
        functions=context.functions,
        settings=context.settings,
        registry=context.registry,
        log=context.log,
    )
    return PersistentQuery(
        query_id,
        kind,
        text,
        planned.plan,
        topology,
        context.application_id(query_id),
        context.settings,
        frozenset(source.topic for name in planned.plan.sources if (source := context.catalogue.get(name))),
        sink_topic,
    )


def _exists(sink: Source, existing: Source, dot: str = "") -> str:
    return (
        f"Cannot add {sink.kind.value.lower()} '{sink.name}': "
        f"A {existing.kind.value.lower()} with the same name already exists{dot}"
    )


def _create_topic(context: Context, statement: CreateAsSelect, sink: Source, clause: WithClause) -> None:
    """Make the topic of the results: as large as the topic of the leftmost source unless WITH says otherwise."""
    if context.topics.describe(sink.topic) is not None:
        return
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
    context.topics.create(TopicDescription(sink.topic, partitions, replicas, config))


def _status(kind: SourceKind, name: str, action: str, message: str, query_id: str, text: str) -> CurrentStatus:
    return CurrentStatus(
        statement_text=text,
        command_id=CommandId(kind.value.lower(), quote(name), action),
        command_status=CommandStatus(message, query_id=query_id),
    )
