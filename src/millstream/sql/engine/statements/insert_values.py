"""INSERT INTO .. VALUES: one record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millstream.errors import RegistryError
from millstream.sql.catalogue import Catalogue, Source
from millstream.sql.engine.context import Context
from millstream.sql.engine.statements.effects import Effects
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.errors import SqlError, StatementError
from millstream.sql.expressions import evaluate_constant
from millstream.sql.formats import SchemaRegistry, format_of, schema_of, serde, subject
from millstream.sql.schema.columns import PSEUDO_COLUMNS, ROWTIME, Column
from millstream.sql.schema.types import quote
from millstream.sql.settings import Settings
from millstream.sql.tree.expressions import Expression
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.statements import InsertValues, SourceKind


@dataclass(frozen=True)
class Values:
    """A record that a statement describes: columns in the order of the source's schema."""

    key: tuple[Any, ...]
    row: tuple[Any, ...]
    timestamp: int


def insert_values(context: Context, statement: InsertValues, text: str) -> None:
    """Write a record."""
    source = target_of(context.catalogue, statement.target)
    check_topic(context.settings, source.topic)
    if not context.settings.get("ksql.insert.into.values.enabled", True):
        raise SqlError(
            "The server has disabled INSERT INTO ... VALUES functionality. To enable it, restart your ksqlDB server "
            "with 'ksql.insert.into.values.enabled'=true"
        )
    with Effects(context) as effects:  # writing rows registers their schemas
        try:
            record = _record(context, source, statement, effects.registry)
        except SqlError as error:
            raise StatementError(
                f"Failed to insert values into '{source.name}'. {error.primary}", statement=text
            ) from error
        context.topics.write(record)


def _record(context: Context, source: Source, statement: InsertValues, registry: SchemaRegistry | None) -> TopicRecord:
    values = values_of(context, source, statement.columns, statement.values)
    key = None
    if values.key:
        check_key_schema(registry, source)
        key = _bytes(registry, source, values.key, is_key=True)
    return TopicRecord(source.topic, key, _bytes(registry, source, values.row, is_key=False), values.timestamp)


def target_of(catalogue: Catalogue, name: str) -> Source:
    """A stream or table that rows can be inserted into.

    Raises:
        SqlError: there is none of that name, or it takes no rows.
    """
    source = catalogue.get(name)
    if source is None:
        raise SqlError(
            f"Cannot insert values into an unknown stream/table: {quote(name)}{alternatives(catalogue, name)}"
        )
    if source.window is not None:
        raise SqlError("Cannot insert values into windowed stream/table!")
    if source.read_only:
        raise SqlError(f"Cannot insert values into read-only {source.kind.value.lower()}: {source.name}")
    if source.schema.headers:
        raise SqlError(f"Cannot insert into {source.name} because it has header columns")
    return source


def check_topic(settings: Settings, topic: str) -> None:
    """See that the topic is not one of those that nobody but their owner writes to.

    Raises:
        SqlError: it is.
    """
    patterns = str(settings.get("ksql.readonly.topics", "")).split(",")
    if any(re.fullmatch(pattern.strip(), topic) for pattern in patterns):
        raise SqlError(f"Cannot insert values into read-only topic: {topic}")


def alternatives(catalogue: Catalogue, name: str, kind: SourceKind | None = None) -> str:
    """What a user may have meant by a name that does not exist, as a hint to append; empty when nothing is near."""
    found = [
        source.name
        for source in catalogue
        if source.name.upper() == name.upper() and (kind is None or source.kind is kind)
    ]
    if not found:
        return ""
    if found == [name.upper()]:
        return f"\nDid you mean {found[0]}? Hint: try removing double quotes from the source name."
    listed = " or ".join(item if item == item.upper() else f'"{item}"' for item in found)
    return f"\nDid you mean {listed}? Hint: wrap the source name in double quotes to make it case-sensitive."


def values_of(context: Context, source: Source, columns: Sequence[str], expressions: Sequence[Expression]) -> Values:
    """The record that columns and expressions describe.

    Raises:
        SqlError: a column does not exist or cannot be set, or a value does not fit its column.
    """
    schema = source.schema
    names = list(columns) or [column.name for column in (*schema.key, *schema.value)]
    if len(names) != len(expressions):
        shown = ", ".join(map(quote, columns))
        got = ", ".join(map(format_expression, expressions))
        raise SqlError(f"Expected a value for each column. Expected Columns: [{shown}]. Got [{got}]")
    for name in names:
        if name in PSEUDO_COLUMNS and name != ROWTIME:
            raise SqlError(f"Inserting into column {quote(name)} is not allowed.")
        if name != ROWTIME and schema.find(name) is None:
            raise SqlError(f"Column name {quote(name)} does not exist.")
    given = {
        name: _evaluate(context, source, name, expression) for name, expression in zip(names, expressions, strict=True)
    }
    if source.kind is SourceKind.TABLE:
        missing = ", ".join(column.name for column in schema.key if column.name not in given)
        if missing:
            raise SqlError(f"Value for primary key column(s) {missing} is required for tables")
    timestamp = given.get(ROWTIME)
    if timestamp is not None and timestamp < 0:
        raise SqlError(f"Invalid timestamp: {timestamp}. Timestamp should always be non-negative or null.")
    return Values(
        tuple(given.get(column.name) for column in schema.key),
        tuple(given.get(column.name) for column in schema.value),
        context.now() if timestamp is None else timestamp,
    )


def _evaluate(context: Context, source: Source, name: str, expression: Expression) -> Any:
    column = Column(ROWTIME, PSEUDO_COLUMNS[ROWTIME]) if name == ROWTIME else source.schema.find(name)
    if column is None:
        raise SqlError(f"Column name {quote(name)} does not exist.")
    return evaluate_constant(expression, column.type, context.functions, name=name, config=context.settings)


def check_key_schema(registry: SchemaRegistry | None, source: Source) -> None:
    """See that the key's schema is the registered one: another would send equal keys to different partitions."""
    encoding = source.formats.key
    if registry is None or not format_of(encoding.format.name).infers_schemas:
        return
    latest = registry.latest(subject(source.topic, is_key=True))
    made = schema_of(encoding, source.schema.key, is_key=True)
    if latest is not None and _plain(latest.parsed) != _plain(made.parsed):
        raise SqlError(
            f"Cannot INSERT VALUES into data source {quote(source.name)}. ksqlDB generated schema would overwrite "
            f"existing key schema.\n\tExisting Schema: {latest.text}\n\tksqlDB Generated: {made.text}"
        )


def _plain(schema: Any) -> Any:
    """A schema without what only tells where it came from."""
    if isinstance(schema, dict):
        return {name: _plain(part) for name, part in schema.items() if not name.startswith("connect.")}
    if isinstance(schema, list):
        return list(map(_plain, schema))
    return schema.strip() if isinstance(schema, str) else schema


def _bytes(registry: SchemaRegistry | None, source: Source, row: tuple[Any, ...], *, is_key: bool) -> bytes | None:
    encoding = source.formats.key if is_key else source.formats.value
    columns = source.schema.key if is_key else source.schema.value
    maker = serde(encoding, columns, is_key=is_key, registry=registry, topic=source.topic)
    try:
        return maker.serialize(row)
    except Exception as error:
        what = f"key: {row}" if is_key else f"row: {row}"
        reason = error.primary if isinstance(error, (SqlError, RegistryError)) else str(error)
        raise SqlError(f"Could not serialize {what}. {reason}") from error
