"""SQL on Spark and a real broker gives what ksqlDB gave: cases of its own corpus, and statements of ours."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Message

from millstream.sql.conformance.case import Case, load_file
from millstream.sql.conformance.outputs import check_outputs
from millstream.sql.conformance.qtt import decode, execute_statements, inputs
from millstream.sql.conformance.world import World
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.runners.driver_queries import DriverQueries
from millstream.sql.engine.topics import TopicDescription, TopicRecord

from .conftest import PATIENCE, Apps

CORPUS = (
    Path(os.environ.get("MILLSTREAM_CONFORMANCE_DIR", Path(__file__).parents[3] / "shared" / "conformance")) / "ksql"
)

DAY_MS = 24 * 60 * 60 * 1000

#: Which cases, by file: every kind of query.
CASES = {
    "explode": ["explode array with values"],
    "fk-join": ["Should support `SELECT *`"],
    "group-by": ["with having expression (stream->table)", "zero non-agg columns (windowed stream)"],
    "insert-into": ["convert formats: DELIMITED to JSON"],
    "joins": [
        "stream stream left join[JSON]",
        "stream stream left join - rekey[JSON]",
        "full join - with both join column in projection",
        "table table outer join[JSON]",
    ],
    "latest-offset-udaf": ["merging session windows"],
    "multi-joins": ["stream-table-table - inner-inner - rekey", "stream-stream-stream - outer-outer"],
    "partition-by": ["expression - select star"],
    "suppress": ["should handle null values", "should support final results for session windows"],
}


def cases() -> Iterator[Case]:
    for file, names in CASES.items():
        path = CORPUS / "dev" / f"qtt__{file}.json"
        if path.exists():
            found = {case.id.split("/", 1)[1]: case for case in load_file(path)}
            yield from (found[name] for name in names)


@pytest.fixture
def ksql(apps: Apps) -> Iterator[Callable[..., Ksql]]:
    """`ksql(**settings)`: an engine on the run's broker and Spark."""
    made: list[Ksql] = []

    def make(**settings: Any) -> Ksql:
        made.append(Ksql(apps.config(), {"auto.offset.reset": "earliest", **settings}))
        return made[-1]

    yield make
    for one in made:
        one.close()


def on_topics_of_its_own(case: Case, prefix: str) -> Case:
    """The case with other names of topics, which all cases call the same, and a day later.

    A record of the first millisecond of 1970 cannot be sent: to Kafka's C client 0 means now.
    """

    def renamed(record: Any) -> Any:
        window = record.get("window")
        return {
            **record,
            "topic": prefix + record["topic"],
            "timestamp": None if record.get("timestamp") is None else record["timestamp"] + DAY_MS,
            "window": window and {**window, "start": window["start"] + DAY_MS, "end": window["end"] + DAY_MS},
        }

    name = re.compile(r"(kafka_topic\s*=\s*')", re.IGNORECASE)
    return replace(
        case,
        statements=tuple(name.sub(rf"\g<1>{prefix}", text) for text in case.statements),
        inputs=[renamed(record) for record in case.inputs],
        outputs=[renamed(record) for record in case.outputs],
        properties={**case.properties, "ksql.output.topic.name.prefix": prefix},
    )


def as_records(messages: list[Message]) -> list[TopicRecord]:
    return [
        TopicRecord(
            str(message.topic()),
            message.key(),
            message.value(),
            message.timestamp()[1],
            tuple(cast("list[tuple[str, bytes | None]]", message.headers() or [])),
        )
        for message in messages
    ]


@pytest.mark.skipif(not CORPUS.exists(), reason=f"there is no corpus in {CORPUS}; set MILLSTREAM_CONFORMANCE_DIR")
@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.id)
def test_the_corpus_on_spark(case: Case, ksql: Callable[..., Ksql], consume: Callable[..., list[Message]]) -> None:
    case = on_topics_of_its_own(case, f"{uuid.uuid4().hex[:8]}-")
    world = World(case, lambda topics: DriverQueries(topics))
    execute_statements(case, world)
    engine = ksql(**case.properties, **{"cache.max.bytes.buffering": 0})
    for topic in {source.topic for source in world.engine.context.catalogue if not source.from_query}:
        engine.topics.create(TopicDescription(topic))
    engine.execute("\n".join(case.statements))
    for record in inputs(case, world):
        # One after the other: what goes through a repartition topic comes later than what does not, as ever in Kafka.
        world.topics.write(record)
        engine.topics.write(record)
        for topic in {output["topic"] for output in case.outputs}:
            wanted = len(list(world.topics.read(topic, from_beginning=True)))
            consume(topic, wanted, timeout=PATIENCE.total_seconds())
    engine.close()
    check_outputs(case, lambda topic: as_records(consume(topic)), lambda record: decode(world, record))


def test_inserted_values_reach_all_queries(ksql: Callable[..., Ksql], consume: Callable[..., list[Message]]) -> None:
    name = f"s{uuid.uuid4().hex[:8]}"
    statements = f"""
        CREATE STREAM {name} (id STRING KEY, place STRING, amount DECIMAL(6, 2))
          WITH (kafka_topic='{name}', partitions=4, value_format='JSON');
        CREATE TABLE {name}_sums AS
          SELECT place, COUNT(*) AS orders, SUM(amount) AS total FROM {name} WHERE amount > 1 GROUP BY place;
        CREATE TABLE {name}_hops AS
          SELECT id, COUNT(*) AS orders FROM {name} WINDOW HOPPING (SIZE 4 SECONDS, ADVANCE BY 2 SECONDS) GROUP BY id;
        CREATE STREAM {name}_large AS SELECT * FROM {name} WHERE amount >= 100;
    """
    values = "".join(
        f"INSERT INTO {name} (ROWTIME, id, place, amount)"
        f" VALUES ({10_000 + 250 * number}, '{number % 20}', '{'abc'[number % 3]}', {number}.25);"
        for number in range(120)
    )
    expected = Ksql.in_memory()
    expected.execute(statements)
    expected.execute(values)
    engine = ksql(**{"cache.max.bytes.buffering": 0})
    engine.execute(statements)
    engine.execute(values)
    for query in ("sums", "hops", "large"):
        topic = f"{name}_{query}".upper()
        wanted = by_key(expected.topics.read(topic, from_beginning=True))
        count = sum(map(len, wanted.values()))
        found = by_key(as_records(consume(topic, count, timeout=PATIENCE.total_seconds())))
        if query == "sums":  # partitions meet in a repartition topic, in any order
            assert ends(found) == ends(wanted)
        else:
            assert found == wanted, query


def test_streams_and_tables_can_be_asked(ksql: Callable[..., Ksql]) -> None:
    name = f"s{uuid.uuid4().hex[:8]}"
    engine = ksql()
    engine.execute(
        f"CREATE STREAM {name} (id STRING KEY, v INT) WITH (kafka_topic='{name}', partitions=2, value_format='JSON');"
        f"CREATE TABLE {name}_counts AS SELECT id, COUNT(*) AS n FROM {name} GROUP BY id;"
    )
    for number in range(6):
        engine.execute(f"INSERT INTO {name} VALUES ('{'ab'[number % 2]}', {number});")
    assert sorted(engine.query(f"SELECT id, v FROM {name} WHERE v > 1;").rows) == [
        *(("a", 2), ("a", 4), ("b", 3), ("b", 5))
    ]
    assert len(engine.query(f"SELECT id FROM {name} EMIT CHANGES LIMIT 4;").rows) == 4
    question = f"SELECT n FROM {name}_counts WHERE id = 'a';"
    deadline = time.monotonic() + PATIENCE.total_seconds()
    while engine.query(question).rows != ((3,),):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def ends(rows: dict[bytes | None, list[bytes | None]]) -> dict[bytes | None, tuple[int, bytes | None]]:
    """How many rows each key has, and the last of them."""
    return {key: (len(values), values[-1]) for key, values in rows.items()}


def by_key(records: Any) -> dict[bytes | None, list[bytes | None]]:
    """The values of each key in their order: partitions have none among each other."""
    found: dict[bytes | None, list[bytes | None]] = {}
    for record in records:
        found.setdefault(record.key, []).append(record.value)
    return found
