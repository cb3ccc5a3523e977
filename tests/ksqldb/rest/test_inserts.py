"""Rows that come and acknowledgements that go on one stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from millstream.ksqldb.rest.negotiation import JSON, V1

from .conftest import Ask, Serve
from .http2 import Http2
from .memory import MemoryService

TARGET = b'{"target":"s"}\n'


@pytest.fixture
def connect(serve: Serve, service: MemoryService) -> Iterator[Callable[..., Http2]]:
    """`connect(**settings)`: a connection to a server that has a stream S."""
    service.streams["S"] = []
    connections: list[Http2] = []

    def connect(**settings: object) -> Http2:
        connections.append(Http2(serve(**settings)))
        return connections[-1]

    yield connect
    for connection in connections:
        connection.close()


def ok(number: int) -> dict[str, object]:
    return {"seq": number, "status": "ok"}


def test_rows_and_acknowledgements_at_the_same_time(connect: Callable[..., Http2], service: MemoryService) -> None:
    client = connect()
    stream = client.begin("/inserts-stream")
    client.send(stream, TARGET)
    assert client.status(stream) == 200  # before there is any row
    for number in range(3):
        client.send(stream, b'{"id":%d,"name":"x"}\n' % number)
        assert client.value(stream) == ok(number)
    client.send(stream, b'{"id":3,')
    client.send(stream, b'"NAME":null}\n{"id":4}\n{"id":5}', end=True)
    assert [json.loads(frame) for frame in client.rest(stream)] == [ok(3), ok(4), ok(5)]
    assert service.streams["S"] == [(0, "x"), (1, "x"), (2, "x"), (3, None), (4, None), (5, None)]
    assert service.insertings[0].closed.wait(20)


def test_as_a_json_array(connect: Callable[..., Http2]) -> None:
    client = connect()
    accept = {"accept": JSON}
    for rows, count in ((b"", 0), (b'{"id":1}', 1), (b'{"id":1}\n{"id":2}\n', 2)):
        stream = client.begin("/inserts-stream", TARGET + rows, accept)
        assert json.loads(b"".join(client.rest(stream))) == [ok(number) for number in range(count)]
        assert client.headers[stream]["content-type"] == JSON


@pytest.mark.parametrize(
    ("row", "code", "message"),
    [
        (b"not json", 40000, "JSON is malformed"),
        (b"[1]", 40000, "Expected `object`"),
        (b"", 40000, "truncated"),
        (b'{"name":"x"}', 40000, "Key field must be specified: ID"),
        (b'{"id":1,"name":"lost"}', 50000, "the broker is away"),
        (b'{"id":1,"name":"bug"}', 50000, "consult the server logs"),
        (b'{"id":1,"name":"%s"}' % (b"x" * 2000), 40000, "1000 bytes at most"),
    ],
)
def test_a_row_that_fails_is_the_last(
    connect: Callable[..., Http2], service: MemoryService, row: bytes, code: int, message: str
) -> None:
    client = connect(max_body=1000)
    stream = client.begin("/inserts-stream")
    client.send(stream, TARGET + b'{"id":0}\n')
    assert client.value(stream) == ok(0)
    client.send(stream, row + b'\n{"id":2}\n')
    (last,) = map(json.loads, client.rest(stream))
    assert (last["@type"], last["error_code"], last["seq"], last["status"]) == ("generic_error", code, 1, "error")
    assert message in last["message"]
    assert service.streams["S"] == [(0, None)]
    assert service.insertings[0].closed.wait(20)
    # The connection goes on.
    assert client.status(client.begin("/inserts-stream", TARGET)) == 200


def test_rows_before_one_that_fails_are_acknowledged(connect: Callable[..., Http2]) -> None:
    client = connect()
    rows = b'{"id":0,"name":"late"}\n{"id":1}\n{"id":2,"name":"late"}\n{"name":"no key"}\n{"id":4}\n'
    *oks, last = map(json.loads, client.rest(client.begin("/inserts-stream", TARGET + rows)))
    assert sorted(ack["seq"] for ack in oks) == [0, 1, 2]
    assert (last["seq"], last["error_code"]) == (3, 40000)


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (b"", 40000),
        (b"\n", 40000),
        (b"{}\n", 40000),
        (b'{"target":""}\n', 40000),
        (b'{"target":1}\n', 40000),
        (b'{"target":"nothing"}\n{"id":1}\n', 40001),
    ],
)
def test_a_bad_target_is_an_ordinary_error(connect: Callable[..., Http2], first: bytes, code: int) -> None:
    client = connect()
    stream = client.begin("/inserts-stream", first)
    assert client.status(stream) == 400
    (frame,) = client.rest(stream)
    told = json.loads(frame)
    assert (told["@type"], told["error_code"]) == ("generic_error", code)
    assert "content-type" not in client.headers[stream]


def test_a_target_that_does_not_come(connect: Callable[..., Http2]) -> None:
    client = connect(patience=timedelta(seconds=0.2))
    stream = client.begin("/inserts-stream")
    assert client.status(stream) == 408


def test_there_is_no_limit_to_rows(connect: Callable[..., Http2], service: MemoryService) -> None:
    client = connect(max_body=1000)
    stream = client.begin("/inserts-stream")
    client.send(stream, TARGET)
    for first in range(0, 500, 100):
        client.send(stream, b"".join(b'{"id":%d}\n' % number for number in range(first, first + 100)), end=first == 400)
    assert [json.loads(frame) for frame in client.rest(stream)] == [ok(number) for number in range(500)]


@pytest.mark.parametrize("way", ["reset", "close"])
def test_a_client_that_leaves(connect: Callable[..., Http2], service: MemoryService, way: str) -> None:
    client = connect()
    stream = client.begin("/inserts-stream")
    client.send(stream, TARGET)
    assert client.status(stream) == 200
    if way == "reset":
        client.reset(stream)
    else:
        client.close()
    assert service.insertings[0].closed.wait(20)


def test_only_over_http2(ask: Ask) -> None:
    told = ask("/inserts-stream", TARGET).json()
    assert told["error_code"] == 40004


def test_formats_that_are_not_there(connect: Callable[..., Http2]) -> None:
    client = connect()
    assert client.status(client.begin("/inserts-stream", TARGET, {"accept": V1})) == 406
