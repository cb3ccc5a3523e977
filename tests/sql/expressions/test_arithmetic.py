"""+ - * / % over all pairs of types."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.errors import SqlError

from .conftest import Evaluator


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("I + I", "INTEGER", 14),
        ("I - 10", "INTEGER", -3),
        ("I * 3", "INTEGER", 21),
        ("I / 2", "INTEGER", 3),
        ("-I / 2", "INTEGER", -3),
        ("I % 4", "INTEGER", 3),
        ("-I % 4", "INTEGER", -3),
        ("I + L", "BIGINT", 1_000_000_000_007),
        ("L / I", "BIGINT", 142_857_142_857),
        ("L % I", "BIGINT", 1),
        ("I + D", "DOUBLE", 9.5),
        ("L * D", "DOUBLE", 2.5e12),
        ("D / I", "DOUBLE", 2.5 / 7),
        ("D % 2", "DOUBLE", 0.5),
        ("-D % 2", "DOUBLE", -0.5),
        ("P + D", "DOUBLE", 15.0),
        ("D / P", "DOUBLE", 0.2),
        ("P + P", "DECIMAL(7, 2)", Decimal("25.00")),
        ("P - 0.005", "DECIMAL(8, 3)", Decimal("12.495")),
        ("P + I", "DECIMAL(13, 2)", Decimal("19.50")),
        ("L - P", "DECIMAL(22, 2)", Decimal("999999999987.50")),
        ("P * I", "DECIMAL(17, 2)", Decimal("87.50")),
        ("P * P", "DECIMAL(13, 4)", Decimal("156.2500")),
        ("P / 4", "DECIMAL(17, 13)", Decimal("3.1250000000000")),
        ("P % 5", "DECIMAL(6, 2)", Decimal("2.50")),
        ("-P % 5", "DECIMAL(6, 2)", Decimal("-2.50")),
        ("-P", "DECIMAL(6, 2)", Decimal("-12.50")),
        ("+P", "DECIMAL(6, 2)", Decimal("12.50")),
        ("-D", "DOUBLE", -2.5),
        ("(I + 1) * (I - 1)", "INTEGER", 48),
        ("S + '!'", "STRING", "bob!"),
        ("2 * 3 + 4", "INTEGER", 10),
        ("1.5 + 2", "DECIMAL(12, 1)", Decimal("3.5")),
    ],
)
def test_value_and_type(evaluate: Evaluator, text: str, kind: str, value: Any) -> None:
    assert evaluate.type(text) == kind
    result = evaluate(text)
    assert type(result) is type(value)
    assert str(result) == str(value)
    assert evaluate.log.messages == []


@pytest.mark.parametrize(
    ("text", "columns", "value"),
    [
        ("I + 1", {"I": 2**31 - 1}, -(2**31)),
        ("I * I", {"I": 2**31 - 1}, 1),
        ("-I", {"I": -(2**31)}, -(2**31)),
        ("I / -1", {"I": -(2**31)}, -(2**31)),
        ("(I + I) / 2", {"I": 2**31 - 1}, -1),
        ("(I + I) * 2 - I", {"I": 2**31 - 1}, 2**31 - 3),
        ("I + I + L", {"I": 2**31 - 1, "L": 0}, -2),
        ("L + 1", {"L": 2**63 - 1}, -(2**63)),
        ("L * 2", {"L": 2**62}, -(2**63)),
        ("L * 10", {"I": 1, "L": 2**62}, -(2**63)),
        ("2147483647 + 1", {}, -(2**31)),
    ],
)
def test_whole_numbers_wrap_around(evaluate: Evaluator, text: str, columns: dict[str, Any], value: Any) -> None:
    assert evaluate(text, **columns) == value


@pytest.mark.parametrize(
    ("text", "columns"),
    [("I / 0", {}), ("I % I", {"I": 0}), ("L / I", {"I": 0}), ("P / 0", {}), ("P % 0.0", {}), ("P / 3", {})],
)
def test_errors_are_null_and_told(evaluate: Evaluator, text: str, columns: dict[str, Any]) -> None:
    assert evaluate(text, **columns) is None
    assert len(evaluate.log.messages) == 1


def test_doubles_divide_by_zero(evaluate: Evaluator) -> None:
    assert evaluate("D / 0") == math.inf
    assert evaluate("-D / I", I=0) == -math.inf
    assert math.isnan(evaluate("D / D", D=0.0))
    assert math.isnan(evaluate("D % D", D=0.0))


@pytest.mark.parametrize("text", ["I + 1", "I * L", "D - I", "P / I", "-I", "I % 2", "+P", "LEN(S) + 1 + I"])
def test_null_gives_null_quietly(evaluate: Evaluator, text: str) -> None:
    assert evaluate(text, I=None, P=None) is None
    assert evaluate.log.messages == []


def test_null_in_text_is_written(evaluate: Evaluator) -> None:
    assert evaluate("S + 'x'", S=None) == "nullx"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("I + S", "Error processing expression: (I + S). Unsupported arithmetic types. INTEGER STRING"),
        ("B * 2", "Error processing expression: (B * 2). Unsupported arithmetic types. BOOLEAN INTEGER"),
        (
            "I + NULL",
            "Error processing expression: (I + null). Arithmetic on types INTEGER and null are not supported.",
        ),
        ("S - S", "Error processing expression: (S - S). Unsupported arithmetic types. STRING STRING"),
        ("NOPE + 1", "Unknown column NOPE."),
    ],
)
def test_refused(evaluate: Evaluator, text: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        evaluate.type(text)
    assert caught.value.primary == message


def test_decimal_zero_has_no_sign(evaluate: Evaluator) -> None:
    assert str(evaluate("-P", P=Decimal("0.00"))) == "0.00"
