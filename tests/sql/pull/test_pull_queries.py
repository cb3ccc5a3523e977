"""Pull and push queries of an engine in memory: what is asked and what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.sql.engine.api import Ksql
from millstream.sql.errors import StatementError

CREATE = """
CREATE STREAM orders (shop STRING KEY, amount INT) WITH (kafka_topic='orders', value_format='JSON');
"""


def asked(statements: str, settings: dict[str, Any] | None = None) -> Ksql:
    ksql = Ksql.in_memory(settings)
    ksql.execute(CREATE + statements)
    for number, (shop, amount) in enumerate([("a", 5), ("b", 7), ("a", 20), ("c", 1), ("b", 2), ("a", 3)]):
        ksql.execute(f"INSERT INTO orders (shop, amount, ROWTIME) VALUES ('{shop}', {amount}, {number * 400});")
    return ksql


TOTALS = "CREATE TABLE totals AS SELECT shop, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY shop;"


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT * FROM totals WHERE shop = 'b';", [("b", 9, 2)]),
        ("SELECT * FROM totals WHERE shop = 'nowhere';", []),
        ("SELECT * FROM totals t WHERE t.shop = 'b';", [("b", 9, 2)]),
        ("SELECT shop FROM totals WHERE shop IN ('c', 'x', 'a');", [("c",), ("a",)]),
        ("SELECT shop FROM totals WHERE shop = 'a' AND total < 5;", []),
        ("SELECT shop FROM totals WHERE shop > 'a';", [("b",), ("c",)]),
        ("SELECT shop FROM totals WHERE shop BETWEEN 'a' AND 'b';", [("a",), ("b",)]),
        ("SELECT shop FROM totals WHERE shop LIKE 'b%';", [("b",)]),
        ("SELECT shop FROM totals WHERE n = 1 OR shop = 'a';", [("a",), ("c",)]),
        ("SELECT shop FROM totals WHERE total IS NOT NULL LIMIT 2;", [("a",), ("b",)]),
        ("SELECT UCASE(shop) AS s, total / n, ROWTIME FROM totals WHERE shop = 'a';", [("A", 9, 2000)]),
        ("SELECT shop FROM totals LIMIT 0;", []),
    ],
)
def test_a_table_is_asked(query: str, rows: list[tuple[Any, ...]]) -> None:
    assert list(asked(TOTALS).query(query).rows) == rows


def test_the_answer_tells_its_columns() -> None:
    answer = asked(TOTALS).query("SELECT total AS t, shop AS s, shop + 'x' AS x FROM totals;")
    assert answer.schema == "`T` INTEGER, `S` STRING KEY, `X` STRING"
    assert answer.final_message is None
    assert answer.to_json()["rows"][0] == {"T": 28, "S": "a", "X": "ax"}


def test_what_comes_after_the_store_counts() -> None:
    ksql = asked(
        "CREATE TABLE averages AS SELECT shop, AVG(amount) AS average FROM orders GROUP BY shop HAVING COUNT(*) > 1;"
    )
    assert list(ksql.query("SELECT * FROM averages;").rows) == [("a", 28 / 3), ("b", 4.5)]
    assert list(ksql.query("SELECT * FROM averages WHERE shop = 'c';").rows) == []


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("shop = 'a'", [(0, 1000, 2), (2000, 3000, 1)]),
        ("shop = 'a' AND WINDOWSTART = 2000", [(2000, 3000, 1)]),
        ("shop = 'a' AND WINDOWEND < 2000", [(0, 1000, 2)]),
        ("shop = 'a' AND WINDOWEND > '1970-01-01T00:00:01'", [(2000, 3000, 1)]),
        ("shop = 'a' AND WINDOWSTART > 500 AND WINDOWEND < 100", []),
        ("shop = 'a' AND WINDOWSTART >= 0 OR shop = 'a' AND WINDOWEND <= 9000", [(0, 1000, 2), (2000, 3000, 1)]),
        ("shop = 'c'", [(1000, 2000, 1)]),
        ("n > 1", [(0, 1000, 2)]),
    ],
)
def test_windows_are_asked(where: str, rows: list[tuple[Any, ...]]) -> None:
    ksql = asked(
        "CREATE TABLE w AS SELECT shop, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY shop;"
    )
    assert list(ksql.query(f"SELECT WINDOWSTART, WINDOWEND, n FROM w WHERE {where};").rows) == rows


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("shop = 'a'", [(0, 800, 800, 2), (2000, 2000, 2000, 1)]),
        ("shop = 'a' AND WINDOWSTART > 0", [(2000, 2000, 2000, 1)]),
        ("shop = 'a' AND WINDOWEND = 800", [(0, 800, 800, 2)]),
        ("n = 2", [(0, 800, 800, 2)]),
    ],
)
def test_sessions_are_asked(where: str, rows: list[tuple[Any, ...]]) -> None:
    ksql = asked("CREATE TABLE w AS SELECT shop, COUNT(*) AS n FROM orders WINDOW SESSION (1 SECOND) GROUP BY shop;")
    answer = ksql.query(f"SELECT WINDOWSTART, WINDOWEND, ROWTIME, n FROM w WHERE {where};")
    assert list(answer.rows) == rows


def test_ranges_of_keys_that_are_written_as_json_are_in_the_order_of_the_keys() -> None:
    ksql = Ksql.in_memory()
    ksql.execute(
        "CREATE TABLE t (id STRING PRIMARY KEY, v INT) WITH (kafka_topic='t', format='JSON');"
        "CREATE TABLE q AS SELECT * FROM t;"
        "INSERT INTO t VALUES ('a b', 1); INSERT INTO t VALUES ('a', 2); INSERT INTO t VALUES ('Z', 3);"
    )
    # In the store the quotes around 'a' put it behind 'a b'.
    assert {row[0] for row in ksql.query("SELECT id FROM q WHERE id >= 'a';").rows} == {"a", "a b"}


def test_source_tables_are_asked_and_others_not() -> None:
    ksql = Ksql.in_memory()
    columns = "(id INT PRIMARY KEY, v STRUCT<x INT>) WITH (kafka_topic='t', value_format='JSON')"
    ksql.execute(f"CREATE SOURCE TABLE s {columns}; CREATE TABLE t {columns};")
    ksql.execute("INSERT INTO t VALUES (1, STRUCT(x := 5));")
    assert list(ksql.query("SELECT * FROM s WHERE id = 1;").rows) == [(1, {"X": 5})]
    with pytest.raises(
        StatementError, match=r"The `T` table isn't queryable\. To derive a queryable table, you can do"
    ):
        ksql.query("SELECT * FROM t;")


def test_streams_are_read_to_their_end() -> None:
    ksql = asked("")
    answer = ksql.query("SELECT * FROM orders WHERE amount > 5;")
    assert list(answer.rows) == [("b", 7), ("a", 20)]
    assert (answer.schema, answer.final_message) == ("`SHOP` STRING, `AMOUNT` INTEGER", "Query Completed")
    answer = ksql.query("SELECT * FROM orders LIMIT 1;")
    assert (list(answer.rows), answer.final_message) == ([("a", 5)], "Limit Reached")


def test_push_queries_give_every_change() -> None:
    ksql = asked(TOTALS + "CREATE TABLE rich AS SELECT shop, total FROM totals WHERE total < 20;")
    answer = ksql.query("SELECT shop, COUNT(*) AS n FROM orders GROUP BY shop EMIT CHANGES LIMIT 3;")
    assert list(answer.rows) == [("a", 1), ("b", 1), ("a", 2)]
    assert answer.final_message == "Limit Reached"
    answer = ksql.query("SELECT total, shop FROM rich WHERE shop = 'a' EMIT CHANGES;")
    assert list(answer.rows)[:2] == [(5, "a"), (None, "a")]
    assert answer.tombstones == {1}


@pytest.mark.parametrize(
    ("query", "setting", "message"),
    [
        ("SELECT * FROM totals;", "ksql.pull.queries.enable", "Pull queries are disabled. See"),
        ("SELECT * FROM orders;", "ksql.query.pull.stream.enabled", "Pull queries on streams are disabled. To create"),
        ("SELECT * FROM totals LIMIT 1;", "ksql.query.pull.limit.clause.enabled", "LIMIT clause in pull queries is"),
        ("SELECT * FROM totals;", "ksql.query.pull.table.scan.enabled", "Missing WHERE clause"),
    ],
)
def test_settings_forbid_queries(query: str, setting: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        asked(TOTALS, {setting: False}).query(query)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT shop FROM totals GROUP BY shop;", "Pull queries don't support GROUP BY clauses"),
        ("SELECT shop FROM orders PARTITION BY amount;", "Pull queries don't support PARTITION BY clauses"),
        ("SELECT ROWOFFSET FROM totals;", "Pull queries don't support the following columns in SELECT clauses"),
        ("SELECT * FROM totals WHERE WINDOWSTART = 5;", "WINDOWSTART"),
        ("SHOW TABLES;", "only a single SELECT can be asked"),
        ("SELECT * FROM totals; SELECT * FROM totals;", "only a single SELECT can be asked"),
    ],
)
def test_what_cannot_be_asked(query: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        asked(TOTALS).query(query)
