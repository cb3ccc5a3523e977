"""Statements that are cut short, deep or long."""

from __future__ import annotations

import pytest

from millstream.sql.errors import ParseError
from millstream.sql.parser import parse, parse_expression, parse_type
from millstream.sql.tree.statements import InsertValues, SelectQuery

STATEMENTS = (
    "CREATE STREAM s (id BIGINT KEY, a DECIMAL(10, 2), b ARRAY<STRUCT<x INT>>) WITH (KAFKA_TOPIC='s', PARTITIONS=3);",
    "CREATE TABLE t AS SELECT a, COUNT(*) n FROM s WINDOW TUMBLING (SIZE 1 HOUR) WHERE b > 1.5 GROUP BY a EMIT FINAL;",
    "SELECT s.*, CASE WHEN a THEN -1 END, f(a, x => x || 'y') FROM s LEFT JOIN t ON s.a = t.a LIMIT 3;",
)


def test_every_beginning_of_a_statement_is_refused_at_a_place_inside_it() -> None:
    for statement in STATEMENTS:
        for end in range(1, len(statement)):
            with pytest.raises(ParseError) as raised:
                parse(statement[:end])
            location = raised.value.location
            assert location is not None
            assert location.line == 1
            assert 1 <= location.column <= end + 1


@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [
        ("(", "1", ")"),
        ("ABS(", "1", ")"),
        ("ARRAY[", "1", "]"),
        ("CAST(", "1", " AS INT)"),
        ("CASE WHEN a THEN ", "1", " END"),
        ("NOT ", "a", ""),
        ("- ", "a", ""),
        ("a + ", "a", ""),
        ("", "a", " OR b"),
        ("", "a", "->b"),
        ("", "a", "[1]"),
        ("f(a, x => ", "1", ")"),
    ],
)
def test_expressions_nested_too_deep_are_refused(before: str, inside: str, after: str) -> None:
    parse_expression(before * 50 + inside + after * 50)
    with pytest.raises(ParseError, match="too many nested expressions"):
        parse_expression(before * 400 + inside + after * 400)


def test_thousands_of_parentheses_are_refused() -> None:
    with pytest.raises(ParseError, match="too many nested expressions"):
        parse_expression("(" * 5_000 + "1" + ")" * 5_000)


def test_types_nested_too_deep_are_refused() -> None:
    parse_type("ARRAY<" * 50 + "INT" + ">" * 50)
    with pytest.raises(ParseError, match="Statement is too large to parse"):
        parse_type("ARRAY<" * 1_000 + "INT" + ">" * 1_000)


def test_explain_can_be_repeated_too_often() -> None:
    with pytest.raises(ParseError, match="Statement is too large to parse"):
        parse("EXPLAIN " * 5_000 + "SHOW STREAMS;")


def test_long_statements_are_no_deep_ones() -> None:
    columns = ", ".join(f"c{number}" for number in range(3_000))
    values = ", ".join(map(str, range(3_000)))

    inserted, selected = parse(
        "".join(["INSERT INTO s (", columns, ") VALUES (", values, ");SELECT ", columns, " FROM s;"])
    )

    assert isinstance(inserted.statement, InsertValues)
    assert isinstance(selected.statement, SelectQuery)
    assert len(inserted.statement.values) == len(selected.statement.query.select) == 3_000
