"""The bytes in front of data whose schema is in a registry: a zero, and the schema's number."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from millstream.sql.errors import SqlError
from millstream.sql.formats.format import Target
from millstream.sql.formats.registry import RegisteredSchema, SchemaRegistry

T = TypeVar("T")

_PREFIX = struct.Struct(">bI")
SIZE = _PREFIX.size


def prefix(schema_id: int) -> bytes:
    """What data of a schema begins with.

    >>> list(prefix(258))
    [0, 0, 0, 1, 2]
    """
    return _PREFIX.pack(0, schema_id)


def schema_id_of(data: bytes) -> int:
    """The number of the schema that data was written with.

    Raises:
        ValueError: it does not begin as it should.
    """
    if len(data) < SIZE or data[0] != 0:
        raise ValueError("Unknown magic byte!")
    return int.from_bytes(data[1:SIZE], "big")


def registry_of(target: Target) -> SchemaRegistry:
    """The registry.

    Raises:
        SqlError: there is none.
    """
    if target.registry is None:
        raise SqlError(
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
