"""Expressions: what binds how, and what literals are."""

from __future__ import annotations

from decimal import Decimal

import pytest

from millstream.sql.errors import Location, ParseError
from millstream.sql.parser import parse_expression
from millstream.sql.schema.types import INTEGER, SqlDecimal
from millstream.sql.tree.expressions import (
    BooleanLiteral,
    Cast,
    ColumnReference,
    CreateArray,
    CreateMap,
    CreateStruct,
    DateLiteral,
    DecimalLiteral,
    Dereference,
    DoubleLiteral,
    Expression,
    FunctionCall,
    IntegerLiteral,
    IntervalUnit,
    LambdaFunction,
    LambdaVariable,
    Like,
    LongLiteral,
    Not,
    NullLiteral,
    SearchedCase,
    Sign,
    SimpleCase,
    StringLiteral,
    Subscript,
    TimeLiteral,
    TimestampLiteral,
    TimeUnit,
    When,
)
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.walk import walk

A = ColumnReference("A")
ONE = IntegerLiteral(1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a OR b AND c", "(A OR (B AND C))"),
        ("NOT a AND b", "((NOT A) AND B)"),
        ("NOT a = b", "(NOT (A = B))"),
        ("a + b * c", "(A + (B * C))"),
        ("a - b - c", "((A - B) - C)"),
        ("a * b / c % d", "(((A * B) / C) % D)"),
        ("(a + b) * c", "((A + B) * C)"),
        ("-a * b", "(-A * B)"),
        ("a || b + c", "concat(A, (B + C))"),
        ("a || b || c", "concat(concat(A, B), C)"),
        ("a = b + 1", "(A = (B + 1))"),
        ("a BETWEEN 1 AND 2 AND b", "((A BETWEEN 1 AND 2) AND B)"),
        ("a NOT BETWEEN 1 AND 2", "(NOT (A BETWEEN 1 AND 2))"),
        ("a IN (1, b OR c)", "(A IN (1, (B OR C)))"),
        ("a NOT IN (1)", "(NOT (A IN (1)))"),
        ("a LIKE 'x%'", "(A LIKE 'x%')"),
        ("a NOT LIKE 'x' ESCAPE '!'", "(NOT (A LIKE 'x' ESCAPE '!'))"),
        ("a IS NULL OR b IS NOT NULL", "((A IS NULL) OR (B IS NOT NULL))"),
        ("a IS DISTINCT FROM b", "(A IS DISTINCT FROM B)"),
        ("a IS NOT DISTINCT FROM b", "(NOT (A IS DISTINCT FROM B))"),
        ("a != b", "(A <> B)"),
        ("a <> b", "(A <> B)"),
        ("a <= b", "(A <= B)"),
        ("s.a->b->c[1]['k']", "S.A->B->C[1]['k']"),
        ("a - -1", "(A - -1)"),
        ("- -1", "- -1"),
        ("-(1)", "-1"),
        ("a -1", "(A - 1)"),
        ("a AT TIME ZONE 'UTC'", "(A AT TIME ZONE 'UTC')"),
        ("CASE WHEN a THEN 1 END", "(CASE WHEN A THEN 1 END)"),
        ("array[1]", "ARRAY[1]"),
        ("date + time", "(DATE + TIME)"),
    ],
)
def test_operators_bind(text: str, shown: str) -> None:
    assert format_expression(parse_expression(text)) == shown


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("NULL", NullLiteral()),
        ("true", BooleanLiteral(True)),
        ("False", BooleanLiteral(False)),
        ("2147483647", IntegerLiteral(2**31 - 1)),
        ("2147483648", LongLiteral(2**31)),
        ("-2147483648", IntegerLiteral(-(2**31))),
        ("-9223372036854775808", LongLiteral(-(2**63))),
        ("007", IntegerLiteral(7)),
        ("1.50", DecimalLiteral(Decimal("1.50"))),
        ("1.", DecimalLiteral(Decimal("1"))),
        (".5", DecimalLiteral(Decimal("0.5"))),
        ("-.5", DecimalLiteral(Decimal("-0.5"))),
        ("1e3", DoubleLiteral(1000.0)),
        ("1E+3", DoubleLiteral(1000.0)),
        ("-1.5e-3", DoubleLiteral(-0.0015)),
        ("'it''s'", StringLiteral("it's")),
        ("''", StringLiteral("")),
        ("'two\nlines -- no comment'", StringLiteral("two\nlines -- no comment")),
        ("DATE '2020-02-29'", DateLiteral(18321)),
        ("time '10:00:00.5'", TimeLiteral(36_000_500)),
        ("TIMESTAMP '1970-01-02'", TimestampLiteral(86_400_000)),
        ("TIMESTAMP '1970-01-01T00:00:00.001'", TimestampLiteral(1)),
        ("TIMESTAMP '1970-01-01T01:00:00+01:00'", TimestampLiteral(0)),
    ],
)
def test_literals(text: str, literal: Expression) -> None:
    parsed = parse_expression(text)

    assert parsed == literal
    if isinstance(literal, DecimalLiteral):
        assert isinstance(parsed, DecimalLiteral)
        assert str(parsed.value) == str(literal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9223372036854775808", "line 1:2: Invalid numeric literal: 9223372036854775808"),
        ("-9223372036854775809", "Invalid numeric literal: -9223372036854775809"),
        ("1" * 5_000, "Invalid numeric literal"),
        ("1e309", "Number overflows DOUBLE: 1e309"),
        ("DATE '2020-13-01'", "Invalid DATE literal: 2020-13-01"),
        ("TIME '24:00'", "Invalid TIME literal"),
        ("TIMESTAMP 'yesterday'", "Invalid TIMESTAMP literal"),
        ("TIMESTAMP '2020-01-01T00:00Nowhere/City'", "Invalid TIMESTAMP literal"),
        ("FOO 'x'", "Unknown type: FOO"),
        ("a LIKE 'x' ESCAPE '!!'", "Line: 1, Col: 19: Expected single character escape but got: !!"),
        ("MAP('a' := 1, 'a' := 2)", "Multiple entries with same key: 'a'=1 and 'a'=2"),
        ("CAST(a AS FOO)", "Cannot resolve unknown type: FOO"),
    ],
)
def test_what_follows_the_grammar_and_means_nothing(text: str, message: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse_expression(text)
    assert raised.value.primary.startswith("Failed to prepare statement: ")
    assert message in raised.value.primary


@pytest.mark.parametrize(
    "text", ["", "a b", "a = b = c", "1 +", "(a", "a)", "f(a,)", "CASE END", "f(x => x)", "SELECT", "a;"]
)
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ParseError, match="Syntax Error"):
        parse_expression(text)


def test_calls() -> None:
    assert parse_expression("f()") == FunctionCall("F", ())
    assert parse_expression("count(*)") == FunctionCall("COUNT", ())
    assert parse_expression("`f`(a, 1)") == FunctionCall("f", (A, ONE))
    assert parse_expression("replace(a, 1)") == FunctionCall("REPLACE", (A, ONE))


def test_units_are_arguments_unless_they_are_names() -> None:
    assert parse_expression("dateadd(days, 1, a)") == FunctionCall("DATEADD", (IntervalUnit(TimeUnit.DAYS), ONE, A))
    assert parse_expression("f(MILLISECOND)") == FunctionCall("F", (IntervalUnit(TimeUnit.MILLISECONDS),))
    assert parse_expression("f(second)") == FunctionCall("F", (ColumnReference("SECOND"),))


def test_constructors() -> None:
    assert parse_expression("ARRAY[]") == CreateArray(())
    assert parse_expression("ARRAY[a, 1]") == CreateArray((A, ONE))
    assert parse_expression("MAP()") == CreateMap(())
    assert parse_expression("map('k' := a)") == CreateMap(((StringLiteral("k"), A),))
    assert parse_expression("STRUCT(x := 1, `y` := a)") == CreateStruct((("X", ONE), ("y", A)))


def test_case() -> None:
    assert parse_expression("CASE WHEN a THEN 1 ELSE NULL END") == SearchedCase((When(A, ONE),), NullLiteral())
    assert parse_expression("CASE a WHEN 1 THEN a WHEN a THEN 1 END") == SimpleCase(
        A, (When(ONE, A), When(A, ONE)), None
    )


def test_cast_and_access() -> None:
    assert parse_expression("CAST(a AS DECIMAL(4, 2))") == Cast(A, SqlDecimal(4, 2))
    assert parse_expression("CAST(a AS INT)") == Cast(A, INTEGER)
    assert parse_expression("a->`b`") == Dereference(A, "b")
    assert parse_expression("s.a[-1]") == Subscript(ColumnReference("A", "S"), IntegerLiteral(-1))


def test_signs() -> None:
    assert parse_expression("-1") == IntegerLiteral(-1)
    assert parse_expression("- 1") == IntegerLiteral(-1)
    assert parse_expression("+1") == Sign(False, ONE)
    assert parse_expression("-(1)") == Sign(True, ONE)
    assert parse_expression("-a") == Sign(True, A)


def test_like_takes_a_pattern_that_is_no_literal() -> None:
    assert parse_expression("a LIKE a ESCAPE '\\'") == Like(A, A, "\\")
    assert parse_expression("a NOT LIKE a") == Not(Like(A, A))


def test_parameters_of_lambdas_are_variables_in_their_bodies() -> None:
    body = parse_expression("f(a, x => g(y, (y) => x + y + a))")

    inner = LambdaFunction(("Y",), parse_expression("x + y + a"))
    assert isinstance(body, FunctionCall)
    outer = body.arguments[1]
    assert isinstance(outer, LambdaFunction)
    assert outer.parameters == ("X",)
    assert format_expression(outer) == "(X) => G(Y, (Y) => ((X + Y) + A))"
    call = outer.body
    assert isinstance(call, FunctionCall)
    assert call.arguments[0] == ColumnReference("Y")
    bound = call.arguments[1]
    assert isinstance(bound, LambdaFunction)
    assert bound != inner
    assert format_expression(bound) == format_expression(inner)
    assert LambdaVariable("X") in _parts(bound.body)
    assert LambdaVariable("Y") in _parts(bound.body)
    assert A in _parts(bound.body)


def _parts(expression: Expression) -> list[Expression]:
    return list(walk(expression))


@pytest.mark.parametrize("text", ["f(a, (x, y) => x)", "f(a, (x) => x)", "f(a, x => x, y => y)"])
def test_lambdas_come_last(text: str) -> None:
    call = parse_expression(text)
    assert isinstance(call, FunctionCall)
    assert isinstance(call.arguments[-1], LambdaFunction)


@pytest.mark.parametrize("text", ["f(a, (x + 1) => x)", "f(a, (s.x) => x)", "f(a, ((x)) => x)"])
def test_parameters_of_lambdas_are_names(text: str) -> None:
    with pytest.raises(ParseError, match="parameters"):
        parse_expression(text)


def test_expressions_know_where_they_are() -> None:
    expression = parse_expression("a +\n  foo(b)")
    assert expression.at == Location(1, 3)
    assert [part.at for part in _parts(expression)[1:]] == [Location(1, 1), Location(2, 3), Location(2, 7)]
