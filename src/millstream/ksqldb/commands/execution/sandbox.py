"""A copy of everything, in which statements are tried before any of them is executed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from millstream.connect.client import ConnectorInfo, Connectors, ConnectorStatus, Plugin
from millstream.registry.schemas import RegisteredSchema, SchemaRegistry
from millstream.sql.engine.context import Context
from millstream.sql.engine.progress import InputOffsets, QueryError, QueryProgress
from millstream.sql.engine.queries import PersistentQuery, QueryState
from millstream.sql.engine.topics import TopicDescription, TopicRecord, Topics, check_alike
from millstream.sql.errors import SqlError
from millstream.sql.pull import StoredRows


def sandbox(context: Context) -> Context:
    """A copy of the state of an engine; what is done to it happens nowhere else."""
    return replace(
        context,
        catalogue=context.catalogue.copy(),
        queries=context.queries.copy(RememberingRunner()),
        topics=SandboxTopics(context.topics),
        registry=None if context.registry is None else SandboxRegistry(context.registry),
        connectors=None if context.connectors is None else SandboxConnectors(context.connectors),
        variables=dict(context.variables),
    )


class RememberingRunner:
    """See `QueryRunner`. Runs nothing, and remembers what is paused."""

    def __init__(self) -> None:
        self.paused: set[str] = set()

    def start(self, query: PersistentQuery) -> None:
        pass

    def stop(self, query: PersistentQuery) -> None:
        self.paused.discard(query.id)

    def pause(self, query: PersistentQuery) -> None:
        self.paused.add(query.id)

    def resume(self, query: PersistentQuery) -> None:
        self.paused.discard(query.id)

    def state(self, query: PersistentQuery) -> QueryState:
        return QueryState.PAUSED if query.id in self.paused else QueryState.RUNNING

    def errors(self, query: PersistentQuery) -> list[QueryError]:
        return []

    def progress(self, query: PersistentQuery) -> QueryProgress:
        return QueryProgress()

    def offsets(self, query: PersistentQuery) -> list[InputOffsets]:
        return []

    def rows(self, query: PersistentQuery, store: str) -> StoredRows:
        raise SqlError(f"query {query.id} does not run yet")

    def run_to_end(self, query: PersistentQuery, is_enough: Callable[[], bool]) -> None:
        raise SqlError(f"query {query.id} does not run yet")

    def close(self) -> None:
        pass


class SandboxTopics:
    """The topics there are, and those that would be made, without those that would be deleted."""

    def __init__(self, live: Topics) -> None:
        self._live = live
        self._changed: dict[str, TopicDescription | None] = {}

    def describe(self, name: str) -> TopicDescription | None:
        return self._changed[name] if name in self._changed else self._live.describe(name)

    def names(self) -> list[str]:
        found = set(self._live.names()) | self._changed.keys()
        return sorted(name for name in found if self._changed.get(name, name) is not None)

    def has(self, topic: TopicDescription) -> bool:
        if topic.name not in self._changed:
            return self._live.has(topic)
        existing = self._changed[topic.name]
        if existing is None:
            return False
        check_alike(topic, existing)
        return True

    def create(self, topic: TopicDescription) -> bool:
        if self.has(topic):
            return False
        self._changed[topic.name] = topic
        return True

    def delete(self, name: str) -> None:
        self._changed[name] = None

    def write(self, record: TopicRecord) -> None:
        pass

    def read(self, name: str, *, from_beginning: bool) -> Iterable[TopicRecord]:
        return ()


class SandboxRegistry:
    """The schemas there are, and those that would be registered."""

    def __init__(self, live: SchemaRegistry) -> None:
        self._live = live
        self._numbers = itertools.count(2**31 - 1, -1)
        self._by_id: dict[int, RegisteredSchema] = {}
        self._subjects: dict[str, list[RegisteredSchema]] = {}
        self.version = live.version

    def latest(self, subject: str) -> RegisteredSchema | None:
        new = self._subjects.get(subject)
        return new[-1] if new else self._live.latest(subject)

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        return self._by_id.get(schema_id) or self._live.by_id(schema_id)

    def lookup(self, subject: str, schema: RegisteredSchema) -> int | None:
        for known in self._subjects.get(subject, ()):
            if replace(known, id=None) == replace(schema, id=None):
                return known.id
        return self._live.lookup(subject, schema)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        found = self.lookup(subject, schema)
        if found is not None:
            return found
        number = next(self._numbers) if schema.id is None else schema.id
        known = replace(schema, id=number)
        self._by_id[number] = known
        self._subjects.setdefault(subject, []).append(known)
        return number

    def withdraw(self, subject: str, schema_id: int) -> None:
        known = self._subjects.get(subject)
        if known and known[-1].id == schema_id:
            known.pop()


class SandboxConnectors:
    """The connectors there are. Kafka Connect says whether another one could be made; none is."""

    def __init__(self, live: Connectors) -> None:
        self._live = live

    def names(self) -> list[str]:
        return self._live.names()

    def info(self, name: str) -> ConnectorInfo:
        return self._live.info(name)

    def status(self, name: str) -> ConnectorStatus:
        return self._live.status(name)

    def topics(self, name: str) -> tuple[str, ...]:
        return self._live.topics(name)

    def validate(self, class_name: str, config: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        return self._live.validate(class_name, config)

    def create(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        return ConnectorInfo(name, dict(config))

    def delete(self, name: str) -> None:
        pass

    def plugins(self) -> list[Plugin]:
        return self._live.plugins()
