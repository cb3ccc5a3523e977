"""Statements about connectors: what Kafka Connect is asked, and what becomes of its answers.

A real worker is asked in tests/ksqldb/system; here are answers that it gives rarely.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.connect_server import ConnectServer

from millstream.jvm.processes import free_port
from millstream.sql.engine.api import Ksql
from millstream.sql.errors import ConnectorError, StatementError

JDBC = "io.confluent.connect.jdbc.JdbcSourceConnector"
CREATE = "CREATE SINK CONNECTOR c WITH ('connector.class'='F', 'file'='/x', 'tasks.max'=2, 'wanted'=true);"
CONFIG = {"connector.class": "F", "file": "/x", "tasks.max": "2", "wanted": "true", "name": "C"}
VALIDATE = "PUT /connector-plugins/F/config/validate"


@pytest.fixture
def ksql(connect_server: ConnectServer) -> Ksql:
    return Ksql.in_memory({"ksql.connect.url": connect_server.url})


def ask(ksql: Ksql, statement: str) -> dict[str, Any]:
    (entity,) = ksql.execute(statement)
    return entity.to_json()


def refusal(ksql: Ksql, statement: str) -> tuple[int, str]:
    with pytest.raises(StatementError) as caught:
        ksql.execute(statement)
    reason = caught.value.__cause__
    assert isinstance(reason, ConnectorError)
    return reason.status, caught.value.primary


def checks(name: str, *errors: str) -> dict[str, Any]:
    fine = {"definition": {"name": "fine"}, "value": {"name": "fine", "value": None, "errors": []}}
    return {"name": "F", "error_count": len(errors), "configs": [fine, {"value": {"name": name, "errors": errors}}]}


def made(config: dict[str, str]) -> dict[str, Any]:
    return {"name": "C", "config": config, "tasks": [], "type": "sink"}


def test_created(ksql: Ksql, connect_server: ConnectServer) -> None:
    connect_server.say("GET /connectors", (200, ["other"]))
    connect_server.say(VALIDATE, (200, checks("file")))
    connect_server.say("POST /connectors", (201, made({**CONFIG, "connection.password": "xyz"})))
    info = {**made({**CONFIG, "connection.password": "[hidden]"})}
    assert ask(ksql, CREATE) == {"@type": "connector_info", "statementText": CREATE, "warnings": [], "info": info}
    assert [(asked.what, asked.content) for asked in connect_server.asked] == [
        ("GET /connectors", None),
        (VALIDATE, CONFIG),
        ("POST /connectors", {"name": "C", "config": CONFIG}),
    ]


def test_it_exists(ksql: Ksql, connect_server: ConnectServer) -> None:
    connect_server.say("GET /connectors", (200, ["c"]))  # made by REST; names are compared in any case
    connect_server.say(VALIDATE, (200, checks("file")))
    assert refusal(ksql, CREATE) == (409, "Connector C already exists")
    found = ask(ksql, CREATE.replace("CONNECTOR c", "CONNECTOR IF NOT EXISTS c"))
    assert (found["@type"], found["message"]) == ("warning_entity", "Connector C already exists")
    assert not [asked for asked in connect_server.asked if asked.what == "POST /connectors"]


def test_validation(ksql: Ksql, connect_server: ConnectServer) -> None:
    connect_server.say("GET /connectors", (200, []))
    connect_server.say(VALIDATE, (200, checks("file", "Missing", "Must be one")))
    assert refusal(ksql, CREATE) == (400, "Validation error: file - Missing. Must be one")
    connect_server.say(VALIDATE, (400, {"message": "no such class"}))
    assert refusal(ksql, CREATE) == (400, 'Validation error: {"message": "no such class"}')
    for given, problem in (("a=1", "Connector config contains no"), ("'connector.class'=' '", "Connector type cannot")):
        status, message = refusal(ksql, f"CREATE SOURCE CONNECTOR c WITH ({given});")
        assert (status, message.startswith(f"Validation error: {problem}")) == (400, True)


def test_properties_are_texts(ksql: Ksql) -> None:
    with pytest.raises(StatementError, match="property a of a connector cannot be NULL"):
        ksql.execute("CREATE SOURCE CONNECTOR c WITH ('connector.class'='F', 'a'=NULL);")


def test_refused_at_last(ksql: Ksql, connect_server: ConnectServer) -> None:
    connect_server.say("GET /connectors", (200, []))
    connect_server.say(VALIDATE, (200, checks("file")))
    connect_server.say("POST /connectors", (403, {"message": "not you"}))
    assert refusal(ksql, CREATE) == (403, 'Failed to create connector: {"message": "not you"}')


def test_the_key_of_a_jdbc_source(ksql: Ksql, connect_server: ConnectServer) -> None:
    connect_server.say("GET /connectors", (200, []))
    connect_server.say(f"PUT /connector-plugins/{JDBC}/config/validate", (200, checks("x")))
    connect_server.say("POST /connectors", (201, made({})))
    ksql.execute(f"CREATE SOURCE CONNECTOR c WITH ('connector.class'='{JDBC}', 'key'='id', 'transforms'='mine');")
    config = connect_server.asked[-1].content["config"]
    assert config["tasks.max"] == "1"
    first, second, third = config["transforms"].split(",")
    assert first == "mine"
    assert config[f"transforms.{second}.type"].endswith(".ValueToKey")
    assert config[f"transforms.{second}.fields"] == config[f"transforms.{third}.field"] == "id"
    assert "key" not in config


@pytest.mark.parametrize(
    ("state", "tasks", "shown"),
    [
        ("RUNNING", ["RUNNING", "FAILED"], "RUNNING (1/2 tasks RUNNING)"),
        ("RUNNING", ["FAILED"], "WARNING (0/1 tasks RUNNING)"),
        ("RUNNING", [], "RUNNING (0/0 tasks RUNNING)"),
        ("PAUSED", ["PAUSED"], "PAUSED"),
    ],
)
def test_states(ksql: Ksql, connect_server: ConnectServer, state: str, tasks: list[str], shown: str) -> None:
    connect_server.has("c", {"connector.class": "F"}, "sink", state, tasks)
    listed = [{"name": "c", "type": "sink", "className": "F", "state": shown}]
    for kind in ("", "SINK"):
        assert ask(ksql, f"SHOW {kind} CONNECTORS;")["connectors"] == listed
    assert ask(ksql, "LIST SOURCE CONNECTORS;")["connectors"] == []


def test_a_list_with_gaps(ksql: Ksql, connect_server: ConnectServer) -> None:
    connect_server.has("new", {"connector.class": "F"}, "source", "RUNNING", [])
    connect_server.say("GET /connectors", (200, ["gone", "new"]))
    connect_server.say("GET /connectors/new/status", (404, {"message": "No status found"}))
    found = ask(ksql, "SHOW CONNECTORS;")
    assert found["connectors"] == [
        {"name": "gone", "type": "unknown"},
        {"name": "new", "type": "source", "className": "F"},
    ]
    gone, new = (warning["message"] for warning in found["warnings"])
    assert gone.startswith('Could not describe connector gone: {"error_code": 404')
    assert new == 'Could not query the status of connector new: {"message": "No status found"}'
    assert ask(ksql, "SHOW SINK CONNECTORS;")["connectors"] == []


def test_described(ksql: Ksql, connect_server: ConnectServer) -> None:
    ksql.execute("CREATE STREAM rows (id INT KEY, v INT) WITH (kafka_topic='db-rows', value_format='JSON');")
    connect_server.has("C", {"connector.class": JDBC}, "source", "RUNNING", ["RUNNING"])
    connect_server.say("GET /connectors/C/topics", (200, {"C": {"topics": ["db-rows", "db-more"]}}))
    found = ask(ksql, "DESCRIBE CONNECTOR c;")
    assert found["@type"] == "connector_description"
    assert found["connectorClass"] == JDBC
    assert found["status"] == {  # without what ksqlDB does not know (version), and without nulls
        "name": "C",
        "connector": {"state": "RUNNING", "worker_id": "w:1"},
        "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "w:1"}],
        "type": "source",
    }
    assert [source["name"] for source in found["sources"]] == ["ROWS"]
    assert found["topics"] == ["db-rows", "db-more"]
    connect_server.say("GET /connectors/C/topics", (403, {"message": "switched off"}))
    found = ask(ksql, "DESCRIBE CONNECTOR c;")
    assert (found["topics"], found["sources"]) == ([], [])
    assert found["warnings"] == [{"message": 'Could not list related topics due to error: {"message": "switched off"}'}]
    connect_server.say("GET /connectors/C/topics", (404, {"message": "unknown"}))
    assert ask(ksql, "DESCRIBE CONNECTOR c;")["warnings"] == []


def test_not_there(ksql: Ksql, connect_server: ConnectServer) -> None:
    status, message = refusal(ksql, "DESCRIBE CONNECTOR c;")
    assert (status, message.startswith("Failed to query connector status: {")) == (404, True)
    status, message = refusal(ksql, "DROP CONNECTOR c;")
    assert (status, message.startswith("Failed to drop connector: {")) == (404, True)
    found = ask(ksql, "DROP CONNECTOR IF EXISTS c;")
    assert (found["@type"], found["message"]) == ("warning_entity", "Connector 'C' does not exist.")
    connect_server.has("C", {}, "sink", "RUNNING", [])
    connect_server.say("GET /connectors/C", (401, {"message": "who are you?"}))
    assert refusal(ksql, "DESCRIBE CONNECTOR c;") == (401, 'Failed to describe connector: {"message": "who are you?"}')


def test_dropped(ksql: Ksql, connect_server: ConnectServer) -> None:
    connect_server.say("DELETE /connectors/C", (204, None))
    found = ask(ksql, "DROP CONNECTOR c;")
    assert (found["@type"], found["connectorName"]) == ("drop_connector", "C")


def test_lists_that_fail(ksql: Ksql, connect_server: ConnectServer) -> None:
    for statement, path, doing in (
        ("SHOW CONNECTORS;", "connectors", "list connectors"),
        ("SHOW CONNECTOR PLUGINS;", "connector-plugins", "list connector plugins"),
    ):
        connect_server.say(f"GET /{path}", (403, {"message": "no"}))
        assert refusal(ksql, statement) == (403, f'Failed to {doing}: {{"message": "no"}}')


def test_plugins(ksql: Ksql, connect_server: ConnectServer) -> None:
    connect_server.say("GET /connector-plugins", (200, [{"class": "F", "type": "sink", "version": "1.0"}]))
    assert ask(ksql, "LIST CONNECTOR PLUGINS;") == {
        "@type": "connector_plugins_list",
        "statementText": "LIST CONNECTOR PLUGINS;",
        "warnings": [],
        "connectorsPlugins": [{"className": "F", "type": "sink", "version": "1.0"}],
    }


def test_nothing_answers() -> None:
    ksql = Ksql.in_memory({"ksql.connect.url": f"http://127.0.0.1:{free_port()}"})
    for statement in (CREATE, "SHOW CONNECTORS;", "DESCRIBE CONNECTOR c;", "DROP CONNECTOR c;"):
        with pytest.raises(StatementError, match="Kafka Connect does not answer at"):
            ksql.execute(statement)
