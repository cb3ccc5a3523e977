"""Migrations of a real server: written, applied, changed, failed, corrected."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.config import StreamsConfig
from millstream.kafka.detached import DetachedBroker
from millstream.ksqldb.server import KsqlServer

Run = Callable[..., tuple[int, str, str]]


def test_a_server_is_brought_up_to_date(
    run: Run, broker: DetachedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    mark = uuid.uuid4().hex[:8]
    files = tmp_path / "shop" / "migrations"

    def tool(*arguments: str, code: int = 0) -> str:
        config_file = str(tmp_path / "shop" / "ksql-migrations.properties")
        left, output, errors = run("migrations", "--config-file", config_file, *arguments)
        assert left == code, errors or output
        return errors if code else output

    config = StreamsConfig(bootstrap_servers=broker.bootstrap_servers, num_stream_threads=1)
    with KsqlServer(config, {"ksql.service.id": f"migrations_{mark}_"}) as server:
        assert run("migrations", "new-project", str(tmp_path / "shop"), server.url)[0] == 0
        tool("initialize-metadata")
        tool("create", "Add orders")
        tool("create", "Count orders")
        orders, counts = sorted(files.iterdir())
        assert (orders.name, counts.name) == ("V000001__Add_orders.sql", "V000002__Count_orders.sql")
        orders.write_text(
            "CREATE STREAM orders (id STRING KEY, amount INT) "
            "WITH (kafka_topic='${topic}', value_format='JSON', partitions=1);\n"
            "INSERT INTO orders VALUES ('ann', 3);\n"
        )
        counts.write_text(
            "SET 'auto.offset.reset' = 'earliest';\n"
            "CREATE TABLE counts AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;\n"
        )
        output = tool("apply", "--all", "--define", f"topic=orders-{mark}")
        assert output.count("Successfully migrated") == 2
        lines = [line.split() for line in tool("info").splitlines()]
        assert lines[0] == ["Current", "migration", "version:", "2"]
        assert [line[:5] for line in lines[2:]] == [
            ["1", "Add", "orders", "MIGRATED", "<none>"],
            ["2", "Count", "orders", "MIGRATED", "1"],
        ]
        assert "Successfully validated" in tool("validate")

        text = orders.read_text()
        orders.write_text(f"{text}-- changed\n")
        assert "version 1 does not match the checksum" in tool("validate", code=1)
        orders.write_text(text)

        tool("create", "Large orders", "-v", "5")
        large = files / "V000005__Large_orders.sql"
        large.write_text("CREATE STREAM large AS SELECT * FROM order WHERE amount > 100;")
        assert "Failed to execute sql: CREATE STREAM large" in tool("apply", "--next", code=1)
        assert "ERROR" in tool("info")
        large.write_text("CREATE STREAM large AS SELECT * FROM orders WHERE amount > 100;")
        assert "Successfully migrated" in tool("apply", "--next")
        assert tool("info").splitlines()[-1].split()[:5] == ["5", "Large", "orders", "MIGRATED", "2"]
        assert tool("destroy-metadata").splitlines()[-1] == "Migrations metadata cleaned successfully"
