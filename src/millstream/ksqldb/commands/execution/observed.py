"""What a statement learns of the world, noted when it is planned and told again whenever it is executed.

A statement asks which partitions a topic has and which schema a subject has. Its answers go into the command. So every
server, and a replay years later, comes to the same result, whatever has become of topics and schemas.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from millstream.registry.schemas import RegisteredSchema, SchemaReference, SchemaRegistry
from millstream.sql.engine.topics import TopicDescription, TopicRecord, Topics


class Observed:
    """Answers by question. Of several answers to one question the first counts: it is from before the statement."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicDescription | None] = {}
        self.schemas: dict[str, Any] = {}

    def to_json(self) -> dict[str, Any]:
        """For the command."""
        topics = {
            name: None if topic is None else [topic.partitions, topic.replicas] for name, topic in self.topics.items()
        }
        return {"topics": topics, "schemas": self.schemas}

    @classmethod
    def from_json(cls, plan: Mapping[str, Any]) -> Observed:
        """From the command."""
        observed = cls()
        for name, found in plan.get("topics", {}).items():
            observed.topics[name] = None if found is None else TopicDescription(name, *found)
        observed.schemas.update(plan.get("schemas", {}))
        return observed


# While a statement is planned.


class NotedTopics:
    """Topics that note what is asked. Topics are really made; deleting is left to whoever knows that it is time.

    Attributes:
        created: what was made.
        deleted: what is to be deleted.
    """

    def __init__(self, live: Topics, observed: Observed) -> None:
        self._live = live
        self._observed = observed
        self.created: list[str] = []
        self.deleted: list[str] = []
        self.names = live.names
        self.write = live.write
        self.read = live.read

    def describe(self, name: str) -> TopicDescription | None:
        found = self._live.describe(name)
        self._observed.topics.setdefault(name, found)
        return found

    def has(self, topic: TopicDescription) -> bool:
        found = self._live.has(topic)
        self._observed.topics.setdefault(topic.name, topic if found else None)
        return found

    def create(self, topic: TopicDescription) -> bool:
        created = self._live.create(topic)
        if created:
            self.created.append(topic.name)
        return created

    def delete(self, name: str) -> None:
        if name in self.created:  # a statement that failed takes back what it made
            self.created.remove(name)
            self._live.delete(name)
        else:
            self.deleted.append(name)


class NotedRegistry:
    """A schema registry that notes what is asked."""

    def __init__(self, live: SchemaRegistry, observed: Observed) -> None:
        self._live = live
        self._observed = observed
        self.withdraw = live.withdraw

    def latest(self, subject: str) -> RegisteredSchema | None:
        return self._noted_schema(self._live.latest(subject), "latest", subject)

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        return self._noted_schema(self._live.by_id(schema_id), "by_id", schema_id)

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        return self._noted_schema(self._live.version(subject, version), "version", subject, version)

    def lookup(self, subject: str, schema: RegisteredSchema) -> int | None:
        found = self._live.lookup(subject, schema)
        self._observed.schemas.setdefault(_question(("lookup", subject, *_identity(schema))), found)
        return found

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        number = self._live.register(subject, schema)
        self._observed.schemas.setdefault(_question(("register", subject, *_identity(schema))), number)
        return number

    def _noted_schema(self, found: RegisteredSchema | None, *question: Any) -> RegisteredSchema | None:
        self._observed.schemas.setdefault(_question(question), None if found is None else _written(found))
        return found


# While it is executed.


class PlannedTopics:
    """Topics as they were when a statement was planned. Nothing is made or deleted: that is done already."""

    def __init__(self, live: Topics, observed: Observed) -> None:
        self._live = live
        self._topics = observed.topics

    def describe(self, name: str) -> TopicDescription | None:
        return self._topics[name] if name in self._topics else self._live.describe(name)

    def names(self) -> list[str]:
        return self._live.names()

    def has(self, topic: TopicDescription) -> bool:
        return self.describe(topic.name) is not None

    def create(self, topic: TopicDescription) -> bool:
        return False

    def delete(self, name: str) -> None:
        pass

    def write(self, record: TopicRecord) -> None:
        self._live.write(record)

    def read(self, name: str, *, from_beginning: bool) -> Iterable[TopicRecord]:
        return self._live.read(name, from_beginning=from_beginning)


class PlannedRegistry:
    """A schema registry as it was when a statement was planned. Nothing is registered: that is done already."""

    def __init__(self, live: SchemaRegistry, observed: Observed) -> None:
        self._live = live
        self._schemas = observed.schemas

    def latest(self, subject: str) -> RegisteredSchema | None:
        question = _question(("latest", subject))
        return _read(self._schemas[question]) if question in self._schemas else self._live.latest(subject)

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        question = _question(("by_id", schema_id))
        return _read(self._schemas[question]) if question in self._schemas else self._live.by_id(schema_id)

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        question = _question(("version", subject, version))
        return _read(self._schemas[question]) if question in self._schemas else self._live.version(subject, version)

    def lookup(self, subject: str, schema: RegisteredSchema) -> int | None:
        question = _question(("lookup", subject, *_identity(schema)))
        return self._schemas[question] if question in self._schemas else self._live.lookup(subject, schema)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        question = _question(("register", subject, *_identity(schema)))
        return self._schemas[question] if question in self._schemas else self._live.register(subject, schema)

    def withdraw(self, subject: str, schema_id: int) -> None:
        pass


def _question(parts: Iterable[Any]) -> str:
    return json.dumps(list(parts), ensure_ascii=False)


def _identity(schema: RegisteredSchema) -> tuple[Any, ...]:
    return schema.kind, schema.text, [[part.name, part.subject, part.version] for part in schema.references]


def _written(schema: RegisteredSchema) -> list[Any]:
    return [*_identity(schema), schema.id]


def _read(written: Any) -> RegisteredSchema | None:
    if written is None:
        return None
    kind, text, references, schema_id = written
    return RegisteredSchema(kind, text, tuple(SchemaReference(*part) for part in references), schema_id)
