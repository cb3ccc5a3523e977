"""A registry in memory, for tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

from millstream.errors import RegistryError
from millstream.registry.schemas import RegisteredSchema, SchemaReference


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
        self._ids: dict[tuple[str, str, tuple[SchemaReference, ...]], int] = {}
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
            RegistryError: another schema has the number already.
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
                raise RegistryError(f"Schema already registered with id {found} instead of input id {found}")
            self._ids.setdefault(identity, found)
            versions = self._subjects.setdefault(subject, [])
            if found not in versions:
                versions.append(found)
            return found

    def lookup(self, subject: str, schema: RegisteredSchema) -> int | None:
        identity = (schema.kind, _normal(schema), schema.references)
        with self._lock:
            return self._in_subject(subject, identity)

    def withdraw(self, subject: str, schema_id: int) -> None:
        with self._lock:
            versions = self._subjects.get(subject, [])
            if versions and versions[-1] == schema_id:
                versions.pop()
            if not versions:
                self._subjects.pop(subject, None)

    def _known(self, subject: str, identity: tuple[str, str, tuple[SchemaReference, ...]]) -> int | None:
        """The number of a schema: a subject may have it under another than the rest."""
        found = self._in_subject(subject, identity)
        return self._ids.get(identity) if found is None else found

    def _in_subject(self, subject: str, identity: tuple[str, str, tuple[SchemaReference, ...]]) -> int | None:
        for number in self._subjects.get(subject, []):
            schema = self._schemas[number]
            if (schema.kind, _normal(schema), schema.references) == identity:
                return number
        return None

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
