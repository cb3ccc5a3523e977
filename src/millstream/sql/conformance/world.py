"""The engine that cases run in: everything in memory."""

from __future__ import annotations

from millstream.config import StreamsConfig
from millstream.sql.conformance.case import Case, Json
from millstream.sql.conformance.functions import add_test_functions
from millstream.sql.conformance.records import parsed_schema
from millstream.sql.engine.applications import application_config
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.queries import PersistentQuery, Queries, QueryRunner, QueryState
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription
from millstream.sql.formats import InMemoryRegistry
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.processing_log import PythonLog
from millstream.sql.settings import Settings
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

_functions: list[Registry] = []


class World:
    """An engine for one case, with its topics and schemas.

    Args:
        case: whose topics and properties it has.
        runner: what runs its queries.
        scripts: whether statements of the test tool are allowed.
    """

    def __init__(self, case: Case, runner: QueryRunner, *, scripts: bool = False) -> None:
        self.topics = InMemoryTopics(TopicDescription)
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
        for topic in case.topics:
            self.topics.create(TopicDescription(topic["name"], topic.get("partitions", 1), topic.get("replicas", 1)))
        for topic in case.topics:
            self._register(topic, "key")
            self._register(topic, "value")

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
