"""DROP, ALTER and types."""

from __future__ import annotations

from dataclasses import replace

from millstream.errors import MillstreamError
from millstream.sql.catalogue import Source
from millstream.sql.engine.answers.entities import CommandId, CommandStatus, CurrentStatus, Entity, WarningEntity
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery, QueryKind
from millstream.sql.engine.statements.insert_values import alternatives
from millstream.sql.engine.statements.upgrade import check_source_upgrade
from millstream.sql.errors import SqlError, tell
from millstream.sql.schema.columns import Column, Schema
from millstream.sql.schema.types import quote
from millstream.sql.tree.statements import AlterSource, CreateType, DropSource, DropType, SourceKind


def drop_source(context: Context, statement: DropSource, text: str) -> Entity:
    """Forget a stream or table, and end the query that made it."""
    kind, name = statement.kind.value.lower(), statement.name
    source = context.catalogue.get(name)
    if source is None:
        if statement.if_exists:
            return WarningEntity(statement_text=text, message=f"Source {quote(name)} does not exist.")
        hint = alternatives(context.catalogue, name, statement.kind)
        raise SqlError(f"{kind.capitalize()} {name} does not exist.{hint}")
    if source.kind is not statement.kind:
        raise SqlError(f"Incompatible data source type is {source.kind.value.lower()}, but statement was DROP {kind}")
    if source.read_only and statement.delete_topic:
        raise SqlError(f"Cannot delete topic for read-only source: {name}")
    if statement.delete_topic:
        _check_topic_is_own(context, source)
    _check_insert_queries(context, name)
    _check_derived(context, name)
    query = context.queries.creating(name)
    if query is not None:
        context.queries.remove(query)
    if statement.delete_topic:
        _delete_topic(context, source, query)
    context.catalogue.remove(name)  # at last: until then the statement can be repeated
    message = f"Source {quote(name)} (topic: {source.topic}) was dropped."
    return _status(kind, name, "drop", message, text)


def _delete_topic(context: Context, source: Source, ended: PersistentQuery | None) -> None:
    try:
        context.topics.delete(source.topic)
    except MillstreamError as error:
        if ended is not None:
            tell(error, f"query {ended.id} is ended; {source.name} and its topic {source.topic} are still there")
        error.hint = error.hint or "execute the statement again"
        raise


def _check_topic_is_own(context: Context, source: Source) -> None:
    others = [name for name in context.catalogue.sharing_topic(source.topic) if name != source.name]
    if others:
        raise SqlError(
            f"Refusing to delete topic. Found other data sources ({', '.join(others)}) using topic {source.topic}"
        )


def _check_insert_queries(context: Context, name: str) -> None:
    def ids(of: str) -> str:
        found = context.queries.reading(name) if of == "reading" else context.queries.writing(name)
        return ", ".join(sorted(query.id for query in found if query.kind is QueryKind.INSERT))

    reading, writing = ids("reading"), ids("writing")
    if reading or writing:
        raise SqlError(
            f"Cannot drop {name}.\n"
            f"The following queries read from this source: [{reading}].\n"
            f"The following queries write into this source: [{writing}].\n"
            f"You need to terminate them before dropping {name}."
        )


def _check_derived(context: Context, name: str) -> None:
    derived = context.catalogue.derived_from(name)
    if derived:
        raise SqlError(
            f"Cannot drop {name}.\n"
            f"The following streams and/or tables read from this source: [{', '.join(derived)}].\n"
            f"You need to drop them before dropping {name}."
        )


def alter_source(context: Context, statement: AlterSource, text: str) -> Entity:
    """Add columns to a stream or table."""
    kind, name = statement.kind.value.lower(), statement.name
    source = context.catalogue.get(name)
    if source is None:
        raise SqlError(f"Source {name} does not exist.")
    if source.read_only:
        raise SqlError(f"Cannot alter {kind} '{name}': ALTER operations are not supported on source {kind}s.")
    if source.kind is not statement.kind:
        raise SqlError(
            f"Incompatible data source type is {source.kind.value}, but statement was ALTER {statement.kind.value}"
        )
    if source.from_query:
        raise SqlError("ALTER command is not supported for CREATE ... AS statements.")
    columns = list(source.schema.columns)
    for element in statement.columns:
        if any(column.name == element.name for column in columns):
            raise SqlError(
                f"Cannot add column {quote(element.name)} to schema. A column with the same name already exists."
            )
        columns.append(Column(element.name, element.type))
    altered = replace(source, schema=Schema(tuple(columns)), sql=text)
    check_source_upgrade(source, altered)
    context.catalogue.put(altered)
    shown = "Stream" if source.kind is SourceKind.STREAM else "Table"
    return _status(kind, name, "alter", f"{shown} {name} altered.", text)


def create_type(context: Context, statement: CreateType, text: str) -> Entity:
    """Give a type a name."""
    name = statement.name
    known = context.catalogue.types.get(name)
    if known is not None:
        if not statement.if_not_exists:
            raise SqlError(f"Cannot register custom type '{name}' since it is already registered with type: {known}")
        return WarningEntity(statement_text=text, message=f"{name} is already registered with type {known}")
    context.catalogue.types[name] = statement.type
    message = f"Registered custom type with name '{name}' and SQL type {statement.type}"
    return _status("type", name, "create", message, text)


def drop_type(context: Context, statement: DropType, text: str) -> Entity:
    """Forget a name of a type."""
    name = statement.name
    if name not in context.catalogue.types:
        if not statement.if_exists:
            raise SqlError(f"Type {name} does not exist.")
        return WarningEntity(statement_text=text, message=f"Type '{name}' does not exist")
    del context.catalogue.types[name]
    return _status("type", name, "drop", f"Dropped type '{name}'", text)


def _status(kind: str, name: str, action: str, message: str, text: str) -> CurrentStatus:
    return CurrentStatus(
        statement_text=text,
        command_id=CommandId(kind, name, action),
        command_status=CommandStatus(message),
    )
