"""The engine that cases run in: everything in memory."""

from __future__ import annotations

from millstream.config import StreamsConfig
from millstream.sql.conformance.case import Case, Json
from millstream.sql.conformance.functions import add_test_functions
from millstream.sql.conformance.records import java_order, parsed_schema
from millstream.sql.engine.applications import application_config
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.queries import PersistentQuery, Queries, QueryRunner, QueryState
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription
from millstream.sql.errors import SqlError
from millstream.sql.formats import InMemoryRegistry
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.parser import parse_one, split
from millstream.sql.processing_log import PythonLog
from millstream.sql.settings import Settings
from millstream.sql.tree.statements import CreateAsSelect, CreateSource
from millstream.testing import TopologyTestDriver

#: What the original tests configure for the engine.
_SETTINGS = {
    "ksql.service.id": "some.ksql.service.id",
    "auto.offset.reset": "earliest",
    "ksql.headers.columns.enabled": True,
    "ksql.schema.registry.url": "memory",
}
#: Says how strictly the test compares doubles: no setting of the engine.
_OF_THE_TEST = ("use.exact.numeric.comparison",)

#: Of topics that do not say it themselves.
_PARTITIONS = 4

_functions: list[Registry] = []


class World:
    """An engine for one case, with its topics and schemas.

    Args:
        case: whose topics and properties it has.
        runner: what runs its queries.
        scripts: whether statements of the test tool are allowed.
    """

    def __init__(self, case: Case, runner: QueryRunner, *, scripts: bool = False) -> None:
        self.topics = InMemoryTopics(lambda name: TopicDescription(name, _PARTITIONS))
        self.registry = InMemoryRegistry()
        self._create_topics(case)
        settings = {name: value for name, value in case.properties.items() if name not in _OF_THE_TEST}
        self.engine = Engine(
            Context(
                functions=test_functions(),
                topics=self.topics,
                queries=Queries(runner),
                settings=Settings({**_SETTINGS, **settings}),
                registry=self.registry,
                scripts=scripts,
                read_script=lambda path: case.scripts[path],
            )
        )

    def _create_topics(self, case: Case) -> None:
        """Make the case's topics, and those that statements give a number of partitions, before all else."""
        for topic in case.topics:
            self.topics.create(
                TopicDescription(topic["name"], topic.get("partitions", _PARTITIONS), topic.get("replicas", 1))
            )
        for text in split("\n".join(case.statements)):
            self._create_topic_of(text)
        by_name = {topic["name"]: topic for topic in case.topics}
        for name in java_order(list(by_name)):
            self._register(by_name[name], "key")
            self._register(by_name[name], "value")

    def _create_topic_of(self, text: str) -> None:
        try:
            statement = parse_one(text).statement
        except SqlError:
            return  # it fails again when it is executed, or needs a type that is not there yet
        if isinstance(statement, CreateSource | CreateAsSelect):
            given = {name.upper(): getattr(value, "value", None) for name, value in statement.properties.items()}
            name, partitions = given.get("KAFKA_TOPIC", statement.name), given.get("PARTITIONS", _PARTITIONS)
            if isinstance(name, str) and isinstance(partitions, int):
                self.topics.create(TopicDescription(name, partitions))

    def _register(self, topic: Json, part: str) -> None:
        schema = parsed_schema(topic, part, self.registry)
        if schema is not None:
            self.registry.register(f"{topic['name']}-{part}", schema, topic.get(f"{part}SchemaId"))


def test_functions() -> Registry:
    """The built-in functions and those of the original tests; made once."""
    if not _functions:
        registry = default_registry()
        add_test_functions(registry)
        _functions.append(registry)
    return _functions[0]


def driver(query: PersistentQuery) -> TopologyTestDriver:
    """The test driver of a query: every update is emitted at once."""
    base = StreamsConfig(statestore_cache_max_bytes=0, dsl_store="in_memory")
    return TopologyTestDriver(query.topology, application_config(base, query, PythonLog()), wall_clock_start=0)


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

    def errors(self, query: PersistentQuery) -> list[str]:
        return []
