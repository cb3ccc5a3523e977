"""How rows whose schemas are in a registry are written and read: see `millstream.registry.wire` for the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.registry.wire import SIZE as SIZE
from millstream.registry.wire import prefix as prefix
from millstream.registry.wire import schema_id_of as schema_id_of
from millstream.sql.errors import RegistryMissing, SqlError
from millstream.sql.formats.format import Target

T = TypeVar("T")


def registry_of(target: Target) -> SchemaRegistry:
    """The registry.

    Raises:
        SqlError: there is none.
    """
    if target.registry is None:
        raise RegistryMissing(
            f"Cannot create topic '{target.topic}' with format {target.encoding.format.name} "
            "without configuring 'ksql.schema.registry.url'"
        )
    return target.registry


def fetch(registry: SchemaRegistry, schema_id: int) -> RegisteredSchema:
    """A schema by its number.

    Raises:
        SqlError: there is none.
    """
    schema = registry.by_id(schema_id)
    if schema is None:
        raise SqlError(f"Failed to fetch schema for serialization from Schema Registry using schema id: {schema_id}")
    return schema


class PerSchema(dict[int, Callable[[bytes], Any]]):
    """Readers of data by the number of its schema, made when the first such data comes."""

    def __init__(self, registry: SchemaRegistry, make: Callable[[RegisteredSchema], Callable[[bytes], Any]]) -> None:
        super().__init__()
        self._registry = registry
        self._make = make

    def __missing__(self, schema_id: int) -> Callable[[bytes], Any]:
        schema = fetch(self._registry, schema_id)
        reader = self[schema_id] = made_or_failing(lambda: self._make(schema))
        return reader


def made_or_failing(make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """A function; one that fails whenever it is called, when it cannot be made.

    Schemas that do not fit each other are known before there is data, but it is data that cannot be read or written.
    """
    try:
        return make()
    except ValueError as error:
        reason = str(error)

    def fail(data: Any) -> Any:
        raise ValueError(reason)

    return fail


class Registered:
    """What data of a schema begins with. The schema is registered when the first is written, unless it has a number.

    Args:
        target: whose rows they are.
        schema: what they are written with.
        schema_id: its number, if it has one.
    """

    def __init__(self, target: Target, schema: RegisteredSchema, schema_id: int | None = None) -> None:
        self._target = target
        self._schema = schema
        self._prefix = None if schema_id is None else prefix(schema_id)

    def __call__(self) -> bytes:
        """The bytes."""
        if self._prefix is None:
            schema_id = registry_of(self._target).register(self._target.subject, self._schema)
            self._prefix = prefix(schema_id)
        return self._prefix
