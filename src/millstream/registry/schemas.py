"""Where schemas are kept: what is asked of a schema registry."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from millstream.errors import RegistryError


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A schema that another one names: `name` is how it does (the path of an import, a full name)."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry has it.

    Attributes:
        kind: AVRO, JSON or PROTOBUF.
        text: the schema itself.
        id: its number, once it is registered.
    """

    kind: str
    text: str
    references: tuple[SchemaReference, ...] = ()
    id: int | None = None

    @property
    def parsed(self) -> Any:
        """What the text holds: the JSON of an AVRO or JSON schema; PROTOBUF schemas are the text itself."""
        return self.text if self.kind == "PROTOBUF" else json.loads(self.text)


class SchemaRegistry(Protocol):
    """What formats ask of a schema registry. Answers do not change once given, so that they may be kept."""

    def latest(self, subject: str) -> RegisteredSchema | None:
        """The newest schema of a subject."""
        ...

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        """A schema by its number."""
        ...

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        """A certain schema of a subject."""
        ...

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Add a schema to a subject, unless it has it, and say its number.

        Raises:
            RegistryError: the registry refuses it.
        """
        ...

    def lookup(self, subject: str, schema: RegisteredSchema) -> int | None:
        """The number that a schema has in a subject; None if the subject does not have it."""
        ...

    def withdraw(self, subject: str, schema_id: int) -> None:
        """Take the newest schema of a subject back, right after it was registered; nothing happens to another one.

        Raises:
            RegistryError: the registry refuses it.
        """
        ...


def referred(
    schema: RegisteredSchema, registry: SchemaRegistry | None
) -> list[tuple[SchemaReference, RegisteredSchema]]:
    """The schemas that a schema refers to, each after those that it refers to itself.

    Raises:
        RegistryError: one is missing.
    """
    found: list[tuple[SchemaReference, RegisteredSchema]] = []
    for reference in schema.references:
        other = registry.version(reference.subject, reference.version) if registry else None
        if other is None:
            raise RegistryError(
                f"No schema reference found for subject {reference.subject}, version {reference.version}"
            )
        found += [part for part in (*referred(other, registry), (reference, other)) if part not in found]
    return found
