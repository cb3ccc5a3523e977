"""Columns from the schemas of a registry, and schemas of columns into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.errors import RegistryError
from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.sql.errors import RegistryMissing, SqlError
from millstream.sql.formats.catalogue import format_of
from millstream.sql.formats.connect.schema import to_columns
from millstream.sql.formats.format import RegistryFormat, Target
from millstream.sql.schema.columns import Column
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo

_DOCS = "https://docs.confluent.io/current/schema-registry/docs"
_ISSUES = "https://github.com/confluentinc/ksql/issues/"


@dataclass(frozen=True)
class Inferred:
    """What a registry says about the keys or values of a topic.

    Attributes:
        columns: of the namespace that was asked for.
        schema: where they come from.
        names: the full names of the records that the schema describes: more than one needs a choice.
    """

    columns: tuple[Column, ...]
    schema: RegisteredSchema
    names: tuple[str, ...]


def subject(topic: str, *, is_key: bool) -> str:
    """Where the registry keeps the schemas of a topic.

    >>> subject("orders", is_key=False)
    'orders-value'
    """
    return f"{topic}-{'key' if is_key else 'value'}"


def infer_columns(
    encoding: Encoding, registry: SchemaRegistry, *, topic: str | None, is_key: bool, schema_id: int | None = None
) -> Inferred:
    """The columns that a registry's schema gives.

    Args:
        encoding: what the columns are expected to be encoded with; a format that infers schemas.
        registry: which is asked.
        topic: whose newest schema is taken when no number is given.
        is_key: whether it is about keys.
        schema_id: the number of the schema. Names then stay as they are, else they become upper case.

    Raises:
        SqlError: there is no such schema, or it is of another format or nothing for SQL.
    """
    format = _registry_format(encoding.format)
    found = _lookup(registry, topic, schema_id, is_key=is_key)
    if found is None:
        raise SqlError(_not_found(topic, schema_id, is_key=is_key))
    if found.kind != format.schema_kind:
        raise SqlError(_wrong_kind(found.kind, format.schema_kind, topic, schema_id, is_key=is_key))
    try:
        columns = to_columns(
            format.connect_schema(found, registry, encoding.format),
            is_key=is_key,
            unwrapped=Feature.UNWRAP_SINGLES in encoding.features,
            upper=schema_id is None,
        )
    except (SqlError, RegistryError, ValueError, KeyError) as error:
        reason = error.primary if isinstance(error, (SqlError, RegistryError)) else str(error)
        raise SqlError(_not_compatible(found, reason, topic, schema_id, is_key=is_key)) from error
    if is_key and len(columns) > 1:
        raise SqlError(
            f"The key schema for {_source(topic, schema_id)} contains multiple columns, "
            f"which is not supported by ksqlDB at this time.\nSchema:{found.text}"
        )
    return Inferred(columns, found, format.schema_names(found))


def schema_of(encoding: Encoding, columns: Sequence[Column], *, is_key: bool) -> RegisteredSchema:
    """The schema that columns are registered with, in a format that has schemas."""
    return _registry_format(encoding.format).schema_of(Target(encoding, tuple(columns), is_key))


def new_schema(
    encoding: Encoding,
    columns: Sequence[Column],
    registry: SchemaRegistry | None,
    *,
    topic: str,
    is_key: bool,
    if_exists: bool,
) -> RegisteredSchema | None:
    """The schema of a topic's keys or values that the registry is to be told; None when there is nothing to tell.

    Args:
        encoding: of the columns.
        columns: the key or the value columns.
        registry: which is to be told.
        topic: whose columns they are.
        is_key: whether it is about keys.
        if_exists: also when the topic has a schema already.

    Raises:
        SqlError: there is no registry.
    """
    format = format_of(encoding.format.name)
    if not isinstance(format, RegistryFormat) or not columns:
        return None
    if registry is None:
        raise RegistryMissing(
            f"Cannot create topic '{topic}' with format {format.name} without configuring 'ksql.schema.registry.url'"
        )
    if if_exists or registry.latest(subject(topic, is_key=is_key)) is None:
        return schema_of(encoding, columns, is_key=is_key)
    return None


def check_schema_kind(info: FormatInfo, schema: RegisteredSchema, *, is_key: bool) -> None:
    """See that a schema taken by its number is one of the format.

    Raises:
        SqlError: it is not.
    """
    property_name = "KEY_SCHEMA_ID" if is_key else "VALUE_SCHEMA_ID"
    format = format_of(info.name)
    if not isinstance(format, RegistryFormat):
        raise SqlError(
            f"{property_name} is provided but format {format.name} doesn't support registering in Schema Registry"
        )
    if format.schema_kind != schema.kind:
        raise SqlError(
            f"Format and fetched schema type using {property_name} {schema.id} are different. "
            f"Format: [{format.name}], Fetched schema type: [{schema.kind}]."
        )


def _registry_format(info: FormatInfo) -> RegistryFormat:
    format = format_of(info.name)
    if not isinstance(format, RegistryFormat):
        raise SqlError(f"{format.name} does not implement Schema Registry support")
    return format


def _lookup(
    registry: SchemaRegistry, topic: str | None, schema_id: int | None, *, is_key: bool
) -> RegisteredSchema | None:
    if schema_id is not None:
        return registry.by_id(schema_id)
    return None if topic is None else registry.latest(subject(topic, is_key=is_key))


def _source(topic: str | None, schema_id: int | None) -> str:
    shown = [f"topic: {topic}"] if topic is not None else []
    if schema_id is not None:
        shown.append(f"schema id: {schema_id}")
    return ", ".join(shown)


def _not_found(topic: str | None, schema_id: int | None, *, is_key: bool) -> str:
    what = "keys" if is_key else "values"
    number = "" if schema_id is None else f"Schema Id: {schema_id}\n"
    causes = (
        "- Messages on the topic have not been serialized using a Confluent Schema Registry supported serializer\n"
        f"\t-> See {_DOCS}/serializer-formatter.html\n"
        "- The schema is registered on a different instance of the Schema Registry\n"
        f"\t-> Use the REST API to list available subjects\t{_DOCS}/api.html#get--subjects\n"
        "- You do not have permissions to access the Schema Registry.\n"
        "\t-> See https://docs.confluent.io/current/confluent-security-plugins/schema-registry/introduction.html"
    )
    if topic is None:
        return (
            f"Schema for message {what} on schema id'{schema_id} does not exist in the Schema Registry.\n"
            f"{number}Possible causes include:\n- Schema Id {schema_id}\n{causes}"
        )
    return (
        f"Schema for message {what} on topic '{topic}' does not exist in the Schema Registry.\n"
        f"Subject: {subject(topic, is_key=is_key)}\n{number}"
        "Possible causes include:\n"
        "- The topic itself does not exist\n"
        "\t-> Use SHOW TOPICS; to check\n"
        "- Messages on the topic are not serialized using a format Schema Registry supports\n"
        f"\t-> Use PRINT '{topic}' FROM BEGINNING; to verify\n{causes}"
    )


def _wrong_kind(actual: str, expected: str, topic: str | None, schema_id: int | None, *, is_key: bool) -> str:
    return (
        f"{'Key' if is_key else 'Value'} schema is not in the expected format. "
        f"You may want to set {'KEY_FORMAT' if is_key else 'VALUE_FORMAT'} to '{actual}'.\n"
        f"{_source(topic, schema_id)}\n"
        f"expected format: {expected}\n"
        f"actual format from Schema Registry: {actual}"
    )


def _not_compatible(
    schema: RegisteredSchema, reason: str, topic: str | None, schema_id: int | None, *, is_key: bool
) -> str:
    return (
        f"Unable to verify if the {'key' if is_key else 'value'} schema for {_source(topic, schema_id)} "
        f"is compatible with ksqlDB.\nReason: {reason}\n\n"
        f"Please see {_ISSUES} to see if this particular reason is already known.\n"
        "If not, please log a new issue, including this full error message.\n"
        f"Schema:{schema.text}"
    )
