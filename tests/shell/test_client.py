"""The client speaks ksqlDB's protocol, and says what is wrong with servers that do not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.certificates import make_certificate

from millstream.errors import ArgumentError
from millstream.ksqldb.api import AnswerKind, End, Row, ServiceError
from millstream.server.settings import Tls
from millstream.shell.client import Credentials, KsqlClient
from millstream.shell.errors import NoServer, ServerRefused

from ..ksqldb.rest.memory import MemoryAnswer, MemoryService

TOKEN = "0123456789abcdef0"  # noqa: S105 - of a test


def test_statements_are_sent_with_the_session(client: KsqlClient, service: MemoryService) -> None:
    (entity,) = client.execute("CREATE STREAM s (id INT);", {"auto.offset.reset": "earliest"}, {"a": "1"}, after=3)
    assert entity["commandStatus"]["message"] == "Stream created"
    (request,) = service.requests
    assert request.sql == "CREATE STREAM s (id INT);"
    assert request.properties == {"auto.offset.reset": "earliest"}
    assert request.variables == {"a": "1"}
    assert request.after == 3


def test_rows_come_one_by_one_and_closing_ends_the_query(client: KsqlClient, service: MemoryService) -> None:
    answer = service.answers["SELECT * FROM s EMIT CHANGES"] = MemoryAnswer()
    found = client.query("SELECT * FROM s EMIT CHANGES;")
    _, element = next(found)
    assert element.header is not None
    assert element.header.schema == "`ID` INTEGER, `NAME` STRING"
    answer.put((1, "a"))
    text, element = next(found)
    assert text == '{"row":{"columns":[1,"a"]}}'
    answer.put(Row((1, None), is_tombstone=True))
    _, element = next(found)
    assert element.row is not None
    assert element.row.tombstone
    found.close()
    assert answer.closed.wait(10)


def test_a_query_that_ends_says_so(client: KsqlClient, service: MemoryService) -> None:
    service.answers["SELECT 1"] = MemoryAnswer(rows=[(1, "a")], end=End("Limit Reached"))
    assert [element.final_message for _, element in client.query("SELECT 1;")] == [None, None, "Limit Reached"]
    service.answers["SELECT 2"] = MemoryAnswer(AnswerKind.TABLE_PULL, rows=[(1, "a"), (2, "b")], end=End())
    rows = [element.row for _, element in client.query("SELECT 2;")]
    assert [row and [bytes(value) for value in row.columns] for row in rows] == [None, [b"1", b'"a"'], [b"2", b'"b"']]


def test_a_query_that_fails(client: KsqlClient, service: MemoryService) -> None:
    service.answers["SELECT 1"] = MemoryAnswer(end=End(error=ServiceError(50000, "the broker is away")))
    with pytest.raises(ServerRefused, match="the broker is away"):
        list(client.query("SELECT 1;"))


def test_the_place_of_a_mistake_is_marked(client: KsqlClient, service: MemoryService) -> None:
    service.entities["SHOW\n NOTHING;"] = ServiceError(40001, "line 2:2: Syntax Error", statement="SHOW\n NOTHING;")
    with pytest.raises(ServerRefused) as caught:
        client.execute("SHOW\n NOTHING;")
    assert caught.value.primary == "line 2:2: Syntax Error"
    assert caught.value.code == 40001
    assert caught.value.detail == "here:\n     NOTHING;\n     ^"


def test_what_a_server_says_beyond_ksqldb_is_kept_apart(client: KsqlClient, service: MemoryService) -> None:
    service.entities["X;"] = ServiceError(40001, "line 1:1: wrong", detail="here: X", hint="write Y")
    with pytest.raises(ServerRefused) as caught:
        client.execute("X;")
    assert (caught.value.primary, caught.value.detail, caught.value.hint) == ("line 1:1: wrong", "here: X", "write Y")


def test_print(client: KsqlClient, service: MemoryService) -> None:
    rows = [("Key format: JSON",), ("rowtime: 1, key: 1",)]
    service.answers["PRINT 't'"] = MemoryAnswer(AnswerKind.PRINT, (), rows, End())
    assert list(client.print_topic("PRINT 't';")) == ["Key format: JSON", "rowtime: 1, key: 1"]


def test_properties(client: KsqlClient) -> None:
    client.check_property("auto.offset.reset")
    with pytest.raises(ServerRefused, match="Not recognizable"):
        client.check_property("no/such")


@pytest.mark.parametrize("credentials", [Credentials(token=TOKEN), Credentials(user=("ada", "pass:word"))])
def test_credentials(serve: Callable[..., str], credentials: Credentials) -> None:
    url = serve(tokens=(TOKEN,), users=(("ada", "pass:word"),))
    assert KsqlClient(url, credentials).info()["version"] == "0.29.0"
    with pytest.raises(ServerRefused) as caught:
        KsqlClient(url).info()
    assert caught.value.code == 40100
    assert not any(secret in repr(credentials) for secret in (TOKEN, "pass:word"))


def test_tls(serve: Callable[..., str], tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    url = serve(tls=Tls(certificate, key))
    assert url.startswith("https://")
    assert KsqlClient(url, Credentials(authorities=certificate)).info()["serverStatus"] == "RUNNING"
    with pytest.raises(NoServer) as caught:
        KsqlClient(url).info()
    assert "certificate verify failed" in (caught.value.detail or "")
    with pytest.raises(ArgumentError, match="certificates cannot be read"):
        KsqlClient(url, Credentials(authorities=tmp_path / "none.pem"))


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://x:port", "http://user:secret@x"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(ArgumentError, match="is no address of a server"):
        KsqlClient(url)


def test_addresses() -> None:
    assert KsqlClient("localhost").url == "http://localhost:8088"
    assert KsqlClient("https://host:1/ksql/").url == "https://host:1/ksql"
    assert KsqlClient("http://[::1]:5").url == "http://[::1]:5"


def test_no_server() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # it does not listen
        with pytest.raises(NoServer, match="no server answers at"):
            KsqlClient(f"127.0.0.1:{taken.getsockname()[1]}").info()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found", "answers 404 Not Found"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>", "answers what a ksqlDB server does not"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[{}\r\n",
            "has gone before the answer was complete",
        ),
        (b"", "no server answers at"),
    ],
)
def test_servers_of_another_kind(answer: bytes, message: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def say() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=say)
        thread.start()
        with pytest.raises(NoServer, match=message):
            list(KsqlClient(f"127.0.0.1:{listening.getsockname()[1]}").query("SELECT 1;"))
        thread.join()
