"""SELECT and its clauses."""

from __future__ import annotations

import pytest

from millstream.sql.errors import ParseError
from millstream.sql.parser import parse_expression, parse_one
from millstream.sql.tree.expressions import ColumnReference, TimeUnit
from millstream.sql.tree.queries import (
    AllColumns,
    AllFields,
    Duration,
    Emit,
    HoppingWindow,
    JoinKind,
    Query,
    SessionWindow,
    SingleColumn,
    Table,
    TumblingWindow,
    Window,
    Within,
)
from millstream.sql.tree.statements import SelectQuery

A, B = ColumnReference("A"), ColumnReference("B")
HOUR, MINUTES = Duration(1, TimeUnit.HOURS), Duration(5, TimeUnit.MINUTES)
DAYS, SECONDS = Duration(2, TimeUnit.DAYS), Duration(10, TimeUnit.SECONDS)


def query(text: str) -> Query:
    statement = parse_one(text + ";").statement
    assert isinstance(statement, SelectQuery)
    return statement.query


def test_items() -> None:
    found = query("SELECT *, s.*, a, b AS c, s.a d, a->*, f(b)->x->*, a + 1 `e` FROM s")

    assert found.select == (
        AllColumns(),
        AllColumns("S"),
        SingleColumn(A),
        SingleColumn(B, "C"),
        SingleColumn(ColumnReference("A", "S"), "D"),
        AllFields(A),
        AllFields(parse_expression("f(b)->x")),
        SingleColumn(parse_expression("a + 1"), "e"),
    )


def test_all_clauses() -> None:
    found = query(
        "SELECT a FROM s WINDOW TUMBLING (SIZE 1 HOUR) WHERE a > 1 GROUP BY a, b PARTITION BY b HAVING COUNT(*) > 1 "
        "EMIT FINAL LIMIT -3"
    )

    assert found == Query(
        (SingleColumn(A),),
        Table("S", "S"),
        window=TumblingWindow(HOUR),
        where=parse_expression("a > 1"),
        group_by=(A, B),
        partition_by=(B,),
        having=parse_expression("count(*) > 1"),
        emit=Emit.FINAL,
        limit=-3,
    )


def test_what_is_left_out_is_none() -> None:
    assert query("SELECT a FROM s") == Query((SingleColumn(A),), Table("S", "S"))
    assert query("SELECT a FROM s EMIT CHANGES").emit is Emit.CHANGES


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("s", Table("S", "S")),
        ("s x", Table("S", "X")),
        ("s AS `x`", Table("S", "x")),
        ("s AS emit", Table("S", "EMIT")),
        ("s AS partition", Table("S", "PARTITION")),
    ],
)
def test_sources(text: str, table: Table) -> None:
    assert query(f"SELECT * FROM {text} PARTITION BY a EMIT CHANGES").source == table


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("JOIN", JoinKind.INNER),
        ("INNER JOIN", JoinKind.INNER),
        ("LEFT JOIN", JoinKind.LEFT),
        ("LEFT OUTER JOIN", JoinKind.LEFT),
        ("RIGHT JOIN", JoinKind.RIGHT),
        ("right outer join", JoinKind.RIGHT),
        ("FULL JOIN", JoinKind.OUTER),
        ("FULL OUTER JOIN", JoinKind.OUTER),
    ],
)
def test_kinds_of_joins(text: str, kind: JoinKind) -> None:
    (join,) = query(f"SELECT * FROM s {text} t ON s.a = t.a").joins

    assert join.kind is kind
    assert join.right == Table("T", "T")
    assert join.criteria == parse_expression("s.a = t.a")
    assert join.within is None


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("WITHIN 1 HOUR", Within(HOUR, HOUR)),
        ("WITHIN 1 HOURS GRACE PERIOD 5 MINUTES", Within(HOUR, HOUR, MINUTES)),
        ("WITHIN (1 HOUR, 5 MINUTES)", Within(HOUR, MINUTES)),
        ("within (1 hour, 5 minute) grace period 2 day", Within(HOUR, MINUTES, DAYS)),
    ],
)
def test_within(text: str, within: Within) -> None:
    (join,) = query(f"SELECT * FROM s JOIN t AS u {text} ON s.a = u.a").joins
    assert join.within == within
    assert join.right == Table("T", "U")


def test_many_joins() -> None:
    joins = query("SELECT * FROM a JOIN b ON a.x = b.x LEFT JOIN c ON b.x = c.x FULL JOIN d ON c.x = d.x").joins
    assert [join.right.name for join in joins] == ["B", "C", "D"]
    assert [join.kind for join in joins] == [JoinKind.INNER, JoinKind.LEFT, JoinKind.OUTER]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("TUMBLING (SIZE 1 HOUR)", TumblingWindow(HOUR)),
        ("TUMBLING (SIZE 1 HOUR, RETENTION 2 DAYS)", TumblingWindow(HOUR, DAYS)),
        ("TUMBLING (SIZE 1 HOUR, GRACE PERIOD 10 SECONDS)", TumblingWindow(HOUR, None, SECONDS)),
        ("TUMBLING (SIZE 1 HOUR, RETENTION 2 DAYS, GRACE PERIOD 10 SECONDS)", TumblingWindow(HOUR, DAYS, SECONDS)),
        ("w HOPPING (SIZE 1 HOUR, ADVANCE BY 5 MINUTES)", HoppingWindow(HOUR, MINUTES)),
        (
            "HOPPING (SIZE 1 HOUR, ADVANCE BY 5 MINUTES, RETENTION 2 DAYS, GRACE PERIOD 10 SECONDS)",
            HoppingWindow(HOUR, MINUTES, DAYS, SECONDS),
        ),
        ("SESSION (5 MINUTES)", SessionWindow(MINUTES)),
        ("SESSION (5 MINUTES, RETENTION 2 DAYS, GRACE PERIOD 10 SECONDS)", SessionWindow(MINUTES, DAYS, SECONDS)),
        ("SESSION (7 MILLISECONDS)", SessionWindow(Duration(7, TimeUnit.MILLISECONDS))),
    ],
)
def test_windows(text: str, window: Window) -> None:
    assert query(f"SELECT a FROM s WINDOW {text} GROUP BY a").window == window


@pytest.mark.parametrize(
    ("text", "grouping"),
    [
        ("a", "a"),
        ("a, b", "a, b"),
        ("(a, b)", "a, b"),
        ("(a)", "a"),
        ("(a + b)", "a + b"),
        ("(a) + b, b", "a + b, b"),
        ("(a = b), b", "a = b, b"),
        ("f(a, b)", "f(a, b)"),
    ],
)
def test_groupings(text: str, grouping: str) -> None:
    expected = parse_expression(f"ARRAY[{grouping}]")
    assert query(f"SELECT a FROM s GROUP BY {text}").group_by == expected.values  # type: ignore[attr-defined]
    assert query(f"SELECT a FROM s PARTITION BY {text}").partition_by == expected.values  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT a FROM s GROUP BY ()", "GROUP BY requires at least one expression"),
        ("SELECT a FROM s PARTITION BY ()", "PARTITION BY requires at least one expression"),
        ("SELECT a FROM s GROUP BY a, b + 1, b + 1", "Duplicate GROUP BY expression: (B + 1)"),
        ("SELECT a FROM s PARTITION BY a, A", "Duplicate PARTITION BY expression: A"),
        ("SELECT a FROM s LIMIT 1e3", "Value must be integer for command: LIMIT"),
        ("SELECT a FROM s LIMIT 9999999999", "Value must be integer for command: LIMIT"),
        ("SELECT t.a FROM s", "'T' is not a valid stream/table name or alias."),
        ("SELECT t.* FROM s", "'T' is not a valid stream/table name or alias."),
        ("SELECT a FROM s x WHERE `X`.a = `x`.a", "'x' is not a valid stream/table name or alias."),
        ("SELECT a FROM s WINDOW SESSION (1.5 HOURS)", 'For input string: "1.5"'),
        ("SELECT a FROM s WINDOW SESSION (99999999999999999999 HOURS)", 'For input string: "99999999999999999999"'),
    ],
)
def test_queries_that_cannot_be_prepared(text: str, message: str) -> None:
    with pytest.raises(ParseError) as raised:
        query(text)
    assert raised.value.primary == f"Failed to prepare statement: {message}"


def test_a_source_with_an_alias_keeps_its_name() -> None:
    query("SELECT s.a, x.a FROM s x WHERE s.b = x.b")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT DISTINCT a FROM s",
        "SELECT a FROM s ORDER BY a",
        "SELECT a FROM (SELECT a FROM s)",
        "SELECT a FROM s, t",
        "SELECT a FROM s UNION SELECT a FROM t",
        "SELECT a FROM s GROUP BY a AND b",
        "SELECT a FROM s GROUP BY a, (a, b)",
        "SELECT a FROM s HAVING a EMIT",
        "SELECT a FROM s WHERE a WINDOW SESSION (5 MINUTES)",
        "SELECT a FROM s LIMIT a",
        "SELECT FROM s",
        "SELECT a",
        "SELECT a FROM s JOIN t",
        "SELECT a FROM f(a)",
    ],
)
def test_what_is_no_query(text: str) -> None:
    with pytest.raises(ParseError, match="Syntax Error"):
        query(text)
