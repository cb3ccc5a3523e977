"""Text: names, keywords, comments, several statements, variables, types and schemas."""

from __future__ import annotations

import pytest

from millstream.sql.errors import Location, ParseError
from millstream.sql.parser import parse, parse_expression, parse_one, parse_schema, parse_type, split, statements
from millstream.sql.parser.syntax import vocabulary
from millstream.sql.schema.types import INTEGER, STRING, Field, SqlArray, SqlDecimal, SqlStruct, SqlType
from millstream.sql.tree.expressions import ColumnReference
from millstream.sql.tree.statements import CreateSource, Define, DropSource, Element, SetProperty, SourceKind

# Names.


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("abc", "ABC"),
        ("_a1@", "_A1@"),
        ("`aBc`", "aBc"),
        ('"aBc"', "aBc"),
        ("`a``b`", "a`b"),
        ('"a""b"', 'a"b'),
        ("`select`", "select"),
        ("key", "KEY"),
        ("1a", "1A"),
        ("1e", "1E"),
        ("1e3x", "1E3X"),
    ],
)
def test_names_are_in_upper_case_unless_they_are_in_quotes(text: str, name: str) -> None:
    assert parse_expression(text) == ColumnReference(name)


def test_words_are_names_unless_they_are_reserved() -> None:
    words = vocabulary()
    free = {word for word in words.words & words.names if word != "STRING_TYPE"}
    assert {"KEY", "DATE", "EMIT", "PARTITION", "ID", "IF"} <= free
    for word in free:
        assert parse_expression(word.lower()) == ColumnReference(word)
    for word in words.words - words.names:
        with pytest.raises(ParseError):
            parse(f"SELECT a AS {word} FROM s;")


@pytest.mark.parametrize("word", ["emit", "partition", "changes", "id", "type", "source", "string", "map", "escape"])
def test_words_that_are_not_reserved_are_names_everywhere(word: str) -> None:
    (parsed,) = parse(f"CREATE STREAM {word} ({word} INT) WITH ({word}=1);")
    assert isinstance(parsed.statement, CreateSource)
    assert parsed.statement.name == word.upper()
    parse("CREATE STREAM s AS SELECT w, x.w AS w, w->w w FROM w AS x WHERE w = 1;".replace("w", word))


def test_letters_are_those_of_ascii() -> None:
    for letter in "\u017f\u212a\u0131\u00e9\u0430":
        with pytest.raises(ParseError):
            parse_expression(letter)


# Several statements, and comments.


def test_texts_hold_statements_and_comments() -> None:
    text = "--@test: x\nSHOW STREAMS; -- SHOW TYPES;\n/* ; */ SET 'a;b'='--';\n\n"

    parsed = parse(text)

    assert [one.text for one in parsed] == ["SHOW STREAMS;", "SET 'a;b'='--';"]
    assert parsed[1].statement == SetProperty("a;b", "--")
    assert parsed[1].statement.at == Location(3, 9)
    assert parse("") == parse(" -- nothing") == []


def test_comments_may_stand_between_any_two_words() -> None:
    (parsed,) = parse("DROP/**/STREAM -- the stream\r\n s /* two\nlines ** // */ ;")
    assert parsed.statement == DropSource(SourceKind.STREAM, "S")


def test_split_needs_no_grammar() -> None:
    assert split("foo 'a;b'; `x;y`\n # ; rest") == ["foo 'a;b';", "`x;y`\n # ;", "rest"]


def test_statements_know_their_place_in_the_text() -> None:
    first, second = statements("CREATE TYPE x AS INT;\nCREATE STREAM s (a x, b y);")

    assert first == "CREATE TYPE x AS INT;"
    parse_one(first)
    with pytest.raises(ParseError) as raised:
        parse_one(second, {"X": INTEGER})
    assert raised.value.primary == "Failed to prepare statement: Cannot resolve unknown type: Y"
    assert raised.value.location == Location(2, 25)
    assert parse_one(second, types={"X": INTEGER, "Y": STRING}).text == second


def test_types_are_known_to_the_statements_after_them() -> None:
    *_, last = parse("CREATE TYPE x AS INT; CREATE TYPE y AS ARRAY<x>; CREATE STREAM s (a y);")
    assert isinstance(last.statement, CreateSource)
    assert last.statement.elements == (Element("A", SqlArray(INTEGER)),)
    with pytest.raises(ParseError, match="Cannot resolve unknown type: X"):
        parse("CREATE TYPE x AS INT; DROP TYPE x; CREATE STREAM s (a x);")


# Variables.


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("DROP STREAM ${name};", "DROP STREAM orders;"),
        ("DROP STREAM ${NAME};", "DROP STREAM orders;"),
        ("DROP STREAM ${quoted};", "DROP STREAM `Mixed`;"),
        ("SELECT ${name}.a FROM ${name} WHERE a = ${number};", "SELECT orders.a FROM orders WHERE a = -1.5;"),
        ("SELECT * FROM s WHERE a = ${string};", "SELECT * FROM s WHERE a = 'it''s';"),
        ("SELECT * FROM s WHERE a = ${flag};", "SELECT * FROM s WHERE a = true;"),
        ("SET 'a'='x-${name}';", "SET 'a'='x-orders';"),
        ("SET 'a'='${string}';", "SET 'a'='''it''''s''';"),
        ("SET 'a'=${string};", "SET 'a'='it''s';"),
        ("SET 'a'='${unknown}';", "SET 'a'='${unknown}';"),
        ("SET 'a'='$${name}';", "SET 'a'='${name}';"),
        ("SET 'a'='$${${name}}';", "SET 'a'='${orders}';"),
        (
            "CREATE STREAM s WITH (kafka_topic=${string}, partitions=${number});",
            "CREATE STREAM s WITH (kafka_topic='it''s', partitions=-1.5);",
        ),
        ("SELECT `${name}` FROM s;", "SELECT `${name}` FROM s;"),
    ],
)
def test_variables_are_replaced(text: str, replaced: str) -> None:
    variables = {"Name": "orders", "quoted": "`Mixed`", "number": "-1.5", "string": "'it''s'", "flag": "true"}
    assert parse_one(text, variables=variables).text == replaced


@pytest.mark.parametrize(
    "value", ["a b", "a; DROP STREAM t", "1, 2", "", "'", "`a b`", "a.b", "@a", "a/**/", "1 OR 1=1"]
)
def test_values_of_variables_are_no_more_than_a_name_or_a_literal(value: str) -> None:
    with pytest.raises(ParseError, match=r"^Illegal argument at Line: 2, Col: 13\."):
        parse("SHOW TYPES;\nDROP STREAM ${v};", variables={"v": value})


def test_quotes_in_values_cannot_end_a_string() -> None:
    (parsed,) = parse("SET 'a'=${v};", variables={"v": "'x'; DROP STREAM s; '"})
    assert parsed.statement == SetProperty("a", "x'; DROP STREAM s; ")


@pytest.mark.parametrize("variables", [None, {}])
def test_variables_must_be_defined(variables: dict[str, str] | None) -> None:
    with pytest.raises(ParseError, match="Illegal argument at Line: 1, Col: 13"):
        parse("DROP STREAM ${x};", variables=variables)
    with pytest.raises(ParseError, match="Illegal argument at Line: 1, Col: 25"):
        parse("CREATE STREAM s WITH (a=${x});", variables=variables)


def test_variables_are_known_to_the_statements_after_them() -> None:
    parsed = parse("DEFINE a = 'x'; DEFINE b = '${A}_y'; SET 'p'='${B}'; UNDEFINE b; SET 'p'='${b}';", variables={})
    assert parsed[1].statement == Define("b", "x_y")
    assert [one.statement for one in parsed if isinstance(one.statement, SetProperty)] == [
        SetProperty("p", "x_y"),
        SetProperty("p", "${b}"),
    ]


# Types and schemas.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("boolean", "BOOLEAN"),
        ("INT", "INTEGER"),
        ("INTEGER", "INTEGER"),
        ("bigint", "BIGINT"),
        ("DOUBLE", "DOUBLE"),
        ("VARCHAR", "STRING"),
        ("STRING", "STRING"),
        ("VARCHAR(10)", "STRING"),
        ("VARCHAR(STRING)", "STRING"),
        ("BYTES", "BYTES"),
        ("DATE", "DATE"),
        ("TIME", "TIME"),
        ("TIMESTAMP", "TIMESTAMP"),
        ("DECIMAL(10, 2)", "DECIMAL(10, 2)"),
        ("ARRAY<INT>", "ARRAY<INTEGER>"),
        ("INT ARRAY ARRAY", "ARRAY<ARRAY<INTEGER>>"),
        ("MAP<STRING, ARRAY<INT>>", "MAP<STRING, ARRAY<INTEGER>>"),
        ("STRUCT<a INT, `b` STRUCT<c STRING>>", "STRUCT<`A` INTEGER, `b` STRUCT<`C` STRING>>"),
        ("STRUCT< >", "STRUCT< >"),
        ("point", "STRUCT<`X` INTEGER>"),
        ("ARRAY<POINT>", "ARRAY<STRUCT<`X` INTEGER>>"),
    ],
)
def test_types(text: str, shown: str) -> None:
    custom: dict[str, SqlType] = {"POINT": SqlStruct((Field("X", INTEGER),))}
    assert str(parse_type(text, custom)) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo", "Cannot resolve unknown type: FOO"),
        ("DECIMAL(0, 0)", "DECIMAL precision must be >= 1: DECIMAL(0,0)"),
        ("DECIMAL(2, -1)", "DECIMAL scale must be >= 0: DECIMAL(2,-1)"),
        ("DECIMAL(2, 3)", "DECIMAL precision must be >= scale: DECIMAL(2,3)"),
        ("DECIMAL(1.5, 1)", "Value must be integer for command: DECIMAL(PRECISION)"),
        ("STRUCT<a INT, A STRING>", "Duplicate field names found in STRUCT: '`A` INTEGER' and '`A` STRING'"),
    ],
)
def test_types_that_are_none(text: str, message: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse_type(text)
    assert raised.value.primary == f"Failed to prepare statement: {message}"


@pytest.mark.parametrize(
    "text", ["", "ARRAY", "ARRAY<", "MAP<INT>", "NULL", "DECIMAL", "INT INT", "DECIMAL(1)", "INT()"]
)
def test_text_that_is_no_type(text: str) -> None:
    with pytest.raises(ParseError):
        parse_type(text)


def test_schemas() -> None:
    assert parse_schema("a INT, `b` DECIMAL(4, 2)") == (Element("A", INTEGER), Element("b", SqlDecimal(4, 2)))
    with pytest.raises(ParseError, match="Duplicate column names: `A`"):
        parse_schema("a INT, a INT")
