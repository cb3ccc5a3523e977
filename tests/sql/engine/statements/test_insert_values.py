"""INSERT INTO .. VALUES."""

from __future__ import annotations

import pytest

from millstream.sql.engine.api import Ksql
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.errors import StatementError
from millstream.sql.formats import InMemoryRegistry, RegisteredSchema


@pytest.fixture
def ksql() -> Ksql:
    ksql = Ksql.in_memory()
    ksql.execute(
        "CREATE STREAM s (k INT KEY, a BIGINT, b STRUCT<x DOUBLE, y ARRAY<STRING>>, c DECIMAL(5, 2), d DATE, e BYTES)"
        " WITH (kafka_topic='s', format='JSON');"
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');"
    )
    return ksql


def written(ksql: Ksql, topic: str) -> TopicRecord:
    (record,) = ksql.topics.read(topic, from_beginning=True)
    return record


def test_all_columns_in_the_order_of_the_source(ksql: Ksql) -> None:
    assert (
        ksql.execute("INSERT INTO s VALUES (1, 2, STRUCT(x := 1, y := ARRAY['z']), 1.5, '2020-01-02', 'AQ==');") == []
    )
    record = written(ksql, "s")
    assert record.key == b"1"
    assert record.value == b'{"A":2,"B":{"X":1.0,"Y":["z"]},"C":1.50,"D":18263,"E":"AQ=="}'


def test_some_columns_in_any_order_and_the_time(ksql: Ksql) -> None:
    ksql.execute("INSERT INTO s (a, ROWTIME, k) VALUES (1 + 1, 1234, 7);")
    record = written(ksql, "s")
    assert (record.key, record.timestamp) == (b"7", 1234)
    assert record.value == b'{"A":2,"B":null,"C":null,"D":null,"E":null}'


def test_a_record_without_a_key(ksql: Ksql) -> None:
    ksql.execute("INSERT INTO s (a) VALUES (1);")
    assert written(ksql, "s").key is None


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT INTO nowhere VALUES (1);", "Cannot insert values into an unknown stream/table: `NOWHERE`"),
        ("INSERT INTO `s` (k) VALUES (1);", "Did you mean S? Hint: try removing double quotes from the source name."),
        ("INSERT INTO s (k, z) VALUES (1, 2);", "Failed to insert values into 'S'. Column name `Z` does not exist."),
        ("INSERT INTO s VALUES (1);", "Expected a value for each column. Expected Columns: []. Got [1]"),
        ("INSERT INTO s (k, ROWOFFSET) VALUES (1, 2);", "Inserting into column `ROWOFFSET` is not allowed."),
        ("INSERT INTO t (v) VALUES (1);", "Value for primary key column(s) K is required for tables"),
        ("INSERT INTO s (k) VALUES ('one');", "Expected type INTEGER for field `K` but got STRING(one)"),
        ("INSERT INTO s (d) VALUES ('soon');", "Date format must be yyyy-mm-dd"),
    ],
)
def test_what_cannot_be_inserted(ksql: Ksql, statement: str, message: str) -> None:
    with pytest.raises(StatementError) as caught:
        ksql.execute(statement)
    assert message in caught.value.primary


def test_windowed_and_header_sources_take_no_values(ksql: Ksql) -> None:
    ksql.execute(
        "CREATE STREAM w (k INT KEY, a INT) WITH (kafka_topic='w', format='JSON', window_type='SESSION');"
        "CREATE STREAM h (k INT KEY, a BYTES HEADER('x')) WITH (kafka_topic='h', format='JSON');"
    )
    with pytest.raises(StatementError, match="Cannot insert values into windowed stream/table!"):
        ksql.execute("INSERT INTO w VALUES (1, 1);")
    with pytest.raises(StatementError, match="because it has header columns"):
        ksql.execute("INSERT INTO h (k) VALUES (1);")


def test_inserting_can_be_switched_off(ksql: Ksql) -> None:
    ksql.execute("SET 'ksql.insert.into.values.enabled' = 'false';")
    with pytest.raises(StatementError, match="The server has disabled INSERT INTO"):
        ksql.execute("INSERT INTO s (k) VALUES (1);")


def test_a_registered_key_schema_is_not_replaced() -> None:
    registry = InMemoryRegistry()
    registry.register("p-key", RegisteredSchema("AVRO", '"long"'))
    ksql = Ksql.in_memory(registry=registry)
    ksql.execute("CREATE STREAM p (k INT KEY, v INT) WITH (kafka_topic='p', format='AVRO');")
    with pytest.raises(StatementError, match="schema would overwrite existing key schema"):
        ksql.execute("INSERT INTO p VALUES (1, 2);")


def test_decimals_keep_their_scale(ksql: Ksql) -> None:
    ksql.execute("INSERT INTO s (c) VALUES (3);")
    assert b'"C":3.00' in (written(ksql, "s").value or b"")
