"""Queries over real connections: frames, clients that leave, and the end of the server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from millstream.ksqldb.api import AnswerKind, End
from millstream.ksqldb.rest.negotiation import JSON, V1

from ...server.protocols import read_all
from .conftest import Serve
from .http2 import Http2
from .memory import MemoryAnswer, MemoryService

SELECT = b'{"sql":"SELECT","ksql":"SELECT"}'


@pytest.fixture
def answer(service: MemoryService) -> MemoryAnswer:
    service.answers["SELECT"] = answer = MemoryAnswer()
    return answer


@pytest.fixture
def connect(serve: Serve) -> Iterator[Callable[..., Http2]]:
    connections: list[Http2] = []

    def connect(url: str | None = None) -> Http2:
        connections.append(Http2(url or serve()))
        return connections[-1]

    yield connect
    for connection in connections:
        connection.close()


def raw(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def post(path: str, body: bytes, *headers: str, version: str = "1.1") -> bytes:
    lines = (f"POST {path} HTTP/{version}", "host: x", f"content-length: {len(body)}", *headers)
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + body


def read_until(connected: socket.socket, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        more = connected.recv(65536)
        assert more, data
        data += more
    return data


def test_every_row_is_a_frame(connect: Callable[..., Http2], answer: MemoryAnswer) -> None:
    client = connect()
    stream = client.begin("/query-stream", SELECT)
    assert client.status(stream) == 200
    assert client.value(stream)["queryId"] == "q1"
    answer.put((1, "a"), (2, "b"), (3, "c"))
    answer.put((4, "d"))
    assert [client.frame(stream) for _ in range(4)] == [b'[1,"a"]\n', b'[2,"b"]\n', b'[3,"c"]\n', b'[4,"d"]\n']
    answer.finish("Query Completed")
    assert client.rest(stream) == []
    assert answer.closed.wait(20)


def test_every_row_is_a_chunk(serve: Serve, answer: MemoryAnswer) -> None:
    answer.put((1, "a"), (2, "b"))
    answer.finish()
    with raw(serve()) as connected:
        connected.sendall(post("/query-stream", SELECT, "connection: close"))
        said = read_all(connected)
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'\r\n8\r\n[1,"a"]\n\r\n8\r\n[2,"b"]\n\r\n0\r\n\r\n' in said


def test_elements_of_v1_come_with_their_comma(connect: Callable[..., Http2], answer: MemoryAnswer) -> None:
    client = connect()
    stream = client.begin("/query", SELECT, {"accept": V1})
    assert client.frame(stream).endswith(b",\n")
    answer.put((1, "a"))
    assert client.frame(stream) == b'{"row":{"columns":[1,"a"]}},\n'
    answer.finish("Limit Reached")
    assert client.rest(stream) == [b'{"finalMessage":"Limit Reached"}]']


def test_pulls_of_tables_are_put_together(connect: Callable[..., Http2], service: MemoryService) -> None:
    rows = [(number, "x" * 90) for number in range(1000)]
    service.answers["SELECT"] = MemoryAnswer(AnswerKind.TABLE_PULL, rows=rows, end=End())
    client = connect()
    frames = client.rest(client.begin("/query-stream", SELECT, {"accept": V1}))
    assert len(json.loads(b"".join(frames))) == 1001
    assert len(frames) < 50


def test_many_queries_on_one_connection_and_one_is_reset(connect: Callable[..., Http2], service: MemoryService) -> None:
    answers = [MemoryAnswer(query_id=str(number)) for number in range(20)]
    client = connect()
    streams = []
    for number, answer in enumerate(answers):
        service.answers[f"SELECT {number}"] = answer
        streams.append(client.begin("/query-stream", b'{"sql":"SELECT %d"}' % number))
        assert client.value(streams[-1])["queryId"] == str(number)
    client.reset(streams[7])
    assert answers[7].closed.wait(20)
    for answer, stream in zip(answers, streams, strict=True):
        if answer is not answers[7]:
            assert not answer.closed.is_set()
            answer.put((1, "a"))
            assert client.value(stream) == [1, "a"]
    before = threading.active_count()
    client.close()
    for answer in answers:
        assert answer.closed.wait(20)
    assert threading.active_count() <= before


@pytest.mark.parametrize("path", ["/query", "/query-stream"])
def test_a_client_of_http1_that_leaves(serve: Serve, answer: MemoryAnswer, path: str) -> None:
    with raw(serve()) as connected:
        connected.sendall(post(path, SELECT))
        assert b"200 OK" in connected.recv(100)
    assert answer.closed.wait(20)


def test_a_client_that_does_not_read_on(serve: Serve, answer: MemoryAnswer) -> None:
    with raw(serve(patience=timedelta(seconds=0.3))) as connected:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connected.sendall(post("/query-stream", SELECT))
        assert answer.listened.wait(20)
        row = (1, "x" * 100_000)
        for _ in range(600):
            answer.put(row)
            if answer.closed.wait(0.02):
                break
        assert answer.closed.is_set()


def test_close_query_ends_the_answer(connect: Callable[..., Http2], service: MemoryService) -> None:
    service.streams["S"] = []
    client = connect()
    stream = client.begin("/query-stream", b'{"sql":"SELECT * FROM s EMIT CHANGES;"}')
    query_id = client.value(stream)["queryId"]
    assert running(client) == 1.0
    closing = client.begin("/close-query", json.dumps({"queryId": query_id}).encode())
    assert client.status(closing) == 200
    assert client.rest(stream) == []
    assert any(running(client) == 0.0 for _ in range(100))


def running(client: Http2) -> float:
    """How many push queries run, as Prometheus is told."""
    text = b"".join(client.rest(client.begin("/metrics", method="GET"))).decode()
    (line,) = (line for line in text.splitlines() if 'running_answers{kind="PUSH"}' in line)
    return float(line.split()[-1])


def test_print(serve: Serve, connect: Callable[..., Http2], service: MemoryService) -> None:
    url = serve()
    lines = [("Key format: JSON",), ("rowtime: 1",)]
    service.answers["SELECT"] = answer = MemoryAnswer(AnswerKind.PRINT, (), lines)
    client = connect(url)
    stream = client.begin("/query", SELECT)
    assert (client.status(stream), client.rest(stream)) == (405, [])
    assert answer.closed.is_set()
    service.answers["SELECT"] = MemoryAnswer(AnswerKind.PRINT, (), lines)
    with raw(url) as connected:
        connected.sendall(post("/query", SELECT))
        said = read_until(connected, b"\r\n1\r\n\n\r\n")  # an empty line while nothing comes
    assert b"\r\n11\r\nKey format: JSON\n\r\nB\r\nrowtime: 1\n\r\n" in said


def test_http1_0(serve: Serve, answer: MemoryAnswer) -> None:
    with raw(serve()) as connected:
        connected.sendall(post("/query-stream", SELECT, version="1.0"))
        said = read_all(connected)
    assert said.startswith(b"HTTP/1.0 400")
    assert b'"error_code":40000' in said


def test_an_absolute_target(serve: Serve) -> None:
    url = serve()
    with raw(url) as connected:
        connected.sendall(f"GET {url}/info HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        assert read_all(connected).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_body_that_does_not_come(serve: Serve) -> None:
    with raw(serve(patience=timedelta(seconds=0.2))) as connected:
        connected.sendall(post("/ksql", b"", "connection: close").replace(b"length: 0", b"length: 100") + b'{"ksql')
        said = read_all(connected)
    assert said.startswith(b"HTTP/1.1 408")
    assert b'"error_code":40800' in said


def test_web_pages_from_elsewhere(serve: Serve) -> None:
    origin = "origin: https://there"
    ask = f"OPTIONS /ksql HTTP/1.1\r\nhost: x\r\n{origin}\r\naccess-control-request-method: POST\r\n".encode()
    ask += b"access-control-request-headers: authorization\r\nconnection: close\r\n\r\n"
    with raw(serve(allowed_origins=("https://there",), users=(("a", "b"),))) as connected:
        connected.sendall(ask)
        said = read_all(connected).lower()
        assert b" 200 " in said.splitlines()[0]
        assert b"access-control-allow-origin: https://there" in said
    with raw(serve()) as connected:
        connected.sendall(ask)
        assert b"access-control" not in read_all(connected).lower()


def test_the_end_of_the_server_ends_answers(
    connect: Callable[..., Http2], answer: MemoryAnswer, ending: list[Callable[[], None]]
) -> None:
    client = connect()
    stream = client.begin("/query-stream", SELECT, {"accept": JSON})
    assert client.frame(stream)
    close_app, close_server = ending
    close_app()
    assert client.rest(stream) == [b"]"]
    assert answer.closed.wait(20)
    late = client.begin("/query-stream", SELECT)
    assert client.status(late) == 503
    close_server()
