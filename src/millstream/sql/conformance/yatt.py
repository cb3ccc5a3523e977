"""Runs the cases written in SQL with ASSERT: queries run while statements are executed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.records import Windowed
from millstream.sql.catalogue import Source
from millstream.sql.conformance.case import Case
from millstream.sql.conformance.errors import NotExpected, check_error
from millstream.sql.conformance.world import World
from millstream.sql.engine.runners.driver_queries import DriverQueries
from millstream.sql.engine.statements.create import schema_of
from millstream.sql.engine.statements.insert_values import values_of
from millstream.sql.engine.statements.properties import WithClause
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.errors import SqlError
from millstream.sql.formats import serde, value_features
from millstream.sql.parser import parse_one, statements
from millstream.sql.schema.columns import ROWTIME
from millstream.sql.tree.statements import AssertSource, AssertTombstone, AssertValues, CreateSource, Statement


def run_yatt(case: Case) -> None:
    """Run a case.

    Raises:
        NotExpected: it went otherwise than it should.
    """
    world = World(case, DriverQueries, scripts=True)
    execution = _Execution(world)
    texts = [text for statement in case.statements for text in statements(statement, tests=True)]
    try:
        for number, text in enumerate(texts):
            try:
                execution.execute(text)
            except NotExpected:
                raise
            except Exception as error:  # whatever it is, it is the case's result
                if case.expected_exception is not None and number + 1 < len(texts):
                    raise NotExpected(f"statement {number + 1} of {len(texts)} failed already: {error!r}") from error
                check_error(error, case.expected_exception)
                return
    finally:
        world.close()
    if case.expected_exception is not None:
        raise NotExpected(f"should have failed: {case.expected_exception.get('message')}")


class _Execution:
    """Executes statements, and checks assertions against what topics hold."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._positions: dict[str, int] = {}

    def execute(self, text: str) -> None:
        parsed = self._assertion(text)
        if isinstance(parsed, AssertValues | AssertTombstone):
            self._check_record(parsed)
        elif isinstance(parsed, AssertSource):
            self._check_source(parsed.statement)
        else:
            self._world.engine.execute_one(text)

    def _assertion(self, text: str) -> Statement | None:
        if not text.lstrip().upper().startswith("ASSERT"):
            return None
        context = self._world.engine.context
        statement: Statement = parse_one(
            text, types=context.catalogue.types, variables=context.variables, tests=True
        ).statement
        return statement

    def _check_record(self, assertion: AssertValues | AssertTombstone) -> None:
        """Take the next record of a topic, and compare the named columns."""
        source = self._source(assertion.source)
        context = self._world.engine.context
        wanted = values_of(context, source, assertion.columns, assertion.values)
        records = self._world.topics.read(source.topic, from_beginning=True)
        position = self._positions.get(source.topic, 0)
        if position >= len(records):
            raise NotExpected(f"{source.name}: expected another record, after {position}")
        self._positions[source.topic] = position + 1
        record = records[position]
        key, row = self._decode(source, record)
        given = {column.name: value for column, value in zip(source.schema.key, key or (), strict=False)}
        tombstone = isinstance(assertion, AssertTombstone)
        if tombstone != (row is None):
            raise NotExpected(f"{source.name}, record {position}: expected {assertion.values}, got {key}: {row}")
        given |= {column.name: value for column, value in zip(source.schema.value, row or (), strict=False)}
        given[ROWTIME] = record.timestamp
        expected = {column.name: value for column, value in zip(source.schema.key, wanted.key, strict=True)}
        expected |= {column.name: value for column, value in zip(source.schema.value, wanted.row, strict=True)}
        expected[ROWTIME] = wanted.timestamp
        names = assertion.columns or tuple(name for name in expected if name != ROWTIME)
        for name in names:
            if given.get(name) != expected.get(name):
                raise NotExpected(
                    f"{source.name}, record {position}: {name} should be {expected.get(name)!r}, got {key}: {row}"
                )

    def _decode(self, source: Source, record: TopicRecord) -> tuple[tuple[Any, ...] | None, tuple[Any, ...] | None]:
        registry = self._world.registry
        key_serde = serde(source.formats.key, source.schema.key, is_key=True, registry=registry, topic=source.topic)
        value_serde = serde(
            source.formats.value, source.schema.value, is_key=False, registry=registry, topic=source.topic
        )
        key_bytes = record.key
        if key_bytes is not None and source.window is not None:
            # The window's bounds follow the key.
            key_bytes = key_bytes[: -16 if source.window.size_ms is None else -8]
        key = None if key_bytes is None else key_serde.deserialize(key_bytes)
        return (
            key.key if isinstance(key, Windowed) else key,
            None if record.value is None else value_serde.deserialize(record.value),
        )

    def _check_source(self, statement: CreateSource) -> None:
        source = self._source(statement.name)
        clause = WithClause.of_create(statement.properties)
        settings = self._world.engine.context.settings
        schema = schema_of(statement.elements or ())
        wrap = value_features(
            source.formats.value.format.name, single=len(schema.value) == 1, wrap=clause.wrap_single_value
        )
        timestamp = source.timestamp
        checks: tuple[tuple[str, Any, Callable[[], Any]], ...] = (
            ("schema", str(source.schema), lambda: str(schema)),
            ("type", source.kind, lambda: statement.kind),
            ("kafka topic", source.topic, lambda: clause.topic),
            (
                "key format",
                source.formats.key.format.name,
                lambda: clause.key_format or settings.get("ksql.persistence.default.format.key"),
            ),
            (
                "value format",
                source.formats.value.format.name,
                lambda: clause.value_format or settings.get("ksql.persistence.default.format.value"),
            ),
            (
                "delimiter",
                source.formats.value.format.get("delimiter"),
                lambda: clause.text("VALUE_DELIMITER"),
            ),
            ("value serde features", source.formats.value.features, lambda: wrap),
            ("timestamp column", timestamp and timestamp.name, lambda: clause.timestamp_column),
            ("timestamp format", timestamp and timestamp.format, lambda: clause.text("TIMESTAMP_FORMAT")),
        )
        for what, actual, wanted in checks:
            expected = wanted()
            if actual != expected:
                raise SqlError(
                    f"Expected {what} does not match actual for source {source.name}.\n"
                    f"\tExpected: {expected}\n\tActual: {actual}"
                )

    def _source(self, name: str) -> Source:
        source = self._world.engine.context.catalogue.get(name)
        if source is None:
            raise SqlError(f"{name} does not exist")
        return source
