"""Plans that serve for other keys say what new ones would."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.config import StreamsConfig
from millstream.ksqldb.queries.desk import QueryDesk
from millstream.ksqldb.queries.prepared_pulls import PreparedPulls
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.statements.selection import TableLookup, plan_select
from millstream.sql.tree.statements import SelectQuery

from .clients import Client, context_of

TABLES = (
    "CREATE STREAM texts (id STRING KEY, n INT) WITH (kafka_topic='texts', partitions=1, value_format='JSON');"
    "CREATE TABLE by_text AS SELECT id, COUNT(*) AS n FROM texts GROUP BY id;"
    "CREATE STREAM numbers (id BIGINT KEY, n INT) WITH (kafka_topic='numbers', partitions=1, value_format='JSON');"
    "CREATE TABLE by_number AS SELECT id, SUM(n) AS n FROM numbers GROUP BY id;"
    "CREATE TABLE by_window AS SELECT id, COUNT(*) AS n FROM texts WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY id;"
    "INSERT INTO texts VALUES ('a', 1); INSERT INTO texts VALUES ('a', 2); INSERT INTO texts VALUES ('it''s', 1);"
    "INSERT INTO texts VALUES ('5', 1); INSERT INTO numbers VALUES (5, 7); INSERT INTO numbers VALUES (5000000000, 8);"
)


@pytest.fixture
def ksql() -> Ksql:
    ksql = Ksql.in_memory()
    ksql.execute(TABLES)
    return ksql


class Prepared:
    """Asks, and knows whether a plan was used again."""

    def __init__(self, ksql: Ksql) -> None:
        self.ksql = ksql
        self.pulls = PreparedPulls()

    def ask(self, text: str, **properties: Any) -> tuple[bool, list[tuple[Any, ...]]]:
        context = context_of(self.ksql, **properties)
        found = self.pulls.find(context, text)
        again = found is not None
        if found is None:
            statement = Engine(context).parse(text).statement
            assert isinstance(statement, SelectQuery)
            planned = plan_select(context, statement, text)
            assert isinstance(planned, TableLookup)
            self.pulls.keep(context, text, found := planned)
        return again, list(found.rows(context))


def test_other_keys_of_the_same_statement(ksql: Ksql) -> None:
    prepared = Prepared(ksql)
    text = "SELECT id, n, n + n AS twice FROM by_text WHERE id = '{}';"
    assert prepared.ask(text.format("nobody")) == (False, [])
    assert prepared.ask(text.format("a")) == (True, [("a", 2, 4)])
    assert prepared.ask(text.format("it''s")) == (True, [("it's", 1, 2)])
    assert prepared.ask(text.format("5")) == (True, [("5", 1, 2)])
    number = "select * from by_number where {} = id;"
    assert prepared.ask(number.format(4)) == (False, [])
    assert prepared.ask(number.format(5)) == (True, [(5, 7)])
    assert prepared.ask(number.format(5_000_000_000)) == (True, [(5_000_000_000, 8)])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM by_text;",
        "SELECT * FROM by_text WHERE id = 'a' OR id = 'b';",
        "SELECT * FROM by_text WHERE n = 2;",
        "SELECT * FROM by_text WHERE id = 'a' AND n > 1;",
        "SELECT * FROM by_text WHERE id > 'a';",
        "SELECT * FROM by_text WHERE id <> 'a';",
        "SELECT *, 'x' AS x FROM by_text WHERE id = 'a';",
        "SELECT * FROM by_text WHERE id = 'a' LIMIT 1;",
        "SELECT * FROM by_text WHERE id = UCASE('a');",
        "SELECT * FROM by_number WHERE id = -5;",
        "SELECT * FROM by_window WHERE id = 'a';",
        "SELECT id, n FROM by_text -- it's\n WHERE id = 'a';",
    ],
)
def test_what_asks_for_more_than_a_key_is_planned_each_time(ksql: Ksql, text: str) -> None:
    prepared = Prepared(ksql)
    first = prepared.ask(text)
    assert prepared.ask(text) == first
    assert not first[0]


def test_a_plan_is_forgotten_when_its_table_or_the_settings_are_others(ksql: Ksql) -> None:
    prepared, text = Prepared(ksql), "SELECT * FROM by_text WHERE id = 'a';"
    prepared.ask(text)
    assert prepared.ask(text)[0]
    assert not prepared.ask(text, ksql_query_pull_table_scan_enabled="false")[0]
    ksql.execute("DROP TABLE by_text; CREATE TABLE by_text AS SELECT id, MAX(n) AS most FROM texts GROUP BY id;")
    again, _ = prepared.ask(text)
    assert not again
    assert prepared.ask(text)[0]


def test_variables_are_not_part_of_the_text(ksql: Ksql) -> None:
    prepared, text = Prepared(ksql), "SELECT * FROM by_text WHERE id = '${who}';"
    for who, count in (("a", 2), ("5", 1)):
        ksql.execute(f"DEFINE who = '{who}';")
        assert prepared.ask(text) == (False, [(who, count)])


def test_the_desk_answers_with_them(ksql: Ksql) -> None:
    desk = QueryDesk(StreamsConfig())
    for who, count in (("a", 2), ("5", 1), ("a", 2)):
        answer = desk.answer(context_of(ksql), f"SELECT * FROM by_text WHERE id = '{who}';")
        assert Client(answer).wait_for(1) == [(who, count)]
    desk.stop()
