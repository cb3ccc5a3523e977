"""Signatures as text."""

from __future__ import annotations

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.functions.signature import apply, is_generic, parse, variables
from millstream.sql.schema.types import BIGINT, INTEGER, STRING, Field, SqlArray, SqlDecimal, SqlMap, SqlStruct


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("() -> INTEGER", "() -> INT"),
        ("(STRING) -> STRING", "(VARCHAR) -> VARCHAR"),
        ("(ARRAY<T> list, LAMBDA (T, U) -> V f) -> MAP<T, V>", "(ARRAY<T> list, LAMBDA (T, U) => V f) -> MAP<T, V>"),
        ("(BIGINT a, STRING... b; INTEGER c) -> BIGINT", "(BIGINT a, VARCHAR... b, INT c) -> BIGINT"),
        ("(STRUCT<A STRING, `b c` INT> s) -> STRUCT", "(STRUCT<A VARCHAR, b c INT> s) -> STRUCT<>"),
        ("(ANY x, INTERVALUNIT u, DECIMAL d) -> DECIMAL(4, 2)", "(ANY x, INTERVALUNIT u, DECIMAL d) -> DECIMAL(4, 2)"),
    ],
)
def test_reads_signatures(text: str, written: str) -> None:
    assert str(parse(text)) == written


@pytest.mark.parametrize(
    "text", ["", "INTEGER", "(INTEGER", "(NOPE) -> INTEGER", "(INT..., INT...) -> INT", "() -> INT INT"]
)
def test_refuses_what_is_no_signature(text: str) -> None:
    with pytest.raises(ValueError, match="not a signature"):
        parse(text)


def test_constants_follow_a_semicolon() -> None:
    assert parse("(T a; INT b, STRING... c) -> T").constants == 2
    assert parse("(T a, INT b) -> T").constants == 0
    assert parse("(T a; INT b, STRING... c) -> T").variadic == 2


def test_variables_of_nested_types() -> None:
    signature = parse("(MAP<K, ARRAY<V>> m, LAMBDA (K) => U f, INT i) -> U")
    assert list(variables(signature.parameters[0].type)) == ["K", "V"]
    assert is_generic(signature.parameters[1].type)
    assert not is_generic(signature.parameters[2].type)


def test_applies_bindings() -> None:
    returns = parse("() -> MAP<K, STRUCT<A ARRAY<V>, B DECIMAL(4, 2)>>").returns
    struct = SqlStruct((Field("A", SqlArray(INTEGER)), Field("B", SqlDecimal(4, 2))))
    assert apply(returns, {"K": STRING, "V": INTEGER}) == SqlMap(STRING, struct)
    assert apply(parse("() -> T").returns, {"T": BIGINT}) == BIGINT


def test_unbound_variables_are_errors() -> None:
    with pytest.raises(SqlError, match="Could not find mapping for generic type: T"):
        apply(parse("() -> ARRAY<T>").returns, {})
