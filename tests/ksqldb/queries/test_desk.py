"""SELECT and PRINT become answers. Topics are in memory here."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.config import StreamsConfig
from millstream.kafka.errors import TopicMissing
from millstream.ksqldb.api import AnswerKind, ServiceError
from millstream.ksqldb.queries import QueryDesk
from millstream.ksqldb.queries.answers import MOST_WAITING
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.queries import PushQuery
from millstream.sql.settings import Settings

from ...hosting.transient.memory import MemoryAccess
from .clients import WAIT, Client, context_of

ORDERS = "CREATE STREAM orders (id STRING KEY, region STRING, total INT) WITH (kafka_topic='orders', format='JSON');"
USERS = "CREATE TABLE users (id STRING PRIMARY KEY, name STRING) WITH (kafka_topic='users', format='JSON');"


class World:
    """Statements, topics and the desk."""

    def __init__(self) -> None:
        self.ksql = Ksql.in_memory()
        self.ksql.execute(ORDERS + USERS)
        self.access = MemoryAccess({"orders": 2, "users": 2})
        config = StreamsConfig(application_id="tests", bootstrap_servers="localhost:1")
        self.desk = QueryDesk(config, access=self.access)

    def ask(self, text: str, **properties: Any) -> Client:
        return Client(self.desk.answer(context_of(self.ksql, **properties), text))

    def write(self, topic: str, key: str, timestamp: int = 0, **values: Any) -> None:
        value = json.dumps(values).encode() if values else None
        self.access.write(topic, json.dumps(key).encode(), value, timestamp)

    def order(self, key: str, region: str = "eu", total: int = 1, timestamp: int = 0) -> None:
        self.write("orders", key, timestamp, REGION=region, TOTAL=total)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.desk.stop()
    assert world.access.opened == world.access.closed


def code_of(world: World, text: str, **properties: Any) -> int:
    with pytest.raises(ServiceError) as refused:
        world.ask(text, **properties)
    return refused.value.code


# --- push queries


def test_a_push_query_has_what_comes_after_it_was_asked(world: World) -> None:
    world.order("before")
    client = world.ask("SELECT id, total * 2 AS twice FROM orders EMIT CHANGES;")
    assert client.answer.kind is AnswerKind.PUSH
    assert [str(column) for column in client.answer.columns] == ["`ID` STRING", "`TWICE` INTEGER"]
    assert client.answer.query_id.startswith("transient_ORDERS_")
    world.order("after", total=3)
    assert client.wait_for(1) == [("after", 6)]
    assert client.answer.end is None


def test_a_push_query_from_the_beginning(world: World) -> None:
    world.order("1")
    client = world.ask("SELECT id FROM orders EMIT CHANGES;", auto_offset_reset="earliest")
    world.order("2")
    assert sorted(client.wait_for(2)) == [("1",), ("2",)]


def test_an_offset_reset_that_is_none_is_refused(world: World) -> None:
    assert code_of(world, "SELECT * FROM orders EMIT CHANGES;", auto_offset_reset="none") == 40001


def test_structs_are_dicts(world: World) -> None:
    client = world.ask("SELECT STRUCT(a := total, b := ARRAY[id]) AS s FROM orders EMIT CHANGES;")
    world.order("x")
    assert client.wait_for(1) == [({"A": 1, "B": ["x"]},)]


def test_a_push_query_of_a_table_has_tombstones(world: World) -> None:
    client = world.ask("SELECT * FROM users EMIT CHANGES;")
    world.write("users", "u", NAME="Ann")
    world.write("users", "u")
    assert client.wait_for(2) == [("u", "Ann"), ("u", None)]
    assert [row.is_tombstone for row in client.rows] == [False, True]


def test_every_change_of_an_aggregate_is_a_row(world: World) -> None:
    client = world.ask(
        "SELECT region, COUNT(*) AS n FROM orders GROUP BY region EMIT CHANGES;",
        **{"cache_max_bytes_buffering": 10_000_000},
    )
    for number in range(4):
        world.order(str(number), timestamp=number)
    assert client.wait_for(4) == [("eu", 1), ("eu", 2), ("eu", 3), ("eu", 4)]


def test_a_stream_is_joined_with_a_table(world: World) -> None:
    client = world.ask("SELECT o.id, name FROM orders o LEFT JOIN users u ON o.region = u.id EMIT CHANGES;")
    world.write("users", "eu", 1, NAME="Ann")
    world.order("1", timestamp=2)
    assert client.wait_for(1) == [("1", "Ann")]


def test_tables_are_joined_by_a_foreign_key(world: World) -> None:
    world.access.add("visits", 3)
    world.ksql.execute(
        "CREATE TABLE visits (id STRING PRIMARY KEY, who STRING) WITH (kafka_topic='visits', format='JSON');"
    )
    client = world.ask("SELECT v.id, name FROM visits v JOIN users u ON v.who = u.id EMIT CHANGES;")
    world.write("visits", "v", 1, WHO="u")
    world.write("users", "u", 2, NAME="Ann")
    assert client.wait_for(1) == [("v", "Ann")]
    world.write("users", "u", 3, NAME="Ben")
    assert client.wait_for(2)[1] == ("v", "Ben")


def test_windows_emit_final(world: World) -> None:
    client = world.ask(
        "SELECT region, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) "
        "GROUP BY region EMIT FINAL;"
    )
    for timestamp in (1_000, 2_000, 12_000):
        world.order("k", timestamp=timestamp)
    assert client.wait_for(1) == [("eu", 2)]


def test_a_limit_ends_it(world: World) -> None:
    client = world.ask("SELECT id FROM orders EMIT CHANGES LIMIT 2;")
    for number in range(5):
        world.order(str(number))
    assert client.wait_for_end().message == "Limit Reached"
    assert len(client.rows) == 2
    assert world.desk.push_queries() == []
    assert world.ask("SELECT id FROM orders EMIT CHANGES LIMIT 0;").wait_for_end().message == "Limit Reached"


def test_closing_ends_it_while_nothing_comes(world: World) -> None:
    client = world.ask("SELECT id FROM orders EMIT CHANGES;")
    client.answer.close()
    client.answer.close()
    assert client.wait_for_end().message == "Query Completed"
    assert world.desk.push_queries() == []


def test_a_query_is_ended_by_its_id(world: World) -> None:
    client = world.ask("SELECT id FROM orders EMIT CHANGES;")
    (listed,) = world.desk.push_queries()
    assert listed == PushQuery(client.answer.query_id, "SELECT id FROM orders EMIT CHANGES;")
    assert world.desk.close(listed.id.upper())
    assert not world.desk.close(listed.id)
    assert client.wait_for_end().error is None


def test_a_reader_that_fails_ends_the_answer(world: World) -> None:
    client = world.ask("SELECT id FROM orders EMIT CHANGES;")
    world.access.fail(TopicMissing("the topic is gone"))
    assert str(client.wait_for_end().error) == "the topic is gone"
    world.access.failure = None


# --- sharing


def test_subscribers_of_one_text_share_the_work(world: World) -> None:
    text = "SELECT id FROM orders WHERE total > 1 EMIT CHANGES;"
    first, second = world.ask(text), world.ask(text)
    world.order("1", total=5)
    assert first.wait_for(1) == second.wait_for(1) == [("1",)]
    assert world.access.opened == 1
    assert first.answer.query_id != second.answer.query_id
    first.answer.close()
    world.order("2", total=5)
    assert second.wait_for(2) == [("1",), ("2",)]
    assert first.answer.take() == []


def test_those_who_ask_at_the_same_time_share_too(world: World) -> None:
    clients: list[Client] = []
    text = "SELECT id FROM orders EMIT CHANGES;"
    threads = [threading.Thread(target=lambda: clients.append(world.ask(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    world.order("1")
    assert [client.wait_for(1) for client in clients] == [[("1",)]] * 8
    assert world.access.opened == 1


def test_work_is_not_shared_where_rows_differ(world: World) -> None:
    text = "SELECT id FROM orders EMIT CHANGES;"
    counts = "SELECT region, COUNT(*) FROM orders GROUP BY region EMIT CHANGES;"
    clients = [
        world.ask(text),
        world.ask(text, auto_offset_reset="earliest"),
        world.ask(text, ksql_timestamp_throw_on_invalid=True),
        world.ask("SELECT id AS other FROM orders EMIT CHANGES;"),
        world.ask(counts),
        world.ask(counts),
    ]
    world.order("1")
    for client in clients:
        client.wait_for(1)
    assert world.access.opened == len(clients)


def test_what_ended_is_not_joined(world: World) -> None:
    text = "SELECT id FROM orders EMIT CHANGES;"
    world.ask(text).answer.close()
    client = world.ask(text)
    world.order("1")
    assert client.wait_for(1) == [("1",)]


# --- slow clients


def test_a_slow_client_does_not_stop_another(world: World) -> None:
    text = "SELECT id FROM orders EMIT CHANGES;"
    slow, fast = world.ask(text), world.ask(text)
    for number in range(MOST_WAITING + 5_000):
        world.order(str(number))
        if number % 500 == 0:
            fast.wait_for(number)
    assert len(fast.wait_for(MOST_WAITING + 5_000)) == MOST_WAITING + 5_000
    error = slow.wait_for_end().error
    assert error is not None
    assert error.primary == "the client takes its rows too slowly"
    assert len(slow.rows) < MOST_WAITING + 2_000
    assert fast.answer.end is None


def test_a_query_waits_for_its_only_client(world: World) -> None:
    for number in range(MOST_WAITING * 3):
        world.order(str(number))
    answer = world.desk.answer(context_of(world.ksql), "SELECT id FROM orders;")
    full = threading.Event()
    answer.listen(lambda: full.set() if answer.is_full else None)  # type: ignore[attr-defined]
    assert full.wait(WAIT)
    assert len(answer._waiting) < MOST_WAITING * 2  # type: ignore[attr-defined]
    client = Client(answer)
    assert client.wait_for_end().message == "Query Completed"
    assert len(client.rows) == MOST_WAITING * 3


def test_a_listener_that_fails_disturbs_nobody(world: World) -> None:
    text = "SELECT id FROM orders EMIT CHANGES;"
    broken, client = world.desk.answer(context_of(world.ksql), text), world.ask(text)
    calls: list[int] = []

    def wake() -> None:
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("nobody is there")

    broken.listen(wake)
    world.order("1")
    world.order("2")
    assert sorted(client.wait_for(2)) == [("1",), ("2",)]
    assert len(world.desk.push_queries()) == 1


# --- limits and errors


def test_there_are_only_so_many_push_queries(world: World) -> None:
    context = context_of(world.ksql)
    context.settings = Settings({"ksql.max.push.queries": 2})
    text = "SELECT id FROM orders EMIT CHANGES;"
    first = world.desk.answer(context, text)
    world.desk.answer(context, text)
    with pytest.raises(ServiceError, match="Maximum number") as refused:
        world.desk.answer(context, text)
    assert (refused.value.code, refused.value.status) == (40003, 400)
    first.close()
    world.desk.answer(context, text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT nothing FROM orders EMIT CHANGES;",
        "SELECT * FROM unknown EMIT CHANGES;",
        "SELEC;",
        "SHOW STREAMS;",
        "SELECT * FROM orders; SELECT * FROM orders;",
        "SELECT * FROM users;",
    ],
)
def test_a_statement_that_cannot_be_answered(world: World, text: str) -> None:
    with pytest.raises(ServiceError) as refused:
        world.ask(text)
    assert refused.value.code == 40001
    assert refused.value.statement == text


def test_a_topic_that_is_missing(world: World) -> None:
    world.ksql.execute("CREATE STREAM gone (id STRING KEY) WITH (kafka_topic='gone', format='JSON');")
    assert code_of(world, "SELECT * FROM gone EMIT CHANGES;") == 40001
    assert world.desk.push_queries() == []


# --- pull queries


def test_a_pull_query_of_a_stream_completes(world: World) -> None:
    for number in range(10):
        world.order(str(number), total=number)
    client = world.ask("SELECT id FROM orders WHERE total >= 5;")
    assert client.answer.kind is AnswerKind.STREAM_PULL
    assert client.wait_for_end().message == "Query Completed"
    assert sorted(row.values for row in client.rows) == [(str(number),) for number in range(5, 10)]
    limited = world.ask("SELECT id FROM orders LIMIT 3;")
    assert limited.wait_for_end().message == "Limit Reached"
    assert len(limited.rows) == 3


def test_a_pull_query_of_an_empty_stream_completes(world: World) -> None:
    client = world.ask("SELECT id FROM orders;")
    assert client.wait_for_end().message == "Query Completed"
    assert client.rows == []


def test_a_pull_query_of_a_table(world: World) -> None:
    world.ksql.execute("CREATE TABLE totals AS SELECT region, SUM(total) AS total FROM orders GROUP BY region;")
    world.ksql.execute("INSERT INTO orders VALUES ('1', 'eu', 5); INSERT INTO orders VALUES ('2', 'eu', 6);")
    client = world.ask("SELECT region, total FROM totals WHERE region = 'eu';")
    assert client.answer.kind is AnswerKind.TABLE_PULL
    assert client.answer.key_columns == {"REGION"}
    end = client.wait_for_end()
    assert (end.message, end.error) == (None, None)
    assert [row.values for row in client.rows] == [("eu", 11)]
    assert code_of(world, "SELECT * FROM totals;", ksql_pull_queries_enable="false") == 40001


def test_there_are_only_so_many_pull_queries(world: World) -> None:
    context = context_of(world.ksql)
    context.settings = Settings({"ksql.query.pull.max.concurrent.requests": 0})
    with pytest.raises(ServiceError, match="concurrency limit") as refused:
        world.desk.answer(context, "SELECT * FROM orders;")
    assert refused.value.code == 42900


def test_a_pull_query_that_is_cut_off_says_so(world: World) -> None:
    for number in range(MOST_WAITING * 2):
        world.order(str(number))
    client = Client(world.desk.answer(context_of(world.ksql), "SELECT id FROM orders;"))
    world.desk.stop()
    error = client.wait_for_end().error
    assert isinstance(error, ServiceError)
    assert error.code == 50303


# --- PRINT


def test_print(world: World) -> None:
    world.order("1", timestamp=1_600_000_000_123)
    client = world.ask("PRINT orders FROM BEGINNING LIMIT 1;")
    assert client.answer.kind is AnswerKind.PRINT
    end = client.wait_for_end()
    assert (end.message, end.error) == (None, None)
    *formats, line = (row.values[0] for row in client.rows)
    assert formats == ["Key format: JSON", "Value format: JSON"]
    assert line == (
        f'rowtime: 2020/09/13 12:26:40.123 Z, key: "1", value: {{"REGION": "eu", "TOTAL": 1}}, partition: {line[-1]}'
    )


def test_print_tells_again_when_formats_change(world: World) -> None:
    client = world.ask("PRINT orders;")
    world.order("1")
    client.wait_for(3)
    world.access.write("orders", b"{", None)
    client.wait_for(5)
    assert client.rows[3].values == ("Key format: MIXED",)
    client.answer.close()


def test_print_every_second_record(world: World) -> None:
    for number in range(4):
        world.access.write("orders", b"same", str(number).encode())
    client = world.ask("PRINT orders FROM BEGINNING INTERVAL 2 LIMIT 2;")
    client.wait_for_end()
    assert [row.values[0].split("value: ")[1][0] for row in client.rows[2:]] == ["0", "2"]


def test_print_of_an_unknown_topic(world: World) -> None:
    world.ksql.topics._default = None  # type: ignore[attr-defined]
    assert code_of(world, "PRINT unknown;") == 40000
