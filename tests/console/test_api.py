"""What pages ask, on stand-ins: no broker, no Spark."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from millstream.console.files import SECURITY_HEADERS
from millstream.console.service.console import ServiceConsoleApp
from millstream.console.service.overview import Overview
from millstream.ksqldb.commands.execution.sandbox import RememberingRunner
from millstream.ksqldb.rest.app import RestApp
from millstream.ksqldb.rest.errors import restate
from millstream.registry.wire import prefix
from millstream.server.guard import Guard
from millstream.server.settings import ServerSettings
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.queries import Queries
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription, TopicRecord
from millstream.sql.formats import InMemoryRegistry, RegisteredSchema
from millstream.sql.functions.registry import default_registry
from millstream.task.watching.watch import Seen, SeenNode, SeenRecord

from ..ksqldb.rest.memory import MemoryService
from ..server.asgi import Reply, call
from .memory import MemoryLanes, MemoryLooking

SETTINGS = ServerSettings(users=(("ann", "word"), ("eve", "look")), readers=("eve",))
STATEMENTS = """
CREATE STREAM orders (id STRING KEY, amount INT) WITH (kafka_topic='orders', partitions=1, value_format='JSON');
CREATE TABLE totals AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;
CREATE STREAM large AS SELECT * FROM orders WHERE amount > 5;
"""
DLQ = "orders-dlq"


class World:
    """A console over an engine in memory."""

    def __init__(self, settings: ServerSettings = SETTINGS) -> None:
        self.topics = InMemoryTopics()
        self.context = Context(default_registry(), self.topics, Queries(RememberingRunner()))
        Engine(self.context).execute(STATEMENTS)
        self.lanes = MemoryLanes()
        self.looking = MemoryLooking(self.topics)
        service = MemoryService()
        self.rest = RestApp(service, settings)
        self.app = ServiceConsoleApp(
            self.rest, service, lambda: self.context, self.lanes, self.looking, "shop", settings
        )
        self._guard = Guard(self.app, settings, self.app.open_paths, restate=restate)

    def ask(self, path: str, body: Any = None, *, user: str | None = "ann:word", **headers: str) -> Reply:
        if user is not None:
            headers["authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        if body is None:
            return asyncio.run(call(self._guard, path, headers=headers))
        headers.setdefault("content-type", "application/json")
        return asyncio.run(call(self._guard, path, method="POST", headers=headers, body=json.dumps(body).encode()))

    def got(self, path: str, body: Any = None) -> Any:
        reply = self.ask(f"/console/api{path}", body)
        assert reply.status == 200, reply.body
        return reply.json()

    def letter(self, key: bytes, cause: str = "ValueError", topic: bytes | None = b"orders") -> None:
        headers: list[tuple[str, bytes | None]] = [
            ("source", b"till"),
            ("__streams.errors.exception", cause.encode()),
            ("__streams.errors.message", b"no"),
        ]
        if topic is not None:
            headers.append(("__streams.errors.topic", topic))
        self.topics.write(TopicRecord(DLQ, key, b'{"AMOUNT":"x"}', 1000, tuple(headers)))


@pytest.fixture
def world() -> Iterator[World]:
    found = World()
    found.topics.create(TopicDescription(DLQ))
    yield found
    found.app.close()
    found.rest.close()


def test_pages_need_no_credentials_and_what_they_ask_does(world: World) -> None:
    for path in ("/console", "/console/", "/console/static/main.js", "/console/static/pages/sql.js"):
        reply = world.ask(path, user=None)
        assert reply.status == 200
        assert "script-src 'self'" in reply.headers["content-security-policy"]
        assert reply.headers["x-frame-options"] == "DENY"
    assert world.ask("/console/api/session", user=None).status == 401
    assert world.ask("/console/api/session", user="ann:wrong").status == 401


def test_a_page_that_has_not_changed_is_not_sent_again(world: World) -> None:
    first = world.ask("/console", user=None)
    again = world.ask("/console", user=None, **{"if-none-match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_there_is_nothing_else_under_the_consoles_path(world: World) -> None:
    for path in ("/console/static/../app.py", "/console/static/none.js", "/console/api/none", "/console/nothing"):
        assert world.ask(path).status == 404
    assert world.ask("/consolex").status == 404
    assert world.ask("/info").status == 200  # REST goes on


def test_answers_carry_the_headers_too(world: World) -> None:
    reply = world.ask("/console/api/session")
    assert reply.json()["user"] == "ann"
    assert reply.json()["mayChange"] is True
    for name, value in SECURITY_HEADERS.items():
        assert reply.headers[name] == value


def test_one_who_only_looks_is_refused_what_changes_something(world: World) -> None:
    world.letter(b"a")
    assert world.ask("/console/api/session", user="eve:look").json()["mayChange"] is False
    body = {"letters": [{"partition": 0, "offset": 0}]}
    for path in ("topics/orders/records", f"letters/{DLQ}/replay", f"letters/{DLQ}/done", f"letters/{DLQ}/open"):
        assert world.ask(f"/console/api/{path}", body, user="eve:look").status == 403
    for path in ("/ksql/terminate", "/close-query"):
        assert world.ask(path, {"queryId": "q"}, user="eve:look").status == 403
    assert world.ask(f"/console/api/letters/{DLQ}", user="eve:look").status == 200
    assert world.topics.read("orders", from_beginning=True) == []


def test_pages_from_elsewhere_change_nothing(world: World) -> None:
    body = {"key": None, "value": {"text": "x"}}
    path = "/console/api/topics/orders/records"
    for origin in ("https://evil.example", "http://here:80", "null"):
        assert world.ask(path, body, host="here:8088", origin=origin).status == 403
        assert world.ask("/ksql", {"ksql": "SHOW STREAMS;"}, host="here:8088", origin=origin).status == 403
    assert world.ask(path, body, host="here:8088", origin="http://here:8088").status == 200
    assert world.ask(path, body, **{"content-type": "text/plain"}).status == 415
    assert len(world.topics.read("orders", from_beginning=True)) == 1


def test_where_anyone_is_answered_a_name_that_may_point_anywhere_is_no_origin() -> None:
    world = World(ServerSettings())
    path, body = "/console/api/topics/orders/records", {"value": {"text": "x"}}
    for host, status in (("evil.example:8088", 403), ("localhost:8088", 200), ("127.0.0.1:8088", 200)):
        assert world.ask(path, body, user=None, host=host, origin=f"http://{host}").status == status
    world.app.close()
    world.rest.close()


def test_queries_with_their_figures(world: World) -> None:
    (totals, large) = [query.id for query in world.context.queries]
    for number in range(7):
        world.topics.write(TopicRecord("orders", None, str(number).encode(), 0))
    world.lanes.known = {totals: {"processed": 4.0, "orders-0": 4.0}}
    found = {query["id"]: query for query in world.got("/overview")["queries"]}
    assert found[totals]["processed"] == 4
    assert found[totals]["lag"] == 3
    assert found[totals]["state"] == "RUNNING"
    assert (found[totals]["sources"], found[totals]["sink"]) == (["ORDERS"], "TOTALS")
    assert (found[large]["processed"], found[large]["lag"]) == (0, None)


def test_no_lag_is_told_while_the_broker_is_away(world: World) -> None:
    (totals, _) = [query.id for query in world.context.queries]
    world.lanes.known = {totals: {"processed": 4.0, "orders-0": 4.0}}
    world.looking.is_away = True
    assert world.got("/overview")["queries"][0]["lag"] is None


def test_rates_are_made_of_what_was_noted(world: World) -> None:
    now = [100.0]
    overview = Overview(lambda: world.context, world.lanes, world.looking, lambda: now[0])
    for processed, lag in ((0.0, 90.0), (50.0, 40.0), (70.0, 20.0), (10.0, 0.0)):  # in the end a lane begins anew
        world.lanes.known = {"q": {"processed": processed, "lag": lag}}
        overview.history.sample()
        now[0] += 5.0
    history = overview.history.told()
    assert history["rates"] == {"q": [10.0, 4.0, 0.0]}
    assert history["lag"] == {"q": [40.0, 20.0, 0.0]}
    assert overview.history.rates() == {"q": 0.0}
    assert history["times"] == [105_000, 110_000, 115_000]


def test_browsers_that_look_at_the_same_time_share_what_the_broker_answers(world: World) -> None:
    (totals, _) = [query.id for query in world.context.queries]
    world.lanes.known = {totals: {"processed": 4.0, "orders-0": 4.0}}
    for _ in range(3):
        world.got("/overview")
    assert world.looking.asked == 1


def test_the_last_marks_of_transactions_are_no_lag(world: World) -> None:
    (totals, _) = [query.id for query in world.context.queries]
    world.topics.write(TopicRecord("LARGE", None, b"1", 0))
    for lane in world.lanes.lanes:  # each of them may have written to it
        world.topics.write(TopicRecord("LARGE", None, f"the mark of {lane}".encode(), 0))
    world.lanes.known = {totals: {"processed": 1.0, "LARGE-0": 1.0}}
    assert world.app.overview.lags()[totals] == {"LARGE-0": 0}


def test_a_topology_is_drawn_without_a_style_of_its_own(world: World) -> None:
    (totals, _) = [query.id for query in world.context.queries]
    found = world.got(f"/topology/{totals}")
    assert "<style" not in found["svg"]
    assert 'data-topic="orders"' in found["svg"]
    assert {node["kind"] for node in found["nodes"].values()} == {"source", "processor", "sink"}
    assert world.ask("/console/api/topology/NONE").status == 404
    assert world.got(f"/topology/{totals}/figures") == {part: found[part] for part in ("figures", "lags", "seen")}
    assert world.ask("/console/api/topology/NONE/figures").status == 404


def test_a_statement_is_drawn_without_being_run(world: World) -> None:
    for sql in (
        "CREATE STREAM few AS SELECT id, amount FROM orders WHERE amount = 3;",
        "SELECT * FROM orders EMIT CHANGES;",
        "SELECT * FROM totals WHERE id = 'a';",
        "CREATE STREAM o2 (a INT) WITH (kafka_topic='orders', value_format='JSON');"
        "CREATE STREAM o3 AS SELECT * FROM o2;",
        "-- why?\nEXPLAIN SELECT * FROM orders EMIT CHANGES;",
        "explain CREATE STREAM few AS SELECT id, amount FROM orders;",
        f"EXPLAIN {next(iter(world.context.queries)).id};",
    ):
        assert "data-node" in world.got(f"/explain?sql={quote(sql)}")["svg"]
    for sql in (
        "DROP STREAM large;",
        "SELECT * FROM none EMIT CHANGES;",
        "SELECT",
        "",
        "SHOW STREAMS;",
        "EXPLAIN NONE;",
    ):
        assert world.ask(f"/console/api/explain?sql={quote(sql)}").status == 400
    assert sorted(source.name for source in world.context.catalogue) == ["LARGE", "ORDERS", "TOTALS"]
    assert len(world.context.queries) == 2


def test_names_for_statements_and_tables_that_can_be_asked(world: World) -> None:
    names = world.got("/names")
    assert {"COUNT", "UCASE"} <= set(names["functions"])
    found = {source["name"]: source for source in names["sources"]}
    assert found["TOTALS"]["asked"] is True
    assert found["ORDERS"]["asked"] is False
    assert found["TOTALS"]["columns"][0] == {"name": "ID", "type": "STRING", "key": True}


def test_what_hangs_on_a_name(world: World) -> None:
    orders = world.got("/dependents?name=orders")
    assert len(orders["queries"]) == 2
    assert orders["derived"] == ["LARGE", "TOTALS"]
    totals = world.got("/dependents?name=TOTALS")
    assert totals["ends"] == totals["writers"][0]
    assert world.got(f"/dependents?name={totals['ends']}")["writes"] == "TOTALS"
    assert world.got("/dependents?name=none")["kind"] is None


def test_topics_and_their_last_records(world: World) -> None:
    for number in range(60):
        world.topics.write(TopicRecord("orders", b"\x00\x00\x00\x05", f'{{"AMOUNT":{number}}}'.encode(), number))
    assert {topic["name"] for topic in world.got("/topics")} >= {"orders", DLQ}
    assert world.got("/topics/orders")["partitions"] == [{"partition": 0, "begin": 0, "end": 60}]
    records = world.got("/topics/orders/records?count=5")
    assert [record["offset"] for record in records] == [59, 58, 57, 56, 55]
    assert records[0]["key"] == {"kind": "KAFKA_INT", "text": "5", "base64": "AAAABQ=="}
    assert records[0]["value"] == {"kind": "JSON", "text": '{"AMOUNT":59}'}
    assert [record["offset"] for record in world.got("/topics/orders/records?count=2&offset=7&partition=0")] == [7, 8]
    for wrong, status in (("count=0", 400), ("count=x", 400), ("count=501", 400), ("partition=3", 404)):
        assert world.ask(f"/console/api/topics/orders/records?{wrong}").status == status
    assert world.ask("/console/api/topics/none").status == 404
    (group,) = world.got("/topics/orders/groups")
    assert group["partitions"] == [{"partition": 0, "position": 1, "lag": 59}]


def test_long_values_are_cut_unless_one_record_is_asked_for(world: World) -> None:
    world.topics.write(TopicRecord("orders", None, b"x" * 10_000, 0))
    (record,) = world.got("/topics/orders/records?count=2")
    assert (len(record["value"]["text"]), record["value"]["length"]) == (4000, 10_000)
    (record,) = world.got("/topics/orders/records?count=1")
    assert len(record["value"]["text"]) == 10_000


def test_data_with_a_schema_in_the_registry_is_read_with_it(world: World) -> None:
    registry = InMemoryRegistry()
    schema = {"type": "record", "name": "Order", "fields": [{"name": "amount", "type": "int"}]}
    number = registry.register("orders-value", RegisteredSchema("AVRO", json.dumps(schema)))
    world.context.registry = registry
    world.topics.write(TopicRecord("orders", None, prefix(number) + b"\x0a", 0))
    world.topics.write(TopicRecord("orders", None, prefix(number) + b"", 1))  # what it says is missing
    world.topics.write(TopicRecord("orders", None, prefix(77) + b"\x0a", 2))  # nobody knows this schema
    unknown, short, read = world.got("/topics/orders/records")
    assert (read["value"]["kind"], json.loads(read["value"]["text"])) == ("AVRO", {"amount": 5})
    assert read["value"]["base64"]
    assert unknown["value"] == {"kind": "SCHEMA REGISTRY", "text": "000000004d0a", "base64": "AAAAAE0K"}
    assert short["value"]["kind"] != "AVRO"


def test_a_record_is_written(world: World) -> None:
    world.got("/topics/orders/records", {"key": {"base64": "AAE="}, "value": {"text": "é"}, "headers": [["a", "b"]]})
    (record,) = world.topics.read("orders", from_beginning=True)
    assert (record.key, record.value, record.headers) == (b"\x00\x01", "é".encode(), (("a", b"b"),))
    wrongs: list[Any] = [[], {"key": 1}, {"key": {"base64": "?"}}, {"headers": [["a"]]}]
    for wrong in wrongs:
        assert world.ask("/console/api/topics/orders/records", wrong).status == 400
    assert world.ask("/console/api/topics/none/records", {"value": None}).status == 404


def test_dead_letters_by_cause(world: World) -> None:
    world.letter(b"a")
    world.letter(b"b")
    world.letter(b"c", "KeyError")
    assert world.got("/letters") == [DLQ]
    found = world.got(f"/letters/{DLQ}")
    assert [letter["key"]["text"] for letter in found["letters"]] == ["c", "b", "a"]
    assert found["letters"][0]["from"]["topic"] == "orders"
    assert found["letters"][0]["headers"] == [["source", "till"]]
    assert found["causes"] == [
        {"cause": "ValueError", "topic": "orders", "open": True, "count": 2},
        {"cause": "KeyError", "topic": "orders", "open": True, "count": 1},
    ]


def test_letters_go_back_to_their_topic_without_what_handlers_wrote(world: World) -> None:
    world.letter(b"a")
    world.letter(b"b")
    edited = {"partition": 0, "offset": 1, "edit": {"value": {"text": '{"AMOUNT":5}'}}}
    world.got(f"/letters/{DLQ}/replay", {"letters": [edited, {"partition": 0, "offset": 0}]})
    first, second = world.topics.read("orders", from_beginning=True)
    assert (first.key, first.value, first.headers) == (b"b", b'{"AMOUNT":5}', (("source", b"till"),))
    assert (second.key, second.value, second.timestamp) == (b"a", b'{"AMOUNT":"x"}', 1000)
    done = [letter["done"] for letter in world.got(f"/letters/{DLQ}")["letters"]]
    assert [(note["what"], note["edited"], note["who"]) for note in done] == [
        ("replayed", True, "ann"),
        ("replayed", False, "ann"),
    ]


def test_letters_are_done_and_open_again(world: World) -> None:
    world.letter(b"a")
    body = {"letters": [{"partition": 0, "offset": 0}]}
    world.got(f"/letters/{DLQ}/done", body)
    assert world.got(f"/letters/{DLQ}")["letters"][0]["done"]["what"] == "done"
    world.got(f"/letters/{DLQ}/open", body)
    assert world.got(f"/letters/{DLQ}")["letters"][0]["done"] is None


def test_letters_that_cannot_be_sent_back_are_refused_before_any_is(world: World) -> None:
    world.letter(b"a")
    world.letter(b"b", topic=None)
    for letters, status in (
        ([{"partition": 0, "offset": 0}, {"partition": 0, "offset": 1}], 422),
        ([{"partition": 0, "offset": 9}], 404),
        ([], 400),
        ([{"offset": "x"}], 400),
    ):
        assert world.ask(f"/console/api/letters/{DLQ}/replay", {"letters": letters}).status == status
    assert world.topics.read("orders", from_beginning=True) == []


def test_lanes_and_their_tasks(world: World) -> None:
    world.lanes.known = {"q": {"processed": 0.0}}
    found = world.got("/lanes")
    assert found["members"] == [{"client": "lane", "host": "here", "slots": [1, 2]}]
    assert found["here"] == [
        {
            "lane": 0,
            "host": "here",
            "process": 100,
            "queries": [{"query": "q", "tasks": ["0_0", "0_1"], "restoring": {}}],
        },
        {
            "lane": 1,
            "host": "here",
            "process": 101,
            "queries": [{"query": "q", "tasks": [], "restoring": {"0_2": 0.4}}],
        },
    ]


def test_what_lanes_see_of_nodes_is_put_together(world: World) -> None:
    (totals, _) = [query.id for query in world.context.queries]
    record = SeenRecord("'a'", "1", 5)
    world.lanes.seen = [
        Seen(50, 20, {"KSTREAM-SOURCE-0000000000": SeenNode(100.0, 15, (record,)), "B": SeenNode(1.0, 5)}),
        Seen(50, 20, {"KSTREAM-SOURCE-0000000000": SeenNode(50.0, 5)}),
    ]
    seen = world.got(f"/topology/{totals}")["seen"]
    assert seen["busy"] == 0.4
    assert seen["nodes"]["KSTREAM-SOURCE-0000000000"] == {
        "rate": 150.0,
        "share": 0.5,
        "last": [{"key": "'a'", "value": "1", "timestamp": 5}],
    }
    assert seen["nodes"]["B"]["share"] == 0.125


def test_a_topic_is_followed(world: World) -> None:
    world.topics.write(TopicRecord("orders", None, b"old", 0))
    first = world.got("/topics/orders/new")
    assert (first["records"], first["after"], first["count"]) == ([], {"0": 1}, 0)
    for number in range(300):
        world.topics.write(TopicRecord("orders", None, b"%d" % number, number))
    second = world.got("/topics/orders/new?after=0:1")
    assert (second["after"], second["count"], len(second["records"])) == ({"0": 301}, 300, 200)
    assert second["records"][0]["value"]["text"] == "299"
    assert world.got("/topics/orders/new?after=0:301")["records"] == []
    assert world.ask("/console/api/topics/orders/new?after=x:1").status == 400
