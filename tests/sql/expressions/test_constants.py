"""Values of INSERT VALUES, and times of records as text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.expressions import CoercionError, coerce, evaluate_constant, with_times
from millstream.sql.functions.registry import Registry
from millstream.sql.parser import parse_expression
from millstream.sql.schema.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)
from millstream.sql.tree.format import format_expression


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1", INTEGER, 1),
        ("1 + 2", BIGINT, 3),
        ("-1", DOUBLE, -1.0),
        ("5", SqlDecimal(4, 2), Decimal("5.00")),
        ("1.5", DOUBLE, 1.5),
        ("1.5", SqlDecimal(4, 2), Decimal("1.50")),
        ("'a' || 'b'", STRING, "ab"),
        ("NULL", INTEGER, None),
        ("CAST(NULL AS INTEGER)", BIGINT, None),
        ("TRUE", BOOLEAN, True),
        ("'1970-01-01T00:00:01'", TIMESTAMP, 1000),
        ("'00:00:01'", TIME, 1000),
        ("'1970-01-02'", DATE, 1),
        ("'YWI='", BYTES, b"ab"),
        ("ARRAY[1, 2]", SqlArray(BIGINT), [1, 2]),
        ("MAP('a' := 1)", SqlMap(STRING, DOUBLE), {"a": 1.0}),
        ("STRUCT(B := 1)", SqlStruct((Field("A", STRING), Field("B", BIGINT))), (None, 1)),
        ("UCASE('x')", STRING, "X"),
    ],
)
def test_values(functions: Registry, text: str, kind: SqlType, value: Any) -> None:
    result = evaluate_constant(parse_expression(text), kind, functions, name="C")
    assert type(result) is type(value)
    assert result == value


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("'x'", INTEGER, "Expected type INTEGER for field `C` but got STRING(x)"),
        ("5000000000", INTEGER, "Expected type INTEGER for field `C` but got BIGINT(5000000000)"),
        ("1.555", SqlDecimal(3, 2), "Expected type DECIMAL(3, 2) for field `C` but got DECIMAL(1.555)"),
        (
            "'soon'",
            TIMESTAMP,
            "Expected type TIMESTAMP for field `C` but got STRING(soon). "
            "Timestamp format must be yyyy-mm-ddThh:mm:ss[.S]",
        ),
        ("'x'", DATE, "Expected type DATE for field `C` but got STRING(x). Date format must be yyyy-mm-dd"),
        ("ARRAY['a']", SqlArray(INTEGER), "Expected type ARRAY<INTEGER> for field `C` but got ARRAY([a])"),
        ("X + 1", INTEGER, "Unsupported column reference in insert value: (X + 1)"),
        ("1 / 0", INTEGER, "Cannot be evaluated\nCaused by: integer division or modulo by zero"),
    ],
)
def test_refused(functions: Registry, text: str, kind: SqlType, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        evaluate_constant(parse_expression(text), kind, functions, name="C")
    assert caught.value.primary == message


def test_coercion_of_values() -> None:
    assert coerce("12", STRING, INTEGER, lax=True) == 12
    assert coerce(12, INTEGER, STRING, lax=True) == "12"
    with pytest.raises(CoercionError):
        coerce("12", STRING, INTEGER)
    with pytest.raises(CoercionError):
        coerce(True, BOOLEAN, INTEGER, lax=True)


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("ROWTIME > '2020-01-01'", "(ROWTIME > 1577836800000)"),
        ("'2020' <= T.ROWTIME", "(1577836800000 <= T.ROWTIME)"),
        ("NOT (WINDOWSTART BETWEEN '2020' AND 5)", "(NOT (WINDOWSTART BETWEEN 1577836800000 AND 5))"),
        ("X = '2020' AND WINDOWEND < '2020-01-01T00:00:00.001'", "((X = '2020') AND (WINDOWEND < 1577836800001))"),
    ],
)
def test_times_of_records(text: str, rewritten: str) -> None:
    assert format_expression(with_times(parse_expression(text))) == rewritten


def test_text_that_is_no_time() -> None:
    with pytest.raises(SqlError, match="Failed to parse timestamp 'soon'"):
        with_times(parse_expression("ROWTIME = 'soon'"))
