"""Every path: what it answers, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import MillstreamError
from millstream.ksqldb.api import Request, ServerState, ServiceError
from millstream.ksqldb.rest.documentation import description
from millstream.ksqldb.rest.errors import restate
from millstream.ksqldb.rest.negotiation import DELIMITED, V1
from millstream.server.problems import Problem
from millstream.server.settings import ServerSettings

from ...server.asgi import Reply
from .conftest import Ask
from .memory import MemoryAnswer, MemoryService


def generic(code: int, message: str) -> dict[str, Any]:
    return {"@type": "generic_error", "error_code": code, "message": message}


def refused(reply: Reply, code: int, *, typed: bool = False) -> dict[str, Any]:
    """What a refusal says, after its status and headers were checked."""
    told: dict[str, Any] = reply.json()
    assert (reply.status, told["error_code"]) == (code // 100, code), told
    assert told["message"]
    assert reply.headers.get("content-type") == ("application/json" if typed else None)
    return told


# --- statements


def test_statements_answer_entities(ask: Ask, service: MemoryService) -> None:
    reply = ask(
        "/ksql", {"ksql": "CREATE STREAM s (id INT) WITH (x='y'); INSERT INTO s VALUES (1, 'a'); LIST STREAMS;"}
    )
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    created, listed = reply.json()
    assert created == {
        "@type": "currentStatus",
        "statementText": "CREATE STREAM s (id INT) WITH (x='y');",
        "warnings": [],
        "commandId": "stream/`S`/create",
        "commandStatus": {"status": "SUCCESS", "message": "Stream created", "queryId": None},
        "commandSequenceNumber": 1,
    }
    assert listed["streams"][0]["keyFormat"] == "KAFKA"
    assert service.streams == {"S": [(1, "a")]}
    assert ask("/ksql", {"ksql": "INSERT INTO s VALUES (2, 'b');"}).json() == []


def test_what_a_request_says_reaches_the_service(ask: Ask, service: MemoryService) -> None:
    sent = {
        "ksql": "LIST STREAMS;",
        "streamsProperties": {"auto.offset.reset": "earliest", "n": 1},
        "sessionVariables": {"a": "x", "b": 1, "c": True},
        "commandSequenceNumber": 7,
        "requestProperties": {"request.ksql.debug.request": True},
        "unknown": [],
    }
    ask("/ksql", sent)
    ask("/ksql", {"ksql": "LIST STREAMS;", "streamsProperties": None, "commandSequenceNumber": -1})
    ask("/query", {**sent, "ksql": "SELECT 1"})
    ask(
        "/query-stream",
        {"sql": "SELECT 1", "properties": {"p": 1}, "sessionVariables": {}, "streamsProperties": {"no": 1}},
    )
    first = Request(
        "LIST STREAMS;",
        {"auto.offset.reset": "earliest", "n": 1},
        {"a": "x", "b": "1", "c": "true"},
        7,
        {"request.ksql.debug.request": True},
    )
    query = Request("SELECT 1", first.properties, first.variables, 7, first.request_properties)
    assert service.requests == [first, Request("LIST STREAMS;"), query, Request("SELECT 1", {"p": 1})]


def test_statement_errors(ask: Ask) -> None:
    assert refused(ask("/ksql", {"ksql": "NONSENSE;"}), 40001, typed=True) == {
        "@type": "statement_error",
        "error_code": 40001,
        "message": "line 1:1: Syntax error: NONSENSE;",
        "statementText": "NONSENSE;",
        "entities": [],
    }
    assert refused(ask("/ksql", {"ksql": "SELECT 1;"}), 40002, typed=True)["statementText"] == "SELECT 1;"
    assert refused(ask("/query-stream", {"sql": "NONSENSE;"}), 40001)["@type"] == "statement_error"
    assert refused(ask("/query", {"ksql": "NONSENSE;"}), 40001)["@type"] == "statement_error"


@pytest.mark.parametrize("code", [40003, 40301, 41700, 42801, 42900, 50000, 50301])
def test_codes_of_the_service(ask: Ask, service: MemoryService, code: int) -> None:
    service.entities["X;"] = service.answers["X"] = ServiceError(code, "no", detail="where", hint="what to do")
    told = refused(ask("/ksql", {"ksql": "X;"}), code, typed=True)
    assert told == generic(code, "no\n  detail: where\n  hint:   what to do")
    refused(ask("/query-stream", {"sql": "X;"}), code)


@pytest.mark.parametrize("error", [RuntimeError("secret"), MillstreamError("secret")])
def test_unforeseen_failures_hide_their_cause(
    ask: Ask, service: MemoryService, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    service.entities["X;"] = service.answers["X"] = error
    for path, body in (("/ksql", {"ksql": "X;"}), ("/query-stream", {"sql": "X;"})):
        reply = ask(path, body)
        refused(reply, 50000)
        assert b"secret" not in reply.body


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ksql", b""),
        ("/ksql", b"{"),
        ("/ksql", b"[" * 100_000),
        ("/ksql", b"\xff\xfe"),
        ("/ksql", b'{"ksql":"\\ud800"}'),
        ("/ksql", {}),
        ("/ksql", []),
        ("/ksql", {"ksql": None}),
        ("/ksql", {"ksql": " "}),
        ("/ksql", {"ksql": 1}),
        ("/ksql", {"ksql": "LIST STREAMS;", "streamsProperties": []}),
        ("/ksql", {"ksql": "LIST STREAMS;", "commandSequenceNumber": "one"}),
        ("/ksql", {"ksql": "LIST STREAMS;", "commandSequenceNumber": 1e300}),
        ("/query", {"sql": "SELECT 1"}),
        ("/query-stream", {"ksql": "SELECT 1"}),
        ("/query-stream", {"sql": ""}),
        ("/close-query", {}),
        ("/close-query", {"queryId": "nothing"}),
        ("/ksql/terminate", {"deleteTopicList": "all"}),
    ],
)
def test_bad_requests(ask: Ask, path: str, body: Any) -> None:
    assert refused(ask(path, body), 40000)["@type"] == "generic_error"


def test_terminate(ask: Ask, service: MemoryService) -> None:
    refused(ask("/ksql/terminate", {"deleteTopicList": ["["]}), 40000, typed=True)
    reply = ask("/ksql/terminate", {"deleteTopicList": ["a", "b.*"]})
    assert (reply.status, reply.json(), service.terminated_with) == (200, [], ["a", "b.*"])
    refused(ask("/info"), 50303)


def test_close_query(ask: Ask, service: MemoryService) -> None:
    answer = MemoryAnswer()
    service.running["q1"] = ("S", answer)
    reply = ask("/close-query", {"queryId": "q1"})
    assert (reply.status, reply.body) == (200, b"")
    assert answer.end is not None
    assert refused(ask("/close-query", {"queryId": "q1"}), 40000) == generic(40000, "No query with id q1")


# --- about commands and the server


def test_status(ask: Ask) -> None:
    assert ask("/status").json() == {"commandStatuses": {"stream/`S`/create": "SUCCESS"}}
    expected = {"status": "SUCCESS", "message": "Stream created", "queryId": "CSAS_1"}
    for path in ("/status/stream/`S`/create", "/status/stream/%60S%60/create", "/status/STREAM/`S`/CREATE"):
        assert ask(path).json() == expected
    assert refused(ask("/status/stream/`T`/create"), 40400, typed=True) == generic(40400, "Command not found")
    assert ask("/status/stream").status == 404


def test_root_info_and_metadata(ask: Ask) -> None:
    root = ask("/")
    assert (root.status, root.headers["location"]) == (307, "/info")
    assert ask("/info", headers={"accept": V1}).json() == {
        "KsqlServerInfo": {
            "version": "0.29.0",
            "kafkaClusterId": "cluster",
            "ksqlServiceId": "default_",
            "serverStatus": "RUNNING",
        }
    }
    cluster = {"id": "", "scope": {"path": [], "clusters": {"kafka-cluster": "cluster", "ksql-cluster": "default_"}}}
    assert ask("/v1/metadata").json() == {"version": "0.29.0", "clusterId": cluster}
    assert ask("/v1/metadata/id").json() == cluster


def test_health_is_asked_for_once_in_a_while(ask: Ask, service: MemoryService) -> None:
    for _ in range(3):
        reply = ask("/healthcheck")
        assert reply.status == 200
        assert reply.json() == {
            "isHealthy": False,
            "details": {
                "metastore": {"isHealthy": True},
                "kafka": {"isHealthy": False},
                "commandRunner": {"isHealthy": True},
            },
            "serverState": "READY",
        }
    assert service.health_asked == 1


def test_properties(ask: Ask) -> None:
    reply = ask("/is_valid_property/auto.offset.reset")
    assert (reply.status, reply.body) == (200, b"true")
    refused(ask("/is_valid_property/nothing"), 40000, typed=True)


@pytest.mark.parametrize("path", ["/clusterStatus", "/heartbeat", "/lag"])
def test_what_servers_tell_each_other_is_switched_off(ask: Ask, path: str) -> None:
    reply = ask(path, method="GET" if path == "/clusterStatus" else "POST")
    assert (reply.status, reply.body) == (404, b"")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/nothing"), ("GET", "/ksql"), ("POST", "/info"), ("DELETE", "/"), ("GET", "/info/")]
)
def test_unknown_paths_and_methods(ask: Ask, method: str, path: str) -> None:
    reply = ask(path, method=method)
    assert (reply.status, reply.body) == (404, b"Not Found")
    assert reply.headers["content-type"].startswith("text/plain")


def test_formats_that_are_not_there(ask: Ask) -> None:
    for path, body in (("/ksql", {"ksql": "X;"}), ("/info", None)):
        reply = ask(path, body, headers={"accept": DELIMITED})
        assert (reply.status, reply.body) == (406, b"")
    assert ask("/query-stream", {"sql": "X"}, headers={"accept": "blahblah"}).status == 404


@pytest.mark.parametrize(
    ("state", "code"),
    [(ServerState.INITIALIZING, 50302), (ServerState.TERMINATING, 50303), (ServerState.TERMINATED, 50304)],
)
def test_states(ask: Ask, service: MemoryService, state: ServerState, code: int) -> None:
    service.state = state
    for path in ("/info", "/healthcheck", "/nothing", "/v1/metadata"):
        refused(ask(path), code)
    refused(ask("/ksql", {"ksql": "LIST STREAMS;"}), code)
    assert ask("/chc/ready").json() == ask("/chc/live").json() == {}
    assert ask("/metrics").status == 200


# --- authentication


def test_authentication(ask: Ask, service: MemoryService) -> None:
    settings = ServerSettings(tokens=("0123456789abcdef",), users=(("me", "pass:word"),))
    good = ("Bearer 0123456789abcdef", "Basic bWU6cGFzczp3b3Jk", "basic bWU6cGFzczp3b3Jk")
    bad = ("Bearer x", "Basic bWU6d3Jvbmc=", "Basic !!", "Basic", "x", "Bearer bWU6cGFzczp3b3Jk")
    for given in good:
        assert ask("/info", headers={"authorization": given}, settings=settings).status == 200
    for given in bad:
        reply = ask("/info", headers={"authorization": given}, settings=settings)
        refused(reply, 40100)
        assert reply.headers["www-authenticate"] == 'Basic realm="millstream", Bearer'
    refused(ask("/nothing", settings=settings), 40100)
    refused(ask("/metrics", settings=settings), 40100)
    service.state = ServerState.TERMINATING
    refused(ask("/info", settings=settings), 40100)  # who is not known is not told of states either
    service.state = ServerState.READY
    for path in ("/v1/metadata", "/v1/metadata/id", "/healthcheck", "/chc/ready", "/openapi.json"):
        assert ask(path, settings=settings).status == 200


# --- limits, metrics, description


def test_limits(ask: Ask) -> None:
    settings = ServerSettings(max_body=100, max_url=50)
    refused(ask("/ksql", {"ksql": "x" * 200}, settings=settings), 41300)
    refused(ask("/status/" + "x" * 60, settings=settings), 41400)


def test_a_server_that_has_too_much_to_do_says_when_to_come_back() -> None:
    problem = restate(Problem(503, "Busy", "the server has too much to do", headers={"retry-after": "1"}))
    assert (problem.status, problem.body()) == (503, generic(50000, "the server has too much to do"))
    assert problem.headers == {"retry-after": "1"}


def test_metrics(ask: Ask, service: MemoryService) -> None:
    ask("/info")
    ask("/status/stream/`T`/create")
    ask("/nothing")
    ask("/query-stream", {"sql": "NONSENSE"})
    text = ask("/metrics").body.decode()
    assert 'millstream_ksqldb_query_state{query="CTAS_C_1",state="ERROR"} 1.0' in text
    assert 'millstream_ksqldb_query_processed_records_total{query="CTAS_C_1"} 7.0' in text
    assert 'millstream_ksqldb_query_dropped_records_total{query="CTAS_C_1"} 2.0' in text
    assert 'millstream_ksqldb_query_lag{query="CTAS_C_1"} 3.0' in text
    for path, code in (("/info", 200), ("/status/{command:path}", 404), ("other", 404), ("/query-stream", 400)):
        assert f'millstream_ksqldb_requests_total{{code="{code}",path="{path}"}} 1.0' in text


def test_the_description_knows_every_path(ask: Ask) -> None:
    described = ask("/openapi.json").json()
    assert described == description(described["info"]["version"])
    for path, operations in described["paths"].items():
        for method in operations:
            asked = path.replace("{", "").replace("}", "")
            reply = ask(asked, method=method.upper())
            assert reply.body != b"Not Found", path
