"""A database's changes become a table in SQL, and its results another table: Debezium, SQL, JDBC."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ksqldb.system.conftest import PATIENT
from tests.ksqldb.system.server_process import ServerProcess, until

from millstream.connect.jars import plugin_jars
from millstream.connect.worker import ConnectWorker
from millstream.jvm.errors import JvmError
from millstream.jvm.maven import Artifact
from millstream.kafka.detached import DetachedBroker

from .postgres import DATABASE, PASSWORD, USER, Postgres, find_tool

VERSION = "3.4.0.Final"
PLUGINS = [Artifact("io.debezium", f"debezium-connector-{name}", VERSION) for name in ("postgres", "jdbc")]
TOTALS_SCHEMA = {
    "type": "struct",
    "fields": [{"field": name, "type": "int64", "optional": True} for name in ("TOTAL", "ORDERS")],
}


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    if find_tool("initdb") is None or find_tool("psql") is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with Postgres() as found:
        yield found


@pytest.fixture
def worker(broker: DetachedBroker) -> Iterator[ConnectWorker]:
    try:
        for plugin in PLUGINS:
            plugin_jars(plugin)
    except JvmError as error:
        pytest.skip(f"Debezium cannot be fetched: {error.primary}")
    with ConnectWorker(broker.bootstrap_servers, name=f"c{uuid.uuid4().hex[:8]}", plugins=PLUGINS) as found:
        yield found
        for connector in found.client.names():
            print(found.client.status(connector))
        print((found.directory / "connect.log").read_text())


@pytest.fixture
def server(broker: DetachedBroker, worker: ConnectWorker, tmp_path: Path) -> Iterator[ServerProcess]:
    options = [*PATIENT, "--set", f"ksql.connect.url={worker.url}"]
    found = ServerProcess(broker.bootstrap_servers, f"s{uuid.uuid4().hex[:8]}", tmp_path / "log", options)
    try:
        yield found.wait()
    finally:
        found.kill()
        print(found.log.read_text())


def with_clause(properties: dict[str, str]) -> str:
    return ", ".join(f"'{name}'='{value}'" for name, value in properties.items())


def test_from_one_table_to_another(postgres: Postgres, server: ServerProcess, worker: ConnectWorker) -> None:
    name = f"db{uuid.uuid4().hex[:8]}"
    postgres.rows(
        "CREATE TABLE orders (id INT PRIMARY KEY, item TEXT NOT NULL, amount INT NOT NULL);"
        "CREATE TABLE totals (item TEXT PRIMARY KEY, total BIGINT, orders BIGINT);"
        "INSERT INTO orders SELECT n, 'item ' || n % 7, n FROM generate_series(1, 1000) AS n;"
    )
    transforms = "org.apache.kafka.connect.transforms"
    source = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(postgres.port),
        "database.user": USER,
        "database.password": PASSWORD,
        "database.dbname": DATABASE,
        "plugin.name": "pgoutput",
        "topic.prefix": name,
        "table.include.list": "public.orders",
        # The row after a change, and its key without a struct around it: what SQL calls a table.
        "transforms": "row,key",
        "transforms.row.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.row.delete.tombstone.handling.mode": "delete-to-tombstone",
        "transforms.key.type": f"{transforms}.ExtractField$Key",
        "transforms.key.field": "id",
        "key.converter": "org.apache.kafka.connect.converters.IntegerConverter",
    }
    sink = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "connection.url": postgres.url,
        "connection.username": USER,
        "connection.password": PASSWORD,
        "topics": f"{name}-totals",
        "collection.name.format": "totals",
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "primary.key.fields": "item",
        # It wants keys with names, and a schema of values, which SQL's records do not have.
        "transforms": "key",
        "transforms.key.type": f"{transforms}.HoistField$Key",
        "transforms.key.field": "item",
        "value.converter.schemas.enable": "true",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schema.content": json.dumps(TOTALS_SCHEMA),
    }
    made = server.ksql(
        f"CREATE TABLE orders (id INT PRIMARY KEY, item VARCHAR, amount INT)"
        f"  WITH (kafka_topic='{name}.public.orders', partitions=1, key_format='KAFKA', value_format='JSON');"
        f"CREATE TABLE totals WITH (kafka_topic='{name}-totals') AS"
        f"  SELECT item, SUM(amount) AS total, COUNT(*) AS orders FROM orders GROUP BY item HAVING COUNT(*) > 0;"
        f"CREATE SOURCE CONNECTOR {name}_source WITH ({with_clause(source)});"
        f"CREATE SINK CONNECTOR {name}_sink WITH ({with_clause(sink)});"
    )
    assert PASSWORD not in json.dumps(made)

    def both_ends_agree() -> bool:
        expected = postgres.rows("SELECT item, SUM(amount), COUNT(*) FROM orders GROUP BY item ORDER BY item;")
        return expected == postgres.rows("SELECT item, total, orders FROM totals ORDER BY item;")

    until(both_ends_agree)
    postgres.rows("UPDATE orders SET amount = amount + 5, item = 'item 8' WHERE id % 2 = 0;")
    postgres.rows("DELETE FROM orders WHERE item = 'item 3' OR id > 900;")
    until(both_ends_agree)
    assert not postgres.rows("SELECT * FROM totals WHERE item = 'item 3';")
    worker.kill()
    postgres.rows("INSERT INTO orders SELECT n, 'item ' || n % 11, n FROM generate_series(2001, 3000) AS n;")
    worker.start()
    until(both_ends_agree)
    described = server.ksql(f"DESCRIBE CONNECTOR {name}_sink; DESCRIBE CONNECTOR {name}_source;")
    assert [one["status"]["connector"]["state"] for one in described] == ["RUNNING", "RUNNING"]
    server.ksql(f"DROP CONNECTOR {name}_sink; DROP CONNECTOR {name}_source;")
