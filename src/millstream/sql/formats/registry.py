"""Where schemas are kept: what is asked of a schema registry, and one in memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from millstream.sql.errors import SqlError


@dataclass(frozen=True, slots=True)
class Reference:
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
    references: tuple[Reference, ...] = ()
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
            SqlError: the registry refuses it.
        """
        ...

    def withdraw(self, subject: str, schema_id: int) -> None:
        """Take the newest schema of a subject back, right after it was registered; nothing happens to another one.

        Raises:
            SqlError: the registry refuses it.
        """
        ...


class InMemoryRegistry:
    """A registry for tests: it lives in this process. Pickling takes a copy of what it holds.

    >>> registry = InMemoryRegistry()
    >>> registry.register("orders-value", RegisteredSchema("AVRO", '"string"'))
    1
    >>> registry.latest("orders-value").text
    '"string"'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: dict[tuple[str, str, tuple[Reference, ...]], int] = {}
        self._schemas: dict[int, RegisteredSchema] = {}
        self._subjects: dict[str, list[int]] = {}
        self._referred: dict[str, list[RegisteredSchema]] = {}

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: dict(value) for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def subjects(self) -> Sequence[str]:
        """All subjects, sorted."""
        return sorted(self._subjects)

    def latest(self, subject: str) -> RegisteredSchema | None:
        versions = self._subjects.get(subject)
        return self._schemas[versions[-1]] if versions else None

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        return self._schemas.get(schema_id)

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        found = [*map(self._schemas.__getitem__, self._subjects.get(subject, [])), *self._referred.get(subject, [])]
        return found[version - 1] if 0 < version <= len(found) else None

    def register(self, subject: str, schema: RegisteredSchema, schema_id: int | None = None) -> int:
        """Add a schema to a subject, unless it has it, and say its number.

        Args:
            subject: see `SchemaRegistry`.
            schema: see `SchemaRegistry`.
            schema_id: the number that it must have; else the next free one.

        Raises:
            SqlError: another schema has the number already.
        """
        identity = (schema.kind, _normal(schema), schema.references)
        with self._lock:
            found = schema_id if schema_id is not None else self._known(subject, identity)
            if found is None:
                found = max(self._schemas, default=0) + 1
            known = self._schemas.setdefault(
                found, RegisteredSchema(schema.kind, schema.text, schema.references, found)
            )
            if (known.kind, _normal(known), known.references) != identity:
                raise SqlError(f"Schema already registered with id {found} instead of input id {found}")
            self._ids.setdefault(identity, found)
            versions = self._subjects.setdefault(subject, [])
            if found not in versions:
                versions.append(found)
            return found

    def withdraw(self, subject: str, schema_id: int) -> None:
        with self._lock:
            versions = self._subjects.get(subject, [])
            if versions and versions[-1] == schema_id:
                versions.pop()
            if not versions:
                self._subjects.pop(subject, None)

    def _known(self, subject: str, identity: tuple[str, str, tuple[Reference, ...]]) -> int | None:
        """The number of a schema: a subject may have it under another than the rest."""
        for number in self._subjects.get(subject, []):
            schema = self._schemas[number]
            if (schema.kind, _normal(schema), schema.references) == identity:
                return number
        return self._ids.get(identity)

    def add_version(self, subject: str, schema: RegisteredSchema) -> None:
        """Keep a schema that others refer to, without a number that counts."""
        with self._lock:
            self._referred.setdefault(subject, []).append(schema)

    def delete(self, subject: str) -> None:
        """Forget a subject; its schemas can still be found by their numbers."""
        self._subjects.pop(subject, None)


def _normal(schema: RegisteredSchema) -> str:
    """The text that is the same for the same schema."""
    if schema.kind == "PROTOBUF":
        return schema.text.strip()
    return json.dumps(schema.parsed, sort_keys=True)
