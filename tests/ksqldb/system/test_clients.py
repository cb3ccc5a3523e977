"""Clients that others have written, and a websocket, drive a whole server unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.ksqldb.other_clients import drive_ksqldb, drive_node

from .server_process import EARLIEST, ServerProcess, until


def create(name: str) -> str:
    return (
        f"CREATE STREAM {name} (id INT KEY, name STRING) "
        f"WITH (kafka_topic='{name}', partitions=1, value_format='JSON');"
    )


def count(name: str) -> str:
    return f"CREATE TABLE {name}_counts AS SELECT id, COUNT(*) AS n FROM {name} GROUP BY id;"


def pull(name: str) -> str:
    return f"SELECT * FROM {name}_counts WHERE id = 1;"


def test_ksqldb(running: ServerProcess, name: str) -> None:
    said = drive_ksqldb(running.url, name, pull(name), create(name), count(name))
    assert said["created"] == ["SUCCESS", "SUCCESS"]
    assert said["inserted"] == []
    assert said["pulled"] == [[1, 1]]
    assert said["acks"] == [{"seq": 0, "status": "ok"}, {"seq": 1, "status": "ok"}]
    assert said["pushed"] == [[1, "a"], [2, "b"], [3, "c"]]
    assert said["closed"] == [True, False]


def test_ksqldb_client(running: ServerProcess, name: str) -> None:
    package = pytest.importorskip("ksqldb_client", reason="the package ksqldb-client is not installed")
    client = package.KSqlDBClient(running.url)
    try:
        (created,) = client.ksql(create(name))
        assert (created.command_id, created.command_status.status) == (f"stream/`{name.upper()}`/create", "SUCCESS")
        running.ksql(count(name))
        assert name.upper() in [stream.name for stream in client.ksql("LIST STREAMS;")[0].streams]
        client.ksql(f"INSERT INTO {name} (id, name) VALUES (1, 'a');")
        # It wants a query in every status, and sends paths as they are: Granian refuses back-quotes in them.
        assert client.status(f"table/%60{name.upper()}_COUNTS%60/create").query_id.startswith("CTAS_")
        assert client.info().ksql_server_info.server_status == "RUNNING"
        until(lambda: running.rows(pull(name)) == [[1, 1]])
        with pytest.warns(DeprecationWarning, match="KLIP-15"):
            header, row = client.query(pull(name))
        assert header.header.schema_ == "`ID` INTEGER KEY, `N` BIGINT"
        assert row.row.columns == (1, 1)
        with pytest.raises(package.exceptions.APIError, match="40001"):
            client.ksql("NONSENSE;")
    finally:
        client._client.close()


def test_node(running: ServerProcess, name: str, tmp_path: Path) -> None:
    said = drive_node(tmp_path, running.url, name, pull(name), create(name), count(name))
    assert said["created"] == [200, 200]
    assert said["listed"]
    assert said["inserted"] == [{"seq": 0, "status": "ok"}]
    assert said["refused"] == 40001
    assert said["pulled"] == [{"ID": 1, "N": 1}]
    assert said["pushed"] == [{"ID": 1, "NAME": "a"}, {"ID": 2, "NAME": "b"}]
    assert said["closed"] == 200


def test_websocket(running: ServerProcess, name: str) -> None:
    client = pytest.importorskip("websockets.sync.client", reason="the package websockets is not installed")
    running.ksql(create(name))
    running.ksql(count(name))
    running.ksql(f"INSERT INTO {name} VALUES (1, 'a');")
    until(lambda: running.rows(pull(name)) == [[1, 1]])

    def asked(sql: str) -> str:
        body = quote(json.dumps({"ksql": sql, "streamsProperties": EARLIEST}))
        return f"{running.url.replace('http', 'ws', 1)}/ws/query?request={body}&version=1"

    with client.connect(asked(pull(name)), open_timeout=20) as socket:
        columns, row, end = (json.loads(socket.recv(20)) for _ in range(3))
    assert [column["name"] for column in columns] == ["ID", "N"]
    assert row == {"row": {"columns": [1, 1]}}
    assert end == {"error": "done"}
    with client.connect(asked(f"SELECT * FROM {name} EMIT CHANGES;"), open_timeout=20) as socket:
        assert len(json.loads(socket.recv(20))) == 2
        assert json.loads(socket.recv(20)) == {"row": {"columns": [1, "a"]}}
        running.ksql(f"INSERT INTO {name} VALUES (2, 'b');")
        assert json.loads(socket.recv(20)) == {"row": {"columns": [2, "b"]}}
        (pushed,) = [
            query
            for query in running.ksql("SHOW QUERIES;")[0]["queries"]
            if name in query["queryString"] and query["queryType"] == "PUSH"
        ]
        running.post("/close-query", {"queryId": pushed["id"]})
        assert json.loads(socket.recv(20)) == {"error": "done"}
    with client.connect(asked(f"PRINT '{name}' FROM BEGINNING LIMIT 1;"), open_timeout=20) as socket:
        assert 'value: {"NAME":"a"}' in json.loads(socket.recv(20))
