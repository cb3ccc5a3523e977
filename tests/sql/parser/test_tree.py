"""Expressions as text, and going through them."""

from __future__ import annotations

import pytest

from millstream.sql.parser import parse_expression
from millstream.sql.schema.types import STRING, Field, SqlStruct, quote
from millstream.sql.tree.expressions import (
    BytesLiteral,
    Cast,
    ColumnReference,
    DateLiteral,
    DoubleLiteral,
    Expression,
    FunctionCall,
    IntegerLiteral,
    TimeLiteral,
    TimestampLiteral,
)
from millstream.sql.tree.format import format_expression, format_type
from millstream.sql.tree.walk import children, references, rewrite, walk

EVERYTHING = (
    "CASE a WHEN 1 THEN f(b, c->d, e[1]) ELSE CAST(g AS STRING) END = ARRAY[h, -i][1] AND j IN (k, 2) "
    "OR MAP('x' := l) IS NULL AND STRUCT(y := m) IS NOT NULL AND n BETWEEN o AND p AND NOT q LIKE r "
    "AND CASE WHEN s THEN t END AND u(v, (w, x) => w + x + y) AND z AT TIME ZONE 'UTC'"
)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (parse_expression("count(*)"), "COUNT(*)"),
        (parse_expression("foo(*)"), "FOO()"),
        (parse_expression("'it''s'"), "'it''s'"),
        (parse_expression("null"), "null"),
        (parse_expression("TRUE"), "true"),
        (parse_expression("1.50"), "1.50"),
        (parse_expression("`a b`.`c`->`d`"), "a b.c->d"),
        (parse_expression("struct(`a` := 1, b := map(1 := 'x'))"), "STRUCT(a:=1, B:=MAP(1:='x'))"),
        (parse_expression("dateadd(hours, 1, a)"), "DATEADD(HOURS, 1, A)"),
        (parse_expression("f(a, x => x, (y, z) => y)"), "F(A, (X) => X, (Y, Z) => Y)"),
        (parse_expression("case a when 1 then 2 else 3 end"), "(CASE A WHEN 1 THEN 2 ELSE 3 END)"),
        (parse_expression("+a"), "+A"),
        (DoubleLiteral(1.0), "1E0"),
        (DoubleLiteral(0.0), "0E0"),
        (DoubleLiteral(-123.25), "-1.2325E2"),
        (DoubleLiteral(0.1), "1E-1"),
        (DoubleLiteral(1e300), "1E300"),
        (DateLiteral(18321), "2020-02-29"),
        (TimeLiteral(36_000_000), "10:00"),
        (TimeLiteral(36_001_005), "10:00:01.005"),
        (TimestampLiteral(1), "1970-01-01T00:00:00.001"),
        (BytesLiteral(b"\x01\xff"), "ByteBuffer.wrap(new byte[]{1,-1})"),
        (Cast(ColumnReference("A"), SqlStruct((Field("B", STRING),))), "CAST(A AS STRUCT<B STRING>)"),
    ],
)
def test_expressions_as_text(expression: Expression, shown: str) -> None:
    assert format_expression(expression) == shown


def test_names_can_be_put_in_quotes() -> None:
    expression = parse_expression("cast(s.a->b as struct<c int>)")
    assert format_expression(expression, quote) == "CAST(`S`.`A`->`B` AS STRUCT<`C` INTEGER>)"
    assert format_type(SqlStruct(()), quote) == "STRUCT< >"


@pytest.mark.parametrize("text", [EVERYTHING, "a || b", "-(-1)", "- - -a", "NOT NOT a", "1e-7", '`a` = "B"'])
def test_text_of_an_expression_is_that_expression(text: str) -> None:
    # As `CONCAT` was called by an operator, it is shown in small letters.
    expression = rewrite(parse_expression(text), _in_large_letters)
    assert parse_expression(format_expression(expression, quote).replace("`CONCAT`", "CONCAT")) == expression


def _in_large_letters(part: Expression) -> Expression | None:
    if isinstance(part, FunctionCall) and part.name == "concat":
        return FunctionCall("CONCAT", part.arguments)
    return None


def test_everything_in_an_expression_is_found_in_its_order() -> None:
    expression = parse_expression(EVERYTHING)
    names = [reference.name for reference in references(expression)]
    assert names == list("ABCEGHIJKLMNOPQRSTUVYZ".replace("U", ""))
    assert len(list(walk(expression))) > 50


def test_children_are_one_level_down() -> None:
    assert list(children(parse_expression("a + b * c"))) == [parse_expression("a"), parse_expression("b * c")]
    assert list(children(IntegerLiteral(1))) == []


def test_rewriting_keeps_what_does_not_change() -> None:
    expression = parse_expression(EVERYTHING)
    assert rewrite(expression, lambda part: None) is expression


def test_rewriting_replaces_outer_parts_first() -> None:
    zero = IntegerLiteral(0)
    expression = parse_expression("f(a + 1, ARRAY[b], MAP('k' := 2))")

    numbers = rewrite(expression, lambda part: zero if isinstance(part, IntegerLiteral) else None)
    calls = rewrite(expression, lambda part: zero if isinstance(part, FunctionCall) else None)

    assert format_expression(numbers) == "F((A + 0), ARRAY[B], MAP('k':=0))"
    assert calls is zero
