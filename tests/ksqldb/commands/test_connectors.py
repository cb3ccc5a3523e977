"""Statements about connectors in a service: codes, and what a request with several statements does."""

from __future__ import annotations

import pytest
from tests.connect_server import ConnectServer

from millstream.jvm.processes import free_port
from millstream.ksqldb.api import ServiceError
from millstream.ksqldb.service import KsqlService

from .memory import MemoryCommandTopic, make_service, send

CREATE = "CREATE SINK CONNECTOR {} WITH ('connector.class'='F', 'secret.word'='xyz');"
VALIDATE = "PUT /connector-plugins/F/config/validate"


@pytest.fixture
def topic() -> MemoryCommandTopic:
    return MemoryCommandTopic()


@pytest.fixture
def service(topic: MemoryCommandTopic, connect_server: ConnectServer) -> KsqlService:
    connect_server.say("GET /connectors", (200, ["OLD"]))
    connect_server.say(VALIDATE, (200, {"configs": []}))
    connect_server.say("POST /connectors", (201, {"name": "NEW", "config": {}, "tasks": [], "type": "sink"}))
    return make_service(topic, settings={"ksql.connect.url": connect_server.url}).start()


def refusal(service: KsqlService, sql: str, **request: bool) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        send(service, sql, **request)
    return caught.value


def posted(connect_server: ConnectServer) -> int:
    return sum(asked.what == "POST /connectors" for asked in connect_server.asked)


def test_once_and_past_the_command_topic(
    service: KsqlService, topic: MemoryCommandTopic, connect_server: ConnectServer
) -> None:
    (made,) = send(service, CREATE.format("new"))
    assert made.to_json()["@type"] == "connector_info"
    assert "xyz" not in made.statement_text
    assert posted(connect_server) == 1
    assert topic.records == []


def test_all_are_checked_before_the_first_is_executed(service: KsqlService, connect_server: ConnectServer) -> None:
    error = refusal(service, CREATE.format("new") + CREATE.format("old"))
    assert (error.code, error.status, error.primary) == (40900, 409, "Connector OLD already exists")
    assert error.statement is None  # told as generic_error
    connect_server.say(VALIDATE, (200, {"configs": [{"value": {"name": "a", "errors": ["bad"]}}]}))
    error = refusal(service, CREATE.format("new"))
    assert (error.code, error.primary) == (40000, "Validation error: a - bad")
    assert posted(connect_server) == 0


def test_codes_are_connects(service: KsqlService, connect_server: ConnectServer) -> None:
    connect_server.say("POST /connectors", (422, {"message": "no"}))
    error = refusal(service, CREATE.format("new"))
    assert (error.code, error.status) == (42200, 422)
    error = refusal(service, "DROP CONNECTOR c;")
    assert (error.code, error.statement) == (40400, None)
    connect_server.say("GET /connectors", (403, {"message": "not you"}))
    error = refusal(service, CREATE.format("new"))
    assert (error.code, error.primary) == (50000, 'Failed to check if connector exists: {"message": "not you"}')
    assert error.statement is not None
    assert "xyz" not in error.statement


def test_nothing_answers(topic: MemoryCommandTopic) -> None:
    service = make_service(topic, settings={"ksql.connect.url": f"http://127.0.0.1:{free_port()}"}).start()
    error = refusal(service, "SHOW CONNECTORS;")
    assert (error.code, error.statement) == (50000, "SHOW CONNECTORS;")


def test_one_who_only_looks(service: KsqlService, connect_server: ConnectServer) -> None:
    connect_server.has("OLD", {"connector.class": "F"}, "sink", "RUNNING", [])
    assert len(send(service, "SHOW CONNECTORS; DESCRIBE CONNECTOR old;", may_change=False)) == 2
    for statement in (CREATE.format("new"), "DROP CONNECTOR old;"):
        assert refusal(service, statement, may_change=False).code == 40300
