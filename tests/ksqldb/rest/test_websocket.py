"""Rows as frames of a websocket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import pytest

from millstream.errors import MillstreamError
from millstream.ksqldb.api import AnswerKind, End, Row, ServerState, ServiceError
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import INTEGER, STRING, Field, SqlArray, SqlDecimal, SqlStruct

from .conftest import Serve
from .memory import MemoryAnswer, MemoryService

pytest.importorskip("websockets", reason="the package websockets is not installed")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

Open = Callable[..., ClientConnection]


@pytest.fixture
def open_socket(serve: Serve) -> Iterator[Open]:
    """`open_socket(sql)`: a websocket that asks for it; `query=` for another query of the URL."""
    stack = ExitStack()
    urls: list[str] = []

    def open_socket(sql: str = "SELECT", *, query: str | None = None, **options: Any) -> ClientConnection:
        if not urls:
            urls.append(serve(**options).replace("http", "ws", 1))
        query = query or f"request={quote(json.dumps({'ksql': sql, 'streamsProperties': {}}))}&version=1"
        return stack.enter_context(connect(f"{urls[0]}/ws/query?{query}", open_timeout=20, close_timeout=5))

    with stack:
        yield open_socket


def read(socket: ClientConnection) -> list[Any]:
    """All frames until the end, and how it was closed."""
    found: list[Any] = []
    while True:
        try:
            found.append(json.loads(socket.recv(timeout=20)))
        except ConnectionClosed as closed:
            end = closed.rcvd
            return [*found, None if end is None else (end.code, end.reason)]


def test_rows(open_socket: Open, service: MemoryService) -> None:
    columns = (
        Column("ID", INTEGER),
        Column("P", SqlStruct((Field("X", SqlDecimal(4, 2)), Field("Y", SqlArray(STRING))))),
    )
    service.answers["SELECT"] = answer = MemoryAnswer(columns=columns, keys=("ID",))
    socket = open_socket()
    plain = {"fields": None, "memberSchema": None}
    array = {"type": "ARRAY", "fields": None, "memberSchema": {"type": "STRING", **plain}}
    decimal = {"type": "DECIMAL", **plain, "parameters": {"precision": 4, "scale": 2}}
    fields = [{"name": "X", "schema": decimal}, {"name": "Y", "schema": array}]
    assert json.loads(socket.recv(timeout=20)) == [
        {"name": "ID", "schema": {"type": "INTEGER", **plain}},
        {"name": "P", "schema": {"type": "STRUCT", "fields": fields, "memberSchema": None}},
    ]
    answer.put((1, None), Row((1, None), is_tombstone=True), (2, {"X": None, "Y": ["a"]}))
    assert json.loads(socket.recv(timeout=20)) == {"row": {"columns": [1, None]}}
    assert json.loads(socket.recv(timeout=20)) == {"row": {"columns": [2, {"X": None, "Y": ["a"]}]}}
    answer.finish("Limit Reached")
    assert read(socket) == [{"error": "done"}, (1000, "done")]
    assert answer.closed.wait(20)


def test_pulls_tell_keys(open_socket: Open, service: MemoryService) -> None:
    service.answers["SELECT"] = MemoryAnswer(AnswerKind.TABLE_PULL, rows=[(1, "x")], end=End(), keys=("ID",))
    schema, row, end, closed = read(open_socket())
    assert [field.get("type") for field in schema] == ["KEY", None]
    assert (row, end, closed) == ({"row": {"columns": [1, "x"]}}, {"error": "done"}, (1000, "done"))


def test_print(open_socket: Open, service: MemoryService) -> None:
    lines = [("Key format: JSON",), ("rowtime: 1",)]
    service.answers["PRINT t"] = MemoryAnswer(AnswerKind.PRINT, (), lines, End())
    assert read(open_socket("PRINT t")) == ["rowtime: 1", {"error": "done"}, (1000, "done")]


def test_a_client_that_leaves(open_socket: Open, service: MemoryService) -> None:
    service.answers["SELECT"] = answer = MemoryAnswer()
    socket = open_socket()
    assert socket.recv(timeout=20)
    socket.socket.close()
    assert answer.closed.wait(20)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ServiceError(40001, "Syntax error", statement="SELECT"), 1003),
        (ServiceError(40301, "Kafka said no"), 1003),
        (ServiceError(50301, "not yet"), 1013),
        (ServiceError(50000, "broken"), 1011),
    ],
)
def test_refusals(open_socket: Open, service: MemoryService, error: ServiceError, code: int) -> None:
    service.answers["SELECT"] = error
    assert read(open_socket()) == [{"error": error.primary}, (code, error.primary)]


def test_an_error_after_rows(open_socket: Open, service: MemoryService) -> None:
    end = End(error=MillstreamError("it broke " + "\u00fc" * 100))
    service.answers["SELECT"] = MemoryAnswer(rows=[(1, "x")], end=end)
    _, row, error, closed = read(open_socket())
    assert row == {"row": {"columns": [1, "x"]}}
    assert error == {"error": "it broke " + "\u00fc" * 100}
    assert closed == (1011, "it broke " + "\u00fc" * 57)


def test_an_unforeseen_failure_hides_its_cause(
    open_socket: Open, service: MemoryService, caplog: pytest.LogCaptureFixture
) -> None:
    service.answers["SELECT"] = RuntimeError("secret")
    error, closed = read(open_socket())
    assert "secret" not in error["error"]
    assert closed[0] == 1011
    assert "secret" in caplog.text


@pytest.mark.parametrize(
    "query", ["x=1", "request=", "request=%7B", "request=%ff", "request=%7B%7D", "request=[1]", "request={}&version=9"]
)
def test_bad_requests(open_socket: Open, query: str) -> None:
    error, closed = read(open_socket(query=query))
    assert error["error"]
    assert closed[0] == 1003


def test_a_service_that_is_not_ready(open_socket: Open, service: MemoryService) -> None:
    service.state = ServerState.INITIALIZING
    _, closed = read(open_socket())
    assert closed[0] == 1013


def test_authentication(serve: Serve, service: MemoryService) -> None:
    url = serve(users=(("me", "word"),)).replace("http", "ws", 1) + "/ws/query?request=" + quote('{"ksql":"SELECT"}')
    with pytest.raises(InvalidStatus), connect(url):
        pass
    service.answers["SELECT"] = MemoryAnswer(end=End())
    with connect(url, additional_headers={"authorization": "Basic bWU6d29yZA=="}) as socket:
        assert read(socket)[-1] == (1000, "done")


def test_other_paths(serve: Serve) -> None:
    with pytest.raises(InvalidStatus), connect(serve().replace("http", "ws", 1) + "/ws/nothing"):
        pass
