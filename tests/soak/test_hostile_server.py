"""Thousands of malformed and hostile requests to a whole server: never down, never hung, ksqlDB's errors."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import random
import socket
import string
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from tests.ksqldb.system.server_process import ServerProcess

from millstream.kafka.detached import DetachedBroker
from millstream.ksqldb.rest.app import OPEN_PATHS
from millstream.ksqldb.rest.documentation import description

TRIES = int(os.environ.get("MILLSTREAM_TRIES", "10000"))
_CREDENTIALS = {"authorization": "Basic " + base64.b64encode(b"me:secret").decode()}
#: `/ksql/terminate` would do what it is asked to.
_DESCRIBED = description("x")["paths"]
_PATHS = [path for path in _DESCRIBED if path != "/ksql/terminate"]
#: Asked more often than others.
_ASKING = ("/ksql", "/query", "/query-stream") * 8
_STATEMENTS = (
    "CREATE STREAM s2 (id STRING KEY, b ARRAY<STRUCT<c DECIMAL(4, 2)>>) WITH (kafka_topic='s', value_format='JSON');",
    "CREATE TABLE t2 AS SELECT id, SUM(a) FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY id HAVING COUNT(*) > 1;",
    "CREATE OR REPLACE STREAM s3 AS SELECT l.id, r.a FROM s l JOIN s r WITHIN 1 HOUR ON l.id = r.id PARTITION BY r.a;",
    "SELECT * FROM t WHERE id = 'a' AND n > 1;",
    "SELECT id, UCASE(id) FROM s WHERE a BETWEEN 1 AND 3 EMIT CHANGES LIMIT 1;",
    "INSERT INTO s (id, a) VALUES ('x', 1);",
    "DROP STREAM IF EXISTS s2 DELETE TOPIC;",
    "DESCRIBE s EXTENDED;",
    "EXPLAIN SELECT * FROM s EMIT CHANGES;",
    "SHOW QUERIES EXTENDED;",
    "PRINT 's' FROM BEGINNING LIMIT 1;",
    "SET 'auto.offset.reset' = 'earliest';",
    "DEFINE x = 'y'; SHOW VARIABLES;",
    "PAUSE ALL; RESUME ALL;",
    "CREATE TYPE address AS STRUCT<street STRING>; DROP TYPE address;",
    "ASSERT TOPIC s WITH (partitions=1) TIMEOUT 1 SECONDS;",
)
_ACCEPTS = (
    "*/*",
    "application/json",
    "application/vnd.ksql.v1+json",
    "application/vnd.ksql.v1+protobuf",
    "x",
    "a/b;q=nan",
)
_FIELDS = (
    "ksql",
    "sql",
    "streamsProperties",
    "properties",
    "sessionVariables",
    "commandSequenceNumber",
    "queryId",
    "x",
)


@pytest.fixture
def server(broker: DetachedBroker, tmp_path: Path) -> Iterator[ServerProcess]:
    users = tmp_path / "users"
    users.write_text("me:secret\n")
    users.chmod(0o600)
    options = ["--users-file", str(users), "--threads", "1"]
    started = ServerProcess(broker.bootstrap_servers, "hostile_", tmp_path / "server.log", options)
    try:
        started.headers |= _CREDENTIALS
        yield started.wait()
    finally:
        started.kill()


def test_hostile_requests(server: ServerProcess) -> None:
    chance = random.Random(7)
    server.ksql("CREATE STREAM s (id STRING KEY, a INT) WITH (kafka_topic='s', partitions=1, value_format='JSON');")
    server.ksql("CREATE TABLE t AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;")
    _gets_nothing(server)
    statuses: Counter[int] = Counter()
    slowest = 0.0
    opened = _half_open(server)
    for _ in range(TRIES):
        method, path, body, accept = _request(chance)
        began = time.monotonic()
        status, answer, is_whole = _ask(server, method, path, body, accept)
        taken = time.monotonic() - began
        if taken > slowest:
            slowest = taken
            print(f"{taken:.1f} s, {status}: {method} {path} {body[:200]!r}", flush=True)
        statuses[status] += 1
        seen = (method, path, body[:300], accept, status, answer[:300])
        assert status < 500, seen
        if status >= 400 and is_whole and answer not in (b"", b"Not Found"):
            told = json.loads(answer)
            assert told["error_code"] // 100 == status, seen
            assert told["message"], seen
            assert told["@type"] in ("generic_error", "statement_error"), seen
    for each in opened:
        each.close()
    print(dict(statuses), f"the slowest took {slowest:.1f} s")
    assert slowest < 20
    server.ksql("RESUME ALL;")
    server.ksql("INSERT INTO s VALUES ('last', 1);")
    assert server.rows("SELECT * FROM t WHERE id = 'nobody';") == []
    assert "Traceback" not in server.log.read_text()
    assert server.stop() == 0


def _gets_nothing(server: ServerProcess) -> None:
    """Without credentials, or with wrong ones."""
    for path in _PATHS:
        if path in OPEN_PATHS:
            continue
        for headers in ({}, {"authorization": "Basic eDp5"}, {"authorization": "Bearer x"}, {"authorization": "Basic"}):
            for method in ("GET", "POST"):
                status, answer = _plain(server, method, path.replace("{", "").replace("}", ""), headers)
                assert (status, json.loads(answer)["error_code"]) == (401, 40100), (method, path, headers)


def _plain(server: ServerProcess, method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
    parts = urlsplit(server.url)
    with contextlib.closing(http.client.HTTPConnection(str(parts.hostname), parts.port or 0, timeout=20)) as connection:
        connection.request(method, path, b'{"ksql":"SHOW STREAMS;"}', headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def _half_open(server: ServerProcess) -> list[socket.socket]:
    """Clients that say little, and wait."""
    parts, found = urlsplit(server.url), []
    for begun in (
        b"",
        b"POST /ksql HT",
        b"POST /ksql HTTP/1.1\r\ncontent-length: 9\r\n\r\n{",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ):
        for _ in range(20):
            found.append(socket.create_connection((parts.hostname, parts.port), timeout=20))
            found[-1].sendall(begun)
    return found


def _ask(server: ServerProcess, method: str, path: str, body: bytes, accept: str) -> tuple[int, bytes, bool]:
    """The status, the answer unless all is well, and whether that is all: answers to queries may have no end."""
    parts = urlsplit(server.url)
    with contextlib.closing(http.client.HTTPConnection(str(parts.hostname), parts.port or 0, timeout=30)) as connection:
        try:
            connection.request(method, path, body, {**_CREDENTIALS, "accept": accept})
            answer = connection.getresponse()
        except (BrokenPipeError, ConnectionResetError):  # refused before all was said
            return 413, b"", False
        if answer.status != 200:
            return answer.status, answer.read(), True
        return 200, b"", False


def _request(chance: random.Random) -> tuple[str, str, bytes, str]:
    path = chance.choice([*_PATHS, *_ASKING])
    method = next(iter(_DESCRIBED[path])).upper() if chance.random() < 0.9 else chance.choice(("POST", "GET", "DELETE"))
    path = path.replace("{command}", _text(chance)).replace("{name}", _text(chance))
    path = quote(path, safe="/")
    return method, path, _body(chance), chance.choice(_ACCEPTS)


def _body(chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.02:
        return b"[" * chance.randrange(1, 100_000)
    if kind < 0.03:
        return b'{"ksql":"' + b"x" * 20_000_000
    content: dict[str, Any] = {chance.choice(_FIELDS): _value(chance) for _ in range(chance.randrange(3))}
    sql = _mutated(chance, chance.choice(_STATEMENTS))
    content |= {"ksql": sql, "sql": sql} if kind < 0.9 else {}
    data = json.dumps(content).encode()
    if kind < 0.2:
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.randbytes(chance.randrange(3)) + data[at + chance.randrange(4) :]
    return data


def _mutated(chance: random.Random, sql: str) -> str:
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(sql) + 1)
        match chance.randrange(5):
            case 0:
                sql = sql[:at] + sql[at + chance.randrange(1, 5) :]
            case 1:
                sql = sql[:at] + chance.choice(string.printable) + sql[at:]
            case 2:
                words = sql.split(" ")
                chance.shuffle(words)
                sql = " ".join(words)
            case 3:
                words = sql.split(" ")
                words[chance.randrange(len(words))] = chance.choice(chance.choice(_STATEMENTS).split(" "))
                sql = " ".join(words)
            case _:
                sql = (
                    sql[:at]
                    + chance.choice(("''", "`", "((((", "-1e999", "9" * 40, "\x00", "é", "/*", "--"))
                    + sql[at:]
                )
    return sql


def _value(chance: random.Random) -> Any:
    return chance.choice(
        (
            None,
            True,
            -1,
            2**70,
            1.5,
            _text(chance),
            [],
            {},
            {"auto.offset.reset": "x"},
            {_text(chance): _text(chance)},
            [[{}]],
        )
    )


def _text(chance: random.Random) -> str:
    return "".join(chance.choices("abcXYZ019 '\"`;%/\\{}$é\x00\n", k=chance.randrange(1, 12)))
