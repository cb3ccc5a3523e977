"""Messages about statements that do not follow the grammar."""

from __future__ import annotations

import pytest

from millstream.sql.errors import Location, ParseError
from millstream.sql.parser import parse, parse_expression, parse_one


def message(text: str) -> str:
    with pytest.raises(ParseError) as raised:
        parse(text)
    return raised.value.primary


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A token that should not be there, before one that should.
        ("SELECT a b c FROM s;", "line 1:12: Syntax Error\nExpecting {',', 'FROM'}"),
        ("DROP STREAM s t;", "line 1:15: Syntax Error\nExpecting ';'"),
        # A word that is reserved, where a name should be.
        (
            "CREATE STREAM s (limit INT);",
            'line 1:18: Syntax Error\n"limit" is a reserved keyword and it can\'t be used as an identifier. '
            "You can use it as an identifier by escaping it as 'limit' ",
        ),
        # Another token than the few that can come.
        ("CREATE STREAM s (a INT(b));", "line 1:24: Syntax Error\nExpecting {'STRING', INTEGER_VALUE}"),
        ("CREATE STREAM s (a INT b INT);", "line 1:24: Syntax Error\nExpecting {',', ')'}"),
        ("SELECT a, b;", "line 1:12: Syntax Error\nExpecting {',', 'FROM'}"),
        # Another token than the many that can come.
        ("SELECT a FROM s ORDER BY a;", "line 1:23: Syntax Error\n"),
        ("SELECT a FROM s WHERE;", "line 1:22: Syntax Error\n"),
        ("CREATE STREAM s (a ARRAY<NULL>);", "line 1:26: Syntax Error\n"),
        # A token that is missing.
        ("SELECT a FROM s GROUP BY a, (b, c);", "line 1:31: Syntax Error\nmissing ')' at ','"),
        ("SELECT a FROM s", "line 1:16: Syntax Error\nmissing ';' at '<EOF>'"),
        (
            "CREATE STREAM s (a INT",
            "line 1:23: Syntax Error\nSyntax error at or near \";\"\n'}', ']', or ')' is missing",
        ),
        # No statement at all.
        ("SELEKT a FROM s;", "line 1:1: Syntax Error\nUnknown statement 'SELEKT'\nDid you mean 'SELECT'?"),
        ("RUN SCRIPT 'a';", "line 1:1: Syntax Error\nUnknown statement 'RUN'\nDid you mean 'PRINT'?"),
        # Before it is known what is read.
        ("CREATE a;", "line 1:8: Syntax Error\nSyntax error at or near 'a' at line 1:8"),
        ("SHOW a;", "line 1:6: Syntax Error\nSyntax error at or near 'a' at line 1:6"),
        ("ASSERT VALUES s;", "line 1:8: Syntax Error\nSyntax error at or near 'VALUES' at line 1:8"),
        ("INSERT INTO s WHERE;", "line 1:15: Syntax Error\nSyntax error at or near 'WHERE' at line 1:15"),
        (
            "CREATE STREAM s WITH (a=) AS SELECT * FROM t;",
            "line 1:25: Syntax Error\nSyntax error at or near ')' at line 1:25",
        ),
        ("SELECT CAST(a AS NULL) FROM s;", "line 1:18: Syntax Error\nSyntax error at or near 'NULL' at line 1:18"),
        ("SELECT a, f(b FROM s;", "line 1:15: Syntax Error\nSyntax error at or near 'FROM' at line 1:15"),
        # The same place, when it is known that more than a value is read.
        ("SELECT 1 + CAST(a AS NULL) FROM s;", "line 1:22: Syntax Error\n"),
        ("SELECT 1 + f(b FROM s;", "line 1:16: Syntax Error\nmissing ')' at 'FROM'"),
        # Characters that mean nothing.
        ("SELECT # FROM s;", "line 1:8: Syntax Error\n"),
        ("SELECT a FROM s WHERE a = 'b;", "line 1:27: Syntax Error\n"),
    ],
)
def test_what_is_said(text: str, expected: str) -> None:
    assert message(text) == expected


def test_places_are_counted_from_the_beginning_of_the_whole_text() -> None:
    with pytest.raises(ParseError) as raised:
        parse("SHOW STREAMS;\n\n  -- a comment\n  SHOW foo;")

    assert raised.value.location == Location(4, 8)
    assert raised.value.statement == "SHOW foo;"
    assert str(raised.value) == (
        "line 4:8: Syntax Error\n"
        "Syntax error at or near 'foo' at line 4:8\n"
        "  detail: here:\n"
        "      SHOW foo;\n"
        "           ^\n"
        "    expected: 'ALL', 'STREAMS', 'TYPES', 'TABLES', 'TOPICS', 'QUERIES', 'FUNCTIONS', 'PROPERTIES', "
        "'CONNECTOR', 'CONNECTORS', 'SINK', 'SOURCE', ..."
    )


def test_what_was_expected_is_described() -> None:
    with pytest.raises(ParseError) as raised:
        parse_expression("a + ")
    assert raised.value.detail == (
        "here:\n    a + \n       ^\n"
        "    expected: a name, a string, a number, '(', 'NULL', 'TRUE', 'FALSE', 'CASE', 'CAST', '+', '-'"
    )


def test_the_mark_stands_under_tabs_and_in_long_lines() -> None:
    with pytest.raises(ParseError) as raised:
        parse("SELECT\ta\tb\tc FROM s;")
    assert raised.value.detail is not None
    assert "\n    SELECT\ta\tb\tc FROM s;\n          \t \t \t^\n" in raised.value.detail

    with pytest.raises(ParseError) as raised:
        parse(f"SELECT {'a, ' * 300} b c d FROM s;")
    assert raised.value.detail is not None
    line, mark = raised.value.detail.split("\n")[1:3]
    assert len(line) < 250
    assert line[mark.index("^")] == "d"


def test_what_cannot_be_prepared_is_marked_too() -> None:
    with pytest.raises(ParseError) as raised:
        parse("SHOW STREAMS;\nSELECT a,\n  t.b FROM s;")
    assert raised.value.location == Location(3, 3)
    assert raised.value.detail == "here:\n      t.b FROM s;\n      ^"


def test_all_of_a_text_must_follow_the_grammar_before_any_of_it_has_a_meaning() -> None:
    with pytest.raises(ParseError, match="Syntax Error"):
        parse("SELECT t.a FROM s; SHOW foo;")


@pytest.mark.parametrize("text", ["", "SHOW STREAMS; SHOW TABLES;"])
def test_one_statement_is_one(text: str) -> None:
    with pytest.raises(ParseError, match=r"Expected exactly one KSQL statement; found [02] instead"):
        parse_one(text)
