"""A statement that is refused leaves nothing behind, at whichever step it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.kafka.errors import KafkaError
from millstream.sql.catalogue import Source
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.queries import PersistentQuery, Queries
from millstream.sql.engine.runners.driver_queries import DriverQueries
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription, TopicRecord
from millstream.sql.errors import SqlError, StatementError
from millstream.sql.formats import InMemoryRegistry, RegisteredSchema
from millstream.sql.functions.registry import default_registry


class Topics(InMemoryTopics):
    """Topics that are only there when they were made, and a broker that refuses what it is told to refuse."""

    refuse_create = refuse_delete = refuse_write = False

    def create(self, topic: TopicDescription) -> bool:
        if self.refuse_create:
            raise KafkaError(f"cannot create topic {topic.name}: not authorised")
        return super().create(topic)

    def delete(self, name: str) -> None:
        if self.refuse_delete:
            raise KafkaError(f"cannot delete topic {name}: not authorised")
        super().delete(name)

    def write(self, record: TopicRecord) -> None:
        if self.refuse_write:
            raise KafkaError(f"cannot write to topic {record.topic}")
        super().write(record)


class Schemas(InMemoryRegistry):
    """A registry that refuses the subjects it is told to refuse."""

    refuse: str | None = None
    refuse_withdrawal = False

    def register(self, subject: str, schema: RegisteredSchema, schema_id: int | None = None) -> int:
        if self.refuse is not None and subject.endswith(self.refuse):
            raise SqlError(f"{subject} is incompatible with an earlier schema")
        return super().register(subject, schema, schema_id)

    def withdraw(self, subject: str, schema_id: int) -> None:
        if self.refuse_withdrawal:
            raise SqlError("the registry is read only")
        super().withdraw(subject, schema_id)


class Runner(DriverQueries):
    """Runs queries, except those it is told not to."""

    refuse_start = False
    refuse_stop: tuple[str, ...] = ()

    def start(self, query: PersistentQuery) -> None:
        if self.refuse_start:
            raise KafkaError(f"cannot start {query.id}")
        super().start(query)

    def stop(self, query: PersistentQuery) -> None:
        if query.id in self.refuse_stop:
            raise KafkaError(f"cannot stop {query.id}")
        super().stop(query)


class World:
    """An engine, and everything a statement could leave something in."""

    def __init__(self) -> None:
        self.topics = Topics()
        self.registry = Schemas()
        self.runner = Runner(self.topics)
        self.context = Context(default_registry(), self.topics, Queries(self.runner), registry=self.registry)
        self.engine = Engine(self.context)

    def execute(self, sql: str) -> None:
        self.engine.execute(sql)

    def snapshot(self) -> dict[str, Any]:
        def latest(subject: str) -> int | None:
            found = self.registry.latest(subject)
            return None if found is None else found.id

        return {
            "topics": self.topics.names(),
            "schemas": {subject: latest(subject) for subject in self.registry.subjects()},
            "catalogue": dict(self.context.catalogue.sources),
            "parents": dict(self.context.catalogue.parents),
            "queries": {query.id: query.sql for query in self.context.queries},
            "next id": self.context.queries.insert_id(None),
            "written": {name: self.topics.read(name, from_beginning=True) for name in self.topics.names()},
        }

    @property
    def sources(self) -> dict[str, Source]:
        return self.context.catalogue.sources


SOURCE = "CREATE STREAM s (id INT KEY, a INT, b INT) WITH (kafka_topic='s', format='AVRO', partitions=1);"
RESULT = "CREATE STREAM c AS SELECT id, a FROM s;"


@pytest.fixture
def world() -> World:
    world = World()
    world.execute(SOURCE)
    return world


def refused(world: World, sql: str) -> Exception:
    """Execute a statement that fails, and see that everything is as it was."""
    before = world.snapshot()
    with pytest.raises((StatementError, KafkaError)) as caught:
        world.execute(sql)
    assert world.snapshot() == before
    return caught.value


@pytest.mark.parametrize(
    "sql",
    [
        # Refused by a check, behind the place where the topic would be made.
        "CREATE STREAM n (id INT KEY, id INT) WITH (kafka_topic='n', format='AVRO', partitions=1);",
        "CREATE TABLE n (a INT) WITH (kafka_topic='n', value_format='AVRO', partitions=1);",
        "CREATE STREAM n (a INT) WITH (kafka_topic='n', value_format='AVRO', partitions=1, timestamp='x');",
        "CREATE STREAM n WITH (kafka_topic='n', value_format='AVRO', partitions=1);",
        "CREATE OR REPLACE STREAM s (id INT KEY, a STRING) WITH (kafka_topic='n', format='AVRO', partitions=1);",
        "CREATE STREAM s (a INT) WITH (kafka_topic='n', value_format='AVRO', partitions=1);",
        # CREATE .. AS SELECT.
        "CREATE OR REPLACE STREAM c WITH (kafka_topic='n') AS SELECT id, a FROM s;",
        "CREATE OR REPLACE STREAM c AS SELECT id FROM s;",
        "CREATE OR REPLACE STREAM c AS SELECT id, a, b FROM s PARTITION BY b;",
        "CREATE OR REPLACE STREAM c AS SELECT id, a, EXPLODE(ARRAY[b]) AS e FROM s;",
        "CREATE STREAM n WITH (value_schema_id=77) AS SELECT id, a FROM s;",
        "CREATE STREAM c AS SELECT * FROM s;",
        # INSERT.
        "INSERT INTO c SELECT id, a, b FROM s;",
        "INSERT INTO c (id, a) VALUES (1, 'text');",
    ],
)
def test_a_check_fails(world: World, sql: str) -> None:
    world.execute(RESULT)
    refused(world, sql)


def no_topics(world: World) -> None:
    world.topics.refuse_create = True


def no_key_schemas(world: World) -> None:
    world.registry.refuse = "-key"


def no_value_schemas(world: World) -> None:
    world.registry.refuse = "-value"


def no_starts(world: World) -> None:
    world.runner.refuse_start = True


def no_writes(world: World) -> None:
    world.topics.refuse_write = True


@pytest.mark.parametrize(
    ("breaks", "sql"),
    [
        (no_topics, "CREATE STREAM n (id INT KEY, a INT) WITH (kafka_topic='n', format='AVRO', partitions=1);"),
        (no_key_schemas, "CREATE STREAM n (id INT KEY, a INT) WITH (kafka_topic='n', format='AVRO', partitions=1);"),
        (no_value_schemas, "CREATE STREAM n (id INT KEY, a INT) WITH (kafka_topic='n', format='AVRO', partitions=1);"),
        (
            no_starts,
            "CREATE SOURCE TABLE n (id INT PRIMARY KEY, a INT) WITH (kafka_topic='n', format='AVRO', partitions=1);",
        ),
        (no_topics, "CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;"),
        (no_key_schemas, "CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;"),
        (no_value_schemas, "CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;"),
        (no_starts, "CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;"),
        # Of the replaced query, everything stays: its schema too, which would have got one more column.
        (no_value_schemas, "CREATE OR REPLACE STREAM c AS SELECT id, a, b FROM s;"),
        (no_starts, "CREATE OR REPLACE STREAM c AS SELECT id, a, b FROM s;"),
        (no_starts, "INSERT INTO c SELECT id, a FROM s WHERE a > 1;"),
        (no_starts, "INSERT INTO c WITH (query_id='mine') SELECT id, a FROM s WHERE a > 1;"),
        (no_writes, "INSERT INTO bare VALUES (1, 2);"),
        (no_value_schemas, "INSERT INTO bare VALUES (1, 2);"),
    ],
)
def test_a_step_fails(world: World, breaks: Callable[[World], None], sql: str) -> None:
    world.execute(RESULT)
    world.execute("CREATE STREAM bare (id INT KEY, a INT) WITH (kafka_topic='b', format='AVRO', partitions=1);")
    for part in ("key", "value"):  # INSERT VALUES registers them again
        world.registry.delete(f"b-{part}")
    breaks(world)
    refused(world, sql)


def test_a_replaced_query_goes_on_when_its_successor_is_refused(world: World) -> None:
    world.execute(RESULT)
    world.runner.refuse_start = True
    refused(world, "CREATE OR REPLACE STREAM c AS SELECT id, a, b FROM s;")
    world.execute("INSERT INTO s VALUES (1, 2, 3);")
    assert len(world.topics.read("C", from_beginning=True)) == 1


def test_what_cannot_be_undone_is_told(world: World) -> None:
    world.runner.refuse_start = world.topics.refuse_delete = world.registry.refuse_withdrawal = True
    with pytest.raises(KafkaError) as caught:
        world.execute(RESULT)
    assert caught.value.primary == "cannot start CSAS_C_0"
    assert caught.value.detail == (
        "left behind: a schema of subject C-value (the registry is read only), "
        "a schema of subject C-key (the registry is read only), topic C (cannot delete topic C: not authorised)"
    )
    assert "C" not in world.sources


def test_a_topic_and_a_schema_that_were_there_stay(world: World) -> None:
    world.topics.create(TopicDescription("C"))
    world.execute(RESULT + "DROP STREAM c;")
    world.runner.refuse_start = True
    refused(world, RESULT)
    assert "C" in world.topics.names()
    assert world.registry.latest("C-value") is not None


def test_a_schema_that_is_known_under_another_number(world: World) -> None:
    schema = RegisteredSchema(
        "AVRO", '{"type":"record","name":"X","fields":[{"name":"A","type":["null","int"],"default":null}]}'
    )
    other = world.registry.register("elsewhere", schema, 40)
    world.registry._ids.clear()  # as if another registry had copied it: it gives it a new number
    error = refused(
        world,
        f"CREATE STREAM n WITH (kafka_topic='n', value_format='AVRO', partitions=1, value_schema_id={other});",
    )
    assert "different from provided VALUE_SCHEMA_ID 40" in str(error)


def test_a_drop_that_cannot_delete_its_topic_can_be_repeated(world: World) -> None:
    world.execute(RESULT)
    world.topics.refuse_delete = True
    with pytest.raises(KafkaError) as caught:
        world.execute("DROP STREAM c DELETE TOPIC;")
    assert caught.value.detail == "query CSAS_C_0 is ended; C and its topic C are still there"
    assert "C" in world.sources
    world.topics.refuse_delete = False
    world.execute("DROP STREAM c DELETE TOPIC;")
    assert "C" not in world.sources
    assert "C" not in world.topics.names()


def test_a_drop_that_cannot_end_its_query_changes_nothing(world: World) -> None:
    world.execute(RESULT)
    world.runner.refuse_stop = ("CSAS_C_0",)
    refused(world, "DROP STREAM c DELETE TOPIC;")


def test_terminate_all_ends_what_it_can_and_tells_the_rest(world: World) -> None:
    world.execute(RESULT + "CREATE STREAM d AS SELECT id, a FROM s; CREATE STREAM e AS SELECT id, a FROM s;")
    world.runner.refuse_stop = ("CSAS_D_1",)
    with pytest.raises(StatementError) as caught:
        world.execute("TERMINATE ALL;")
    assert caught.value.primary == "cannot terminate CSAS_D_1: cannot stop CSAS_D_1"
    assert caught.value.detail == "ended: CSAS_C_0, CSAS_E_2"
    assert [query.id for query in world.context.queries] == ["CSAS_D_1"]
