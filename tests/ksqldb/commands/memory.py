"""A command topic in memory, and what else a service needs, for tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.errors import MillstreamError
from millstream.ksqldb.api import Answer, Request, ServiceError
from millstream.ksqldb.commands.execution.sandbox import RememberingRunner
from millstream.ksqldb.commands.log.topic import Batch, CommandRecord, TopicDamaged, WriterFenced
from millstream.ksqldb.service import KsqlService
from millstream.sql.engine.answers.entities import CurrentStatus, Entity
from millstream.sql.engine.api import configured_connectors
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import Queries, QueryRunner
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription, TopicRecord, Topics
from millstream.sql.formats import SchemaRegistry
from millstream.sql.functions.registry import default_registry
from millstream.sql.settings import Settings

FUNCTIONS = default_registry()
WAIT_SECONDS = 30.0


class MemoryCommandTopic:
    """See `CommandTopic`. As in Kafka, what ends a transaction takes an offset, and the last who began can commit."""

    name = "_confluent-ksql-test__command_topic"

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.exists = False
        self.life = 0
        self.entries: list[CommandRecord | None] = []
        self.owner: object | None = None
        self.damage: TopicDamaged | None = None
        self._lives: dict[int, int] = {}

    @property
    def records(self) -> list[CommandRecord]:
        return [entry for entry in self.entries if entry is not None]

    def ensure(self) -> bool:
        created, self.exists = not self.exists, True
        self.life += created
        return created

    def check(self) -> None:
        if self.damage is not None:
            raise self.damage
        if not self.exists:
            raise TopicDamaged("the command topic is gone")

    def end(self) -> int:
        return len(self.entries)

    def reader(self) -> MemoryReader:
        return MemoryReader(self)

    def writer(self) -> MemoryWriter:
        return MemoryWriter(self)

    def put(self, key: bytes | None, value: bytes | None) -> int:
        """Write a record past all rules."""
        with self.changed:
            self.entries += [CommandRecord(key, value, len(self.entries)), None]
            self.changed.notify_all()
            return len(self.entries) - 2

    def delete(self) -> None:
        with self.changed:
            self.exists = False
            self.entries = []

    def close(self) -> None:
        pass


class MemoryReader:
    """See `CommandReader`."""

    def __init__(self, topic: MemoryCommandTopic) -> None:
        self._topic = topic
        self._position = 0

    def read(self, seconds: float) -> Batch:
        topic = self._topic
        with topic.changed:
            topic.changed.wait_for(lambda: len(topic.entries) != self._position or topic.damage, min(seconds, 0.05))
            if topic.damage is not None or len(topic.entries) < self._position:
                raise topic.damage or TopicDamaged("the command topic cannot be read any further")
            found = [entry for entry in topic.entries[self._position :] if entry is not None]
            self._position = len(topic.entries)
            return Batch(tuple(found), self._position)

    def close(self) -> None:
        pass


class MemoryWriter:
    """See `CommandWriter`."""

    def __init__(self, topic: MemoryCommandTopic) -> None:
        self._topic = topic
        self._written: list[tuple[bytes, bytes]] = []

    def begin(self) -> None:
        self._topic.owner = self
        self._written = []

    def append(self, key: bytes, value: bytes) -> int:
        self._require_ownership()
        self._written.append((key, value))
        return len(self._topic.entries) + len(self._written) - 1

    def commit(self) -> None:
        with self._topic.changed:
            self._require_ownership()
            for key, value in self._written:
                self._topic.entries.append(CommandRecord(key, value, len(self._topic.entries)))
            self._topic.entries.append(None)
            self._topic.changed.notify_all()

    def _require_ownership(self) -> None:
        if self._topic.owner is not self:
            raise WriterFenced("another server writes to the command topic")

    def abort(self) -> None:
        self._written = []

    def close(self) -> None:
        pass


@dataclass
class MemoryRecords:
    """See `Records`: rows are acknowledged when the test says so."""

    written: list[TopicRecord] = field(default_factory=list)
    done: list[Callable[[MillstreamError | None], None]] = field(default_factory=list)

    def write(self, record: TopicRecord, done: Callable[[MillstreamError | None], None]) -> None:
        self.written.append(record)
        self.done.append(done)


@dataclass
class FakeQueries:
    """See `QueryAnswers`: remembers what it was asked."""

    asked: list[tuple[Context, str]] = field(default_factory=list)
    open: set[str] = field(default_factory=set)

    def answer(self, context: Context, text: str) -> Answer:
        self.asked.append((context, text))
        raise ServiceError(40003, "asked")

    def close(self, query_id: str) -> bool:
        found = {known for known in self.open if known.upper() == query_id.upper()}
        self.open -= found
        return bool(found)

    def stop(self) -> None:
        self.open.clear()


def make_context(
    topics: Topics | None = None,
    runner: QueryRunner | None = None,
    settings: Mapping[str, Any] | None = None,
    registry: SchemaRegistry | None = None,
) -> Context:
    """An engine with nothing in it; topics that are asked for are there."""
    values = Settings({"ksql.service.id": "test_", **(settings or {})})
    return Context(
        functions=FUNCTIONS,
        topics=InMemoryTopics(TopicDescription) if topics is None else topics,
        queries=Queries(RememberingRunner() if runner is None else runner),
        settings=values,
        registry=registry,
        connectors=configured_connectors(values),
    )


def make_service(topic: MemoryCommandTopic, **parts: Any) -> KsqlService:
    """A service of a command topic in memory, not started."""
    return KsqlService(make_context(**parts), FakeQueries(), MemoryRecords(), topic)


def send(service: KsqlService, sql: str, **request: Any) -> list[Entity]:
    """Have statements executed."""
    return service.execute(Request(sql, **request))


def status(service: KsqlService, sql: str) -> CurrentStatus:
    """The answer to a statement that changes something."""
    (entity,) = send(service, sql)
    assert isinstance(entity, CurrentStatus)
    return entity


def shape(service: KsqlService) -> tuple[Any, ...]:
    """What servers must agree on."""
    context = service.context
    queries = [(query.id, query.sql, query.plan, query.sink_topic) for query in context.queries]
    states = {query.id: context.queries.runner.state(query) for query in context.queries}
    return context.catalogue, queries, states, context.queries.next_number


def catch_up(service: KsqlService, topic: MemoryCommandTopic) -> None:
    """Wait until a service has executed everything."""
    assert service._executor.wait_for(topic.end(), WAIT_SECONDS)
