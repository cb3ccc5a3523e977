"""CREATE STREAM and CREATE TABLE over a topic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millstream.sql.analysis import prepare_query
from millstream.sql.analysis.timestamps import check_timestamp_column
from millstream.sql.catalogue import Catalogue, Source
from millstream.sql.engine.answers.entities import CommandId, CommandStatus, CurrentStatus, Entity, WarningEntity
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery, QueryKind
from millstream.sql.engine.statements.effects import Effects
from millstream.sql.engine.statements.inference import NewSchema, infer_elements, new_schemas
from millstream.sql.engine.statements.planning import plan
from millstream.sql.engine.statements.properties import WithClause
from millstream.sql.engine.statements.upgrade import check_source_upgrade
from millstream.sql.engine.topics import TopicDescription
from millstream.sql.errors import ParseError, SqlError, StatementError
from millstream.sql.formats import check, key_features, value_features
from millstream.sql.schema.columns import SYSTEM_COLUMNS, Column, Namespace, Schema
from millstream.sql.schema.formats import Encoding, Formats, TimestampColumn
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import ColumnReference
from millstream.sql.tree.queries import Emit, Query, SingleColumn, Table
from millstream.sql.tree.statements import Constraint, CreateSource, Element, SourceKind


def create_source(context: Context, statement: CreateSource, text: str) -> Entity:
    """Register a topic as a stream or table."""
    clause = with_clause(statement, text)
    if statement.read_only and not context.settings.get("ksql.source.table.materialization.enabled", True):
        raise SqlError("Cannot execute command because source table materialization is disabled.")
    made = make_source(context, statement, clause, text)
    source = made.source
    existing = context.catalogue.get(source.name)
    if existing is not None and statement.if_not_exists:
        message = (
            f"Cannot add {statement.kind.value.lower()} {quote(source.name)}: "
            f"A {existing.kind.value.lower()} with the same name already exists."
        )
        return WarningEntity(statement_text=text, message=message)
    if existing is not None:
        check_source_upgrade(existing, source)
    query = None
    if source.read_only and source.kind is SourceKind.TABLE:
        query = _keeping(context, source, text)
    with Effects(context) as effects:
        if made.topic is not None:
            effects.create_topic(made.topic)
        effects.register(made.schemas)
        if query is not None:
            context.queries.add(query, numbered=True)
    context.catalogue.put(source)
    message = f"{source.kind.value.capitalize()} created"
    return CurrentStatus(
        statement_text=text,
        command_id=CommandId(source.kind.value.lower(), quote(source.name), "create"),
        command_status=CommandStatus(message, query_id=None if query is None else query.id),
    )


def _keeping(context: Context, source: Source, text: str) -> PersistentQuery:
    """The query that keeps a source table, so that it can be asked."""
    columns = (*source.schema.value, *source.schema.headers)
    query = Query(
        tuple(SingleColumn(ColumnReference(column.name), column.name) for column in columns),
        Table(source.name, source.name),
        emit=Emit.CHANGES,
    )
    alone = Catalogue({source.name: source})
    prepared = prepare_query(query, alone, context.settings)
    planned = plan(context, prepared, None, context.queries.source_table_id(source.name), text, alone)
    return planned.build(context, QueryKind.CREATE_SOURCE, None)


def with_clause(statement: CreateSource, text: str) -> WithClause:
    """The statement's WITH; what is wrong with it is found while the statement is parsed, in ksqlDB's terms."""
    try:
        return WithClause.of_create(statement.properties)
    except SqlError as error:
        raise ParseError(f"Failed to prepare statement: {error.primary}", statement=text) from error


@dataclass(frozen=True)
class NewSource:
    """A source that a statement describes, with all that is to be made for it.

    Attributes:
        topic: as WITH describes it; None when the topic that is there is taken as it is.
        schemas: what the registry is to be told.
    """

    source: Source
    topic: TopicDescription | None
    schemas: tuple[NewSchema, ...]


def make_source(context: Context, statement: CreateSource, clause: WithClause, text: str) -> NewSource:
    """The source that a statement describes, checked against everything but the catalogue's sources of other names."""
    clause = _with_default_formats(context, clause, text)
    name = clause.topic or ""
    topic = _topic(context, statement.kind, name, clause)
    elements, clause = infer_elements(context, statement, clause)
    schema = schema_of(elements)
    _check_names(elements)
    if schema.headers and not context.settings.get("ksql.headers.columns.enabled", True):
        kind = statement.kind.value.capitalize()
        raise SqlError(f"Cannot create {kind} because schema with headers columns is disabled.")
    timestamp = None
    if clause.timestamp_column is not None:
        timestamp = TimestampColumn(clause.timestamp_column, clause.text("TIMESTAMP_FORMAT"))
    _check_replacement(context, statement)
    if statement.kind is SourceKind.TABLE and not schema.key:
        raise SqlError(_no_primary_key(statement, clause))
    check_timestamp_column(schema, timestamp)
    formats = _formats(context, statement, clause, schema)
    if clause.window is not None and not schema.key:
        raise SqlError("Windowed sources require a key column.")
    source = Source(
        statement.kind,
        statement.name,
        schema,
        name,
        formats,
        clause.window,
        timestamp,
        text,
        read_only=statement.read_only,
    )
    return NewSource(source, topic, new_schemas(context, source, clause, if_exists=False))


def schema_of(elements: Iterable[Element]) -> Schema:
    """The schema of columns as CREATE names them.

    Raises:
        SqlError: there are none, or two that cannot be together.
    """
    columns = tuple(_column(element) for element in elements)
    if not columns:
        raise SqlError("No columns supplied.")
    duplicates = sorted({quote(column.name) for column in columns if _count(columns, column.name) > 1})
    if duplicates:
        raise SqlError(f"Duplicate column names: {', '.join(duplicates)}")
    _check_headers(columns)
    return Schema(columns)


def _count(columns: Iterable[Column], name: str) -> int:
    return sum(column.name == name for column in columns)


def _column(element: Element) -> Column:
    if element.constraint in (Constraint.KEY, Constraint.PRIMARY_KEY):
        return Column(element.name, element.type, Namespace.KEY)
    if element.constraint in (Constraint.HEADER, Constraint.HEADERS):
        return Column(element.name, element.type, Namespace.HEADERS, element.header)
    return Column(element.name, element.type)


def _check_headers(columns: Iterable[Column]) -> None:
    headers = [column for column in columns if column.namespace is Namespace.HEADERS]
    whole = [column for column in headers if column.header is None]
    if len(whole) > 1 or (whole and len(headers) > 1):
        raise SqlError("Schema already contains a HEADERS column.")
    keys = [column.header for column in headers]
    for key in keys:
        if keys.count(key) > 1:
            raise SqlError(f"Schema already contains a HEADER('{key}') column.")


def _check_names(elements: Iterable[Element]) -> None:
    for element in elements:
        if element.name.upper() in SYSTEM_COLUMNS:
            raise SqlError(f"'{element.name}' is a reserved column name. You cannot use it as a name for a column.")


def _with_default_formats(context: Context, clause: WithClause, text: str) -> WithClause:
    names = []
    for part, given in (("key", clause.key_format), ("value", clause.value_format)):
        setting = f"ksql.persistence.default.format.{part}"
        name = given or context.settings.get(setting)
        if name is None:
            raise StatementError(
                f"Statement is missing the '{part.upper()}_FORMAT' property from the WITH clause. Either provide one "
                f"or set a default via the '{setting}' config.",
                statement=text,
            )
        names.append(name)
    return clause.with_formats(*names)


def _topic(context: Context, kind: SourceKind, name: str, clause: WithClause) -> TopicDescription | None:
    """The topic as WITH describes it, if it does: one that is there must be like it, one that is not is to be made."""
    existing = context.topics.describe(name)
    partitions, replicas = clause.number("PARTITIONS"), clause.number("REPLICAS")
    if existing is None and partitions is None:
        raise SqlError(
            f"Topic '{name}' does not exist. If you want to create a new topic for the stream/table please re-run the "
            "statement providing the required 'PARTITIONS' configuration in the WITH clause (and optionally "
            "'REPLICAS')."
        )
    if partitions is None:
        return None
    policy = "compact" if kind is SourceKind.TABLE and clause.window is None else "delete"
    config = {"cleanup.policy": clause.text("CLEANUP_POLICY") or policy}
    retention = clause.number("RETENTION_MS")
    if retention is not None:
        config["retention.ms"] = str(retention)
    topic = TopicDescription(name, partitions, replicas or -1, config)
    context.topics.has(topic)
    return topic


def _check_replacement(context: Context, statement: CreateSource) -> None:
    existing = context.catalogue.get(statement.name)
    kind = statement.kind.value.lower()
    if existing is not None and not statement.or_replace and not statement.if_not_exists:
        raise SqlError(
            f"Cannot add {kind} '{statement.name}': A {existing.kind.value.lower()} with the same name already exists"
        )
    if statement.or_replace and (statement.read_only or (existing is not None and existing.read_only)):
        raise SqlError(f"Cannot add {kind} '{statement.name}': CREATE OR REPLACE is not supported on source {kind}s.")


def _no_primary_key(statement: CreateSource, clause: WithClause) -> str:
    message = "Tables require a PRIMARY KEY. Please define the PRIMARY KEY."
    if clause.number("VALUE_SCHEMA_ID") is None:
        return message
    return (
        f"{message}\nUse a partial schema to define the primary key and still load the value columns from the Schema "
        f"Registry, for example:\n\tCREATE TABLE {statement.name} (ID INT PRIMARY KEY) WITH (...);"
    )


def _formats(context: Context, statement: CreateSource, clause: WithClause, schema: Schema) -> Formats:
    key, value = clause.key_format_info(statement.name), clause.value_format_info()
    if key is None or value is None:
        raise SqlError("a source needs formats")
    key_encoding = Encoding(key, key_features(key.name, single=len(schema.key) == 1))
    value_encoding = Encoding(
        value,
        value_features(
            value.name,
            single=len(schema.value) == 1,
            wrap=clause.wrap_single_value,
            default_wrap=context.settings.get("ksql.persistence.wrap.single.values"),
        ),
    )
    check(key_encoding, schema.key, is_key=True)
    check(value_encoding, schema.value, is_key=False)
    return Formats(key_encoding, value_encoding)
