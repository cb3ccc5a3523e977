"""Settings, variables, running queries, and assertions about topics and schemas."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.sql.engine.answers.entities import (
    AssertSchemaResult,
    AssertTopicResult,
    CommandId,
    CommandStatus,
    CurrentStatus,
    Entity,
    WarningEntity,
)
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery, QueryKind
from millstream.sql.errors import AssertionFailed, RegistryMissing, SqlError
from millstream.sql.settings import definition_of
from millstream.sql.tree.expressions import IntegerLiteral, LongLiteral
from millstream.sql.tree.queries import Duration
from millstream.sql.tree.statements import (
    AlterSystem,
    AssertSchema,
    AssertTopic,
    Define,
    Pause,
    Resume,
    RunScript,
    SetProperty,
    Terminate,
    Undefine,
    UnsetProperty,
)

_POLL_SECONDS = 0.1


def set_property(context: Context, statement: SetProperty, text: str) -> None:
    """SET."""
    definition = definition_of(statement.name)
    if definition is None:
        raise SqlError(f"Unknown property: {statement.name}")
    if not definition.editable:
        raise SqlError(f"Cannot override property '{statement.name}'")
    context.settings = context.settings.with_override(statement.name, statement.value)


def unset_property(context: Context, statement: UnsetProperty, text: str) -> None:
    """UNSET."""
    if definition_of(statement.name) is None:
        raise SqlError(f"Unknown property: {statement.name}")
    context.settings = context.settings.without_override(statement.name)


def alter_system(context: Context, statement: AlterSystem, text: str) -> None:
    """ALTER SYSTEM needs a runtime that queries share; there is none here."""
    raise SqlError("Cannot alter system properties unless the shared runtime is enabled")


def define(context: Context, statement: Define, text: str) -> None:
    """DEFINE; names are known in any case."""
    context.variables[statement.name.lower()] = statement.value


def undefine(context: Context, statement: Undefine, text: str) -> Entity | None:
    """UNDEFINE."""
    if context.variables.pop(statement.name.lower(), None) is None:
        message = f"Cannot undefine variable '{statement.name}' which was never defined"
        return WarningEntity(statement_text=text, message=message)
    return None


def script(context: Context, statement: RunScript) -> str:
    """The text of a script."""
    if context.read_script is not None:
        return context.read_script(statement.path)
    try:
        return Path(statement.path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SqlError(f"Failed to read file: {statement.path}", detail=str(error)) from error


# Running queries.


def terminate(context: Context, statement: Terminate, text: str) -> Entity:
    """TERMINATE id or ALL."""
    ended, failures = [], []
    for query in _chosen(context, statement.query_id):
        if query.kind is QueryKind.CREATE_SOURCE:
            raise SqlError(f"Cannot terminate query '{query.id}' because it is linked to a source table.")
        try:
            context.queries.remove(query)
            ended.append(query.id)
        except MillstreamError as error:
            failures.append((query.id, error))
    if failures:
        raise SqlError(
            "; ".join(f"cannot terminate {query_id}: {error.primary}" for query_id, error in failures),
            detail=f"ended: {', '.join(ended)}" if ended else failures[0][1].detail,
            hint=failures[0][1].hint or "execute the statement again",
        ) from failures[0][1]
    return _status(statement.query_id, "terminate", "Query terminated.", text)


def pause(context: Context, statement: Pause, text: str) -> Entity:
    """PAUSE id or ALL."""
    for query in _chosen(context, statement.query_id):
        context.queries.runner.pause(query)
    return _status(statement.query_id, "pause", "Query paused.", text)


def resume(context: Context, statement: Resume, text: str) -> Entity:
    """RESUME id or ALL."""
    for query in _chosen(context, statement.query_id):
        context.queries.runner.resume(query)
    return _status(statement.query_id, "resume", "Query resumed.", text)


def _chosen(context: Context, query_id: str | None) -> list[PersistentQuery]:
    if query_id is None:
        return [query for query in context.queries if query.kind is not QueryKind.CREATE_SOURCE]
    query = context.queries.get(query_id)
    if query is None:
        raise SqlError(f"Unknown queryId: {query_id}")
    return [query]


def _status(query_id: str | None, action: str, message: str, text: str) -> CurrentStatus:
    return CurrentStatus(
        statement_text=text,
        command_id=CommandId(action, query_id or "ALL", "execute"),
        command_status=CommandStatus(message),
    )


# Assertions.


def assert_topic(context: Context, statement: AssertTopic, text: str) -> Entity:
    """ASSERT [NOT EXISTS] TOPIC: waits until it holds."""
    expected = {}
    for name, literal in statement.properties.items():
        if not isinstance(literal, IntegerLiteral | LongLiteral) or name.upper() not in ("PARTITIONS", "REPLICAS"):
            raise SqlError(f"Cannot assert unknown topic property: {name.upper()}")
        expected[name.upper()] = literal.value

    def problem() -> str | None:
        topic = context.topics.describe(statement.topic)
        if not statement.exists:
            return None if topic is None else f"Topic {statement.topic} exists"
        if topic is None:
            return f"Topic {statement.topic} does not exist"
        actual = {"PARTITIONS": topic.partitions, "REPLICAS": topic.replicas}
        wrong = [
            f"Mismatched configuration for topic {statement.topic}: For config {name.lower()}, expected {value} got "
            f"{actual[name]}"
            for name, value in expected.items()
            if actual[name] != value
        ]
        return "\n".join(wrong) or None

    _wait_for(problem, _timeout(context, statement.timeout, "ksql.assert.topic.default.timeout.ms"))
    return AssertTopicResult(statement_text=text, topic_name=statement.topic, exists=statement.exists)


def assert_schema(context: Context, statement: AssertSchema, text: str) -> Entity:
    """ASSERT [NOT EXISTS] SCHEMA: waits until it holds."""
    registry = context.registry
    if registry is None:
        raise RegistryMissing("Cannot assert schemas without a schema registry: set 'ksql.schema.registry.url'")
    subject, number = statement.subject, statement.id
    named = " ".join(
        part
        for part in (f"with subject name {subject}" if subject else "", f"with id {number}" if number else "")
        if part
    )

    def problem() -> str | None:
        found = registry.by_id(number) if number is not None else None
        if subject is not None:
            latest = registry.latest(subject)
            found = latest if number is None or (latest is not None and latest.id == number) else None
        if statement.exists == (found is not None):
            return None
        return f"Schema {named} {'does not exist' if statement.exists else 'exists'}"

    _wait_for(problem, _timeout(context, statement.timeout, "ksql.assert.schema.default.timeout.ms"))
    return AssertSchemaResult(statement_text=text, subject=subject, id=number, exists=statement.exists)


def _timeout(context: Context, given: Duration | None, setting: str) -> float:
    milliseconds = context.settings.get(setting, 1000) if given is None else given.milliseconds
    return float(milliseconds) / 1000


def _wait_for(problem: Callable[[], str | None], seconds: float) -> None:
    end = time.monotonic() + seconds
    while (found := problem()) is not None:
        if time.monotonic() >= end:
            raise AssertionFailed(found)
        time.sleep(_POLL_SECONDS)
