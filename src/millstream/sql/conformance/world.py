"""The engine that cases run in: everything in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millstream.sql.catalogue import Source
from millstream.sql.conformance.case import Case, Json
from millstream.sql.conformance.functions import add_test_functions
from millstream.sql.conformance.records import java_order, parsed_schema
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.progress import InputOffsets, QueryError, QueryProgress
from millstream.sql.engine.queries import PersistentQuery, Queries, QueryRunner, QueryState
from millstream.sql.engine.statements.create import make_source, with_clause
from millstream.sql.engine.statements.properties import WithClause
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription
from millstream.sql.errors import SqlError
from millstream.sql.formats import InMemoryRegistry, new_schema, subject
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.parser import parse_one, split
from millstream.sql.pull import StoredRows
from millstream.sql.settings import Settings, definition_of
from millstream.sql.tree.statements import CreateAsSelect, CreateSource, CreateType

#: What the original tests configure for the engine.
_SETTINGS = {
    "ksql.service.id": "some.ksql.service.id",
    "auto.offset.reset": "earliest",
    "ksql.headers.columns.enabled": True,
    "ksql.schema.registry.url": "memory",
}

#: Of topics that do not say it themselves.
_PARTITIONS = 4

_functions: list[Registry] = []


class World:
    """An engine for one case, with its topics and schemas.

    Args:
        case: whose topics and properties it has.
        runner: makes what runs its queries.
        scripts: whether statements of the test tool are allowed.
    """

    def __init__(self, case: Case, runner: Callable[[InMemoryTopics], QueryRunner], *, scripts: bool = False) -> None:
        self.topics = InMemoryTopics(lambda name: TopicDescription(name, _PARTITIONS))
        self.registry = InMemoryRegistry()
        properties = {name: value for name, value in case.properties.items() if definition_of(name) is not None}
        self.settings = Settings({**_SETTINGS, **properties})
        self._create_topics(case)
        self.engine = Engine(
            Context(
                functions=test_functions(),
                topics=self.topics,
                queries=Queries(runner(self.topics)),
                settings=self.settings,
                registry=self.registry,
                scripts=scripts,
                read_script=lambda path: case.scripts[path],
            )
        )

    def close(self) -> None:
        """End all queries."""
        self.engine.context.queries.runner.close()

    def _create_topics(self, case: Case) -> None:
        """Make topics and register schemas before all else: those of the case, and those that statements declare."""
        given = {topic["name"]: topic for topic in case.topics}
        for name, topic in given.items():
            partitions = topic.get("partitions", _PARTITIONS)
            self.topics.create(TopicDescription(name, partitions, topic.get("replicas", 1)))
        declared = {source.topic: source for source in self._declared(case)}
        records = [record["topic"] for record in (*case.inputs, *case.outputs)]
        for name in java_order(list(dict.fromkeys([*given, *declared, *records]))):
            if name in given:
                self._register(given[name], "key")
                self._register(given[name], "value")
            elif name in declared:
                self._register_declared(declared[name])

    def _register(self, topic: Json, part: str) -> None:
        schema = parsed_schema(topic, part, self.registry)
        if schema is not None:
            self.registry.register(f"{topic['name']}-{part}", schema, topic.get(f"{part}SchemaId"))

    def _declared(self, case: Case) -> Iterator[Source]:
        """The sources that statements declare, as far as they can be understood before others are executed."""
        registry = InMemoryRegistry()
        context = Context(
            functions=test_functions(),
            topics=self.topics,
            queries=Queries(HeldQueries()),
            settings=self.settings,
            registry=registry,
        )
        for text in split("\n".join(case.statements)):
            try:
                statement = parse_one(text, types=context.catalogue.types).statement
                if isinstance(statement, CreateType):
                    context.catalogue.types[statement.name] = statement.type
                elif isinstance(statement, CreateSource):
                    clause = with_clause(statement, text)
                    partitions = clause.number("PARTITIONS") or _PARTITIONS
                    self.topics.create(TopicDescription(clause.topic or "", partitions))
                    made = make_source(context, statement, clause, text)
                    for schema in made.schemas:
                        schema.register(registry)
                    yield made.source
                elif isinstance(statement, CreateAsSelect):
                    clause = WithClause.of_create_as(statement.properties)
                    partitions = clause.number("PARTITIONS") or _PARTITIONS
                    self.topics.create(TopicDescription(clause.topic or statement.name, partitions))
            except SqlError:
                continue  # it fails again when it is executed

    def _register_declared(self, source: Source) -> None:
        for is_key in (True, False):
            schema = new_schema(
                source.formats.key if is_key else source.formats.value,
                source.schema.key if is_key else source.schema.value,
                self.registry,
                topic=source.topic,
                is_key=is_key,
                if_exists=False,
            )
            if schema is not None:
                self.registry.register(subject(source.topic, is_key=is_key), schema)


def test_functions() -> Registry:
    """The built-in functions and those of the original tests; made once."""
    if not _functions:
        registry = default_registry()
        add_test_functions(registry)
        _functions.append(registry)
    return _functions[0]


class HeldQueries:
    """Keeps queries for the runner of the cases, which runs them when all statements are executed."""

    def __init__(self) -> None:
        self.queries: dict[str, PersistentQuery] = {}

    def start(self, query: PersistentQuery) -> None:
        self.queries[query.id] = query

    def stop(self, query: PersistentQuery) -> None:
        self.queries.pop(query.id, None)

    def pause(self, query: PersistentQuery) -> None:
        """Nothing runs."""

    def resume(self, query: PersistentQuery) -> None:
        """Nothing runs."""

    def state(self, query: PersistentQuery) -> QueryState:
        return QueryState.RUNNING

    def errors(self, query: PersistentQuery) -> list[QueryError]:
        return []

    def progress(self, query: PersistentQuery) -> QueryProgress:
        return QueryProgress()

    def offsets(self, query: PersistentQuery) -> list[InputOffsets]:
        return []

    def rows(self, query: PersistentQuery, store: str) -> StoredRows:
        raise NotImplementedError("nothing runs")

    def run_to_end(self, query: PersistentQuery, is_enough: Callable[[], bool]) -> None:
        raise NotImplementedError("nothing runs")

    def close(self) -> None:
        """Nothing runs."""
