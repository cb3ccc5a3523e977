"""A service: what its statements answer, and that servers agree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millstream.ksqldb import service as service_module
from millstream.ksqldb.api import Request, ServerState, ServerStatus, Service, ServiceError
from millstream.ksqldb.commands.execution import writing
from millstream.ksqldb.commands.execution.planning import plan
from millstream.ksqldb.commands.execution.sandbox import RememberingRunner
from millstream.ksqldb.commands.log.command import DELETE_TOPICS, TERMINATE_ID, TERMINATE_TEXT, Command
from millstream.ksqldb.service import KsqlService
from millstream.sql.engine.answers.entities import (
    CurrentStatus,
    PropertiesList,
    QueriesList,
    StreamsList,
    TerminatedQuery,
    WarningEntity,
)
from millstream.sql.engine.queries import PersistentQuery, QueryState
from millstream.sql.engine.topics import InMemoryTopics
from millstream.sql.formats import InMemoryRegistry, RegisteredSchema

from .commands.memory import (
    FakeQueries,
    MemoryCommandTopic,
    catch_up,
    make_context,
    make_service,
    send,
    shape,
    status,
)

STREAM = "CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
COPY = "CREATE STREAM copy AS SELECT * FROM s;"
Start = Callable[..., KsqlService]


@pytest.fixture
def topic() -> MemoryCommandTopic:
    return MemoryCommandTopic()


@pytest.fixture
def start(topic: MemoryCommandTopic) -> Iterator[Start]:
    started = []

    def make(**parts: Any) -> KsqlService:
        service = make_service(topic, **parts)
        started.append(service)
        return service.start()

    yield make
    for service in started:
        service.close()


@pytest.fixture
def service(start: Start) -> KsqlService:
    return start()


def code_of(service: KsqlService, sql: str, **request: Any) -> tuple[int, str, str | None]:
    with pytest.raises(ServiceError) as caught:
        send(service, sql, **request)
    return caught.value.code, caught.value.primary, caught.value.statement


def test_one_who_only_looks_is_refused_what_changes_something(start: Start) -> None:
    service = start()
    service.execute(Request(STREAM))
    for text in (
        COPY,
        "DROP STREAM s;",
        "INSERT INTO s (id, v) VALUES (1, 2);",
        "TERMINATE ALL;",
        "PAUSE ALL;",
        "SHOW STREAMS; DROP STREAM s;",
        "DEFINE what = 's'; DROP STREAM ${what};",
        "ALTER SYSTEM 'ksql.query.pull.table.scan.enabled' = 'false';",
        "CREATE TYPE t AS INT;",
    ):
        with pytest.raises(ServiceError) as refused:
            service.execute(Request(text, may_change=False))
        assert (refused.value.code, refused.value.status) == (40300, 403), text
    seen = "SHOW STREAMS; DESCRIBE s; EXPLAIN SELECT * FROM s EMIT CHANGES; SET 'auto.offset.reset' = 'earliest';"
    assert service.execute(Request(seen, may_change=False))


def test_they_are_services(topic: MemoryCommandTopic) -> None:
    services: list[Service] = [make_service(topic), KsqlService.headless(make_context(), FakeQueries(), STREAM)]
    assert [service.state for service in services] == [ServerState.INITIALIZING, ServerState.READY]


# --- requests


def test_a_statement_is_answered_when_it_is_executed(service: KsqlService, topic: MemoryCommandTopic) -> None:
    answer = status(service, STREAM)
    assert (str(answer.command_id), answer.command_status.status) == ("stream/`S`/create", "SUCCESS")
    assert answer.command_sequence_number == 0
    assert status(service, COPY).command_sequence_number == 2
    assert [record.key for record in topic.records] == [b'"stream/`S`/create"', b'"stream/`COPY`/create"']
    assert service.context.catalogue.get("COPY") is not None


def test_ids_follow_from_offsets_as_in_ksqldb(service: KsqlService) -> None:
    status(service, STREAM)
    assert status(service, COPY).command_status.query_id == "CSAS_COPY_1"
    answer = status(service, "CREATE TABLE counts AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;")
    assert answer.message == "Created query with ID CTAS_COUNTS_3"
    assert status(service, "INSERT INTO copy SELECT * FROM s;").command_status.query_id == "INSERTQUERY_5"


@pytest.mark.parametrize(
    ("statement", "command_id"),
    [
        ("CREATE TYPE t AS INT;", "type/T/create"),
        ("INSERT INTO copy SELECT * FROM s;", "stream/`COPY`/create"),
        ("ALTER STREAM s ADD COLUMN w INT;", "stream/S/alter"),
        ("DROP STREAM copy;", "stream/COPY/drop"),
        ("PAUSE CSAS_COPY_1;", "pause/CSAS_COPY_1/execute"),
        ("RESUME ALL;", "resume/ALL/execute"),
        ("TERMINATE CSAS_COPY_1;", "terminate/CSAS_COPY_1/execute"),
    ],
)
def test_ids_of_commands(service: KsqlService, statement: str, command_id: str) -> None:
    send(service, STREAM + COPY)
    assert str(status(service, statement).command_id) == command_id
    found = service.status_of(command_id)
    assert found is not None
    assert found.status == "SUCCESS"
    assert service.statuses()[command_id] == "SUCCESS"
    assert service.status_of("stream/NO/create") is None


def test_nothing_is_executed_if_one_statement_cannot_be(service: KsqlService, topic: MemoryCommandTopic) -> None:
    code, message, statement = code_of(service, STREAM + COPY + "CREATE STREAM bad AS SELECT nothing FROM s;")
    assert code == 40001
    assert "NOTHING" in message
    assert statement is not None
    assert statement.startswith("CREATE STREAM BAD")
    assert topic.records == []
    assert service.context.catalogue.get("S") is None


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELEC;", 40001),
        ("SELECT * FROM s EMIT CHANGES;", 40002),
        ("PRINT s;", 40002),
        ("SET 'ksql.unknown' = '1';", 40001),
        ("SET 'ksql.fail.on.production.error' = 'false';", 40000),
        ("DESCRIBE nothing;", 40001),
        ("CREATE STREAM a (k INT) WITH (kafka_topic='a', value_format='AVRO', partitions=1);", 42801),
        ("ASSERT NOT EXISTS TOPIC s TIMEOUT 1 MILLISECONDS;", 41700),
        ("   ", 40000),
    ],
)
def test_codes_of_errors(start: Start, sql: str, code: int) -> None:
    service = start(settings={"ksql.properties.overrides.denylist": "ksql.fail.on.production.error"})
    send(service, STREAM)
    assert code_of(service, sql)[0] == code


@pytest.mark.parametrize(
    "properties",
    [{"ksql.unknown": 1}, {"no.such.thing": "1"}, {"ksql.service.id": "x"}, {"ksql.suppress.enabled": "perhaps"}],
)
def test_properties_that_cannot_be_set(service: KsqlService, properties: dict[str, Any]) -> None:
    assert code_of(service, STREAM, properties=properties)[0] == 40000


def test_properties_that_can_be_set(start: Start) -> None:
    service = start(settings={"ksql.properties.overrides.denylist": "acks, linger.ms"})
    assert service.is_property("auto.offset.reset")
    assert not service.is_property("acks")
    assert not service.is_property("ksql.service.id")
    assert not service.is_property("nothing")


def test_set_and_define_last_for_the_request(service: KsqlService) -> None:
    bare = "CREATE STREAM {} (a INT) WITH (kafka_topic='{}', partitions=1);"
    send(service, "SET 'ksql.persistence.default.format.value'='JSON'; DEFINE n = 'x';" + bare.format("${n}", "${n}"))
    assert service.context.catalogue.get("X") is not None
    assert code_of(service, bare.format("y", "y"))[0] == 40001
    send(
        service,
        bare.format("${n}", "t"),
        properties={"ksql.persistence.default.format.value": "JSON"},
        variables={"N": "z"},
    )
    assert service.context.catalogue.get("Z") is not None


def test_reading_statements_see_what_those_before_them_made(service: KsqlService, topic: MemoryCommandTopic) -> None:
    answers = send(service, f"{STREAM} SHOW STREAMS; INSERT INTO s VALUES (1, 2); {COPY} SHOW QUERIES;")
    assert isinstance(answers[1], StreamsList)
    assert [stream.name for stream in answers[1].streams] == ["S"]
    assert isinstance(answers[3], QueriesList)
    assert [query.id for query in answers[3].queries] == ["CSAS_COPY_1"]
    assert len(topic.records) == 2
    assert isinstance(service.context.topics, InMemoryTopics)
    assert len(service.context.topics.read("s", from_beginning=True)) == 1


def test_what_has_nothing_to_do_is_not_written(service: KsqlService, topic: MemoryCommandTopic) -> None:
    send(service, STREAM)
    (answer,) = send(service, STREAM.replace("STREAM s", "STREAM IF NOT EXISTS s"))
    assert isinstance(answer, WarningEntity)
    assert len(topic.records) == 1


def test_a_request_waits_for_the_command_before_it(start: Start) -> None:
    service = start(settings={"ksql.server.command.response.timeout.ms": 50})
    number = status(service, STREAM).command_sequence_number
    send(service, "SHOW STREAMS;", after=number)
    assert code_of(service, "SHOW STREAMS;", after=number + 100)[0] == 50301


def test_a_command_that_takes_long_is_queued(start: Start) -> None:
    go_on = threading.Event()

    class Slow(RememberingRunner):
        def start(self, query: PersistentQuery) -> None:
            assert go_on.wait(30)

    service = start(runner=Slow(), settings={"ksql.server.command.response.timeout.ms": 100})
    send(service, STREAM)
    answer = status(service, COPY)
    assert answer.command_status.status == "EXECUTING"
    go_on.set()
    send(service, "SHOW STREAMS;", after=answer.command_sequence_number)
    found = service.status_of(str(answer.command_id))
    assert found is not None
    assert (found.status, found.query_id) == ("SUCCESS", "CSAS_COPY_1")


def test_a_query_that_does_not_start_is_in_error_and_fails_no_command(start: Start) -> None:
    class Broken(RememberingRunner):
        def start(self, query: PersistentQuery) -> None:
            raise RuntimeError("no Spark")

    service = start(runner=Broken())
    send(service, STREAM)
    answer = status(service, COPY)
    assert answer.command_status.status == "SUCCESS"
    assert "no Spark" in answer.warnings[0]
    (listed,) = send(service, "SHOW QUERIES;")
    assert isinstance(listed, QueriesList)
    assert listed.queries[0].state == QueryState.ERROR.value
    send(service, "DROP STREAM copy;")


def test_topics_are_deleted_once_the_command_is_executed(service: KsqlService) -> None:
    topics = service.context.topics
    send(service, STREAM + COPY)
    assert "COPY" in topics.names()
    send(service, "DROP STREAM copy DELETE TOPIC;")
    assert "COPY" not in topics.names()


def test_push_queries_are_ended_by_their_id(service: KsqlService, topic: MemoryCommandTopic) -> None:
    assert isinstance(service._queries, FakeQueries)
    service._queries.open.add("transient_S_1")
    (answer,) = send(service, "TERMINATE transient_S_1;")
    assert isinstance(answer, TerminatedQuery)
    assert answer.to_json()["@type"] == "terminate_query"
    assert code_of(service, "TERMINATE transient_S_1;")[0] == 40001
    assert topic.records == []


def test_queries_see_the_state_and_the_session(service: KsqlService) -> None:
    send(service, STREAM)
    with pytest.raises(ServiceError, match="asked"):
        service.query(Request("SELECT * FROM s;", {"auto.offset.reset": "earliest"}, {"A": "b"}))
    assert isinstance(service._queries, FakeQueries)
    ((context, text),) = service._queries.asked
    assert (context.settings["auto.offset.reset"], context.variables, text) == (
        "earliest",
        {"a": "b"},
        "SELECT * FROM s;",
    )
    assert context.catalogue.get("S") is not None


# --- secrets


def test_secrets_are_hidden(start: Start) -> None:
    service = start(settings={"ksql.streams.sasl.jaas.config": "user and password"})
    (listed,) = send(service, "SET 'sasl.jaas.config' = 'mine'; SHOW PROPERTIES;")
    assert isinstance(listed, PropertiesList)
    shown = {item.name: item.value for item in listed.properties}
    assert shown["sasl.jaas.config"] == shown["ksql.streams.sasl.jaas.config"] == "[hidden]"
    connector = "CREATE SINK CONNECTOR c WITH ('connector.class'='Jdbc', 'connection.password'='xyz', 'mine'='xyz');"
    _, _, statement = code_of(service, connector)
    assert statement is not None
    assert "xyz" not in statement
    assert "Jdbc" in statement


def test_secrets_of_the_session_are_not_stored(service: KsqlService, topic: MemoryCommandTopic) -> None:
    send(service, STREAM, properties={"sasl.jaas.config": "mine", "auto.offset.reset": "earliest"})
    assert b"mine" not in (topic.records[0].value or b"")
    assert b"earliest" in (topic.records[0].value or b"")


# --- several servers


def test_a_statement_given_to_one_is_executed_by_all(start: Start, topic: MemoryCommandTopic) -> None:
    one, two = start(), start()
    number = status(one, STREAM).command_sequence_number
    (answer,) = send(two, COPY, after=number)
    assert isinstance(answer, CurrentStatus)
    catch_up(one, topic)
    assert shape(one) == shape(two)
    assert len(topic.records) == 2
    assert one.status_of(str(answer.command_id)) == two.status_of(str(answer.command_id))


def test_a_server_that_joins_later_agrees_and_starts_only_what_is_left(start: Start, topic: MemoryCommandTopic) -> None:
    class Noting(RememberingRunner):
        def __init__(self) -> None:
            super().__init__()
            self.started: list[str] = []

        def start(self, query: PersistentQuery) -> None:
            self.started.append(query.id)

    one = start()
    send(one, STREAM + COPY + "DROP STREAM copy;" + COPY + "INSERT INTO copy SELECT * FROM s;")
    send(one, "TERMINATE INSERTQUERY_7; CREATE STREAM more AS SELECT * FROM copy;")
    send(one, "PAUSE CSAS_MORE_11;")
    runner = Noting()
    two = start(runner=runner)
    assert shape(one) == shape(two)
    assert runner.started == ["CSAS_COPY_5", "CSAS_MORE_11"]
    assert runner.paused == {"CSAS_MORE_11"}
    assert two.statuses() == one.statuses()
    assert status(two, "RESUME CSAS_MORE_11;").command_status.status == "SUCCESS"
    assert status(two, "CREATE STREAM last AS SELECT * FROM s;").command_status.query_id == "CSAS_LAST_17"


def test_a_replay_does_not_depend_on_what_became_of_topics_and_schemas(start: Start) -> None:
    topics, registry = InMemoryTopics(), InMemoryRegistry()
    registry.register(
        "a-value", RegisteredSchema("AVRO", '{"type":"record","name":"R","fields":[{"name":"X","type":"int"}]}')
    )
    one = start(topics=topics, registry=registry)
    send(one, STREAM + COPY)
    send(one, "CREATE STREAM a WITH (kafka_topic='a', value_format='AVRO', partitions=3);")
    send(one, "CREATE STREAM b AS SELECT * FROM a;")
    assert registry.latest("B-value") is not None
    two = start(topics=InMemoryTopics(), registry=InMemoryRegistry())
    assert shape(one) == shape(two)
    assert two.context.topics.names() == []


def test_a_replay_does_not_depend_on_the_settings_of_the_server(start: Start) -> None:
    one = start(settings={"ksql.persistence.default.format.value": "JSON"})
    send(one, STREAM.replace("value_format='JSON', ", ""))
    two = start(settings={"ksql.persistence.default.format.value": "DELIMITED", "ksql.output.topic.name.prefix": "x"})
    assert shape(one) == shape(two)


def test_a_server_whose_decision_is_outdated_decides_anew(
    start: Start, topic: MemoryCommandTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = start(), start()
    send(one, STREAM)
    planning: list[Any] = []

    def interrupted(*arguments: Any) -> Any:
        planned = plan(*arguments)
        if not planning:
            planning.append(arguments)
            send(two, COPY)
        return planned

    monkeypatch.setattr(writing, "plan", interrupted)
    assert code_of(one, COPY)[0] == 40001
    assert len(topic.records) == 2
    catch_up(one, topic)
    assert shape(one) == shape(two)


def test_a_command_that_fails_fails_on_all_servers(start: Start, topic: MemoryCommandTopic) -> None:
    one, two = start(), start()
    send(one, STREAM)
    wrong = Command("stream/`X`/create", "CREATE STREAM x AS SELECT nothing FROM s;", 1)
    broken = Command("stream/`Y`/create", "SET 'a'='b';", 1)
    for command in (wrong, broken):
        topic.put(command.key, command.value)
    catch_up(two, topic)
    send(two, COPY)
    catch_up(one, topic)
    three = start()
    for service in (one, two, three):
        found = service.status_of("stream/`X`/create")
        assert found is not None
        assert found.status == "ERROR"
        assert "NOTHING" in found.message
        assert service.statuses()["stream/`Y`/create"] == "ERROR"
        assert service.info().status is ServerStatus.RUNNING
    assert one.statuses() == two.statuses() == three.statuses()
    assert shape(one) == shape(two) == shape(three)


# --- what is wrong with the topic


@pytest.mark.parametrize("value", [b"{}", b"no JSON", b"[]", b'{"version":99,"statement":"SHOW STREAMS;"}'])
def test_a_command_that_cannot_be_read_degrades_the_server(
    start: Start, topic: MemoryCommandTopic, value: bytes
) -> None:
    one = start()
    send(one, STREAM + COPY)
    topic.put(b'"stream/`X`/create"', value)
    one._following._thread.join(30)
    for service in (one, start()):
        assert service.info().status is ServerStatus.DEGRADED
        assert not service.health().command_runner
        code, message, _ = code_of(service, "DROP STREAM copy;")
        assert code == 50000
        assert "cannot process further DDL statements" in message
        assert "at offset 4" in message
        (listed,) = send(service, "SHOW QUERIES;")
        assert isinstance(listed, QueriesList)
        assert listed.queries[0].state == "RUNNING"
        assert "DDL" in listed.warnings[0]


def test_a_topic_that_was_made_again_degrades_the_server(start: Start, topic: MemoryCommandTopic) -> None:
    service = start()
    send(service, STREAM)
    topic.delete()
    service._following._thread.join(30)
    assert service.info().status is ServerStatus.DEGRADED
    assert "corruption in the command topic" in code_of(service, COPY)[1]


# --- the end


def test_terminate_ends_the_service_for_good(
    start: Start, topic: MemoryCommandTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "_GRACE_SECONDS", 0.3)
    one, two = start(), start()
    send(one, STREAM + COPY + "CREATE STREAM kept AS SELECT * FROM s;")
    with pytest.raises(ServiceError) as caught:
        one.terminate(["("])
    assert caught.value.code == 40000
    (answer,) = one.terminate(["CO.*"])
    assert isinstance(answer, CurrentStatus)
    assert str(answer.command_id) == "cluster/TerminateCluster/terminate"
    assert one._terminated.wait(30)
    assert two._terminated.wait(30)
    assert one.state is two.state is ServerState.TERMINATED
    assert "COPY" not in one.context.topics.names()
    assert "KEPT" in one.context.topics.names()
    assert not topic.exists
    assert code_of(one, "SHOW STREAMS;")[0] == 50304


def test_a_server_that_comes_after_the_end_ends_too(
    start: Start, topic: MemoryCommandTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "_GRACE_SECONDS", 0)
    send(start(), STREAM)
    command = Command(TERMINATE_ID, TERMINATE_TEXT, properties={DELETE_TOPICS: []})
    topic.put(command.key, command.value)
    assert start().state is ServerState.TERMINATED
    assert not topic.exists


def test_a_server_that_is_not_started_takes_no_requests(topic: MemoryCommandTopic) -> None:
    service = make_service(topic)
    assert service.state is ServerState.INITIALIZING
    assert code_of(service, "SHOW STREAMS;")[0] == 50302
    service.close()
    assert code_of(service, "SHOW STREAMS;")[0] == 50303


# --- headless


def test_headless() -> None:
    queries = FakeQueries()
    text = f"SET 'auto.offset.reset' = 'earliest'; {STREAM} {COPY}"
    service = KsqlService.headless(make_context(), queries, text, "cluster")
    assert [query.id for query in service.context.queries] == ["CSAS_COPY_0"]
    assert next(iter(service.context.queries)).settings["auto.offset.reset"] == "earliest"
    for refused in (
        lambda: service.execute(Request("SHOW STREAMS;")),
        lambda: service.insert_into("s", {}),
        lambda: service.terminate([]),
    ):
        with pytest.raises(ServiceError, match="headless"):
            refused()
    with pytest.raises(ServiceError, match="asked"):
        service.query(Request("SELECT * FROM s;"))
    assert service.info().status is ServerStatus.RUNNING
    assert service.health().is_healthy
    service.close()


@pytest.mark.parametrize(
    "text", ["", "SHOW STREAMS;", f"{STREAM} DROP STREAM s;", "CREATE STREAM x AS SELECT * FROM no;"]
)
def test_files_that_cannot_be_run(text: str) -> None:
    context = make_context()
    with pytest.raises(ServiceError):
        KsqlService.headless(context, FakeQueries(), text)
    assert not list(context.catalogue)
