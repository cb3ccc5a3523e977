"""Clients that others have written drive the endpoints unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ksqldb.other_clients import drive_ksqldb, drive_node

from .conftest import Serve

CREATE = "CREATE STREAM s (id INT KEY, name STRING) WITH (kafka_topic='s', value_format='JSON');"
PULL = "SELECT * FROM s WHERE id = 1;"


def test_ksqldb(serve: Serve) -> None:
    said = drive_ksqldb(serve(), "s", PULL, CREATE)
    assert said["created"] == ["SUCCESS"]
    assert said["inserted"] == []
    assert said["properties"] == 1
    assert said["pulled"] == [[1, "a"]]
    assert said["acks"] == [{"seq": 0, "status": "ok"}, {"seq": 1, "status": "ok"}]
    assert said["pushed"] == [[1, "a"], [2, "b"], [3, "c"]]
    assert said["closed"] == [True, False]


def test_ksqldb_client(serve: Serve) -> None:
    package = pytest.importorskip("ksqldb_client", reason="the package ksqldb-client is not installed")
    client = package.KSqlDBClient(serve())
    try:
        (created,) = client.ksql(CREATE)
        assert (created.command_id, created.command_status.status) == ("stream/`S`/create", "SUCCESS")
        assert client.ksql("LIST STREAMS;")[0].streams[0].value_format == "JSON"
        client.ksql("INSERT INTO s (id, name) VALUES (1, 'a');")
        # It sends paths as they are, and Granian refuses back-quotes in them: so they are encoded here.
        assert client.status("stream/%60S%60/create").query_id == "CSAS_1"
        assert client.info().ksql_server_info.server_status == "RUNNING"
        with pytest.warns(DeprecationWarning, match="KLIP-15"):
            header, row = client.query("SELECT * FROM s WHERE id = 1;")
        assert header.header.schema_ == "`ID` INTEGER KEY, `NAME` STRING"
        assert row.row.columns == (1, "a")
        with pytest.raises(package.exceptions.APIError, match="40001"):
            client.ksql("NONSENSE;")
    finally:
        client._client.close()


def test_node(serve: Serve, tmp_path: Path) -> None:
    said = drive_node(tmp_path, serve(), "s", PULL, CREATE)
    assert said["created"] == [200]
    assert said["listed"]
    assert said["inserted"] == [{"seq": 0, "status": "ok"}]
    assert said["refused"] == 40001
    assert said["pulled"] == [{"ID": 1, "NAME": "a"}]
    assert said["pushed"] == [{"ID": 1, "NAME": "a"}, {"ID": 2, "NAME": "b"}]
    assert said["closed"] == 200
