"""Comparisons over all pairs of types; IN, BETWEEN, LIKE, AND, OR, NOT, IS NULL."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.errors import SqlError

from .conftest import Evaluator

OPERATORS = ["=", "<>", "<", "<=", ">", ">="]


@pytest.mark.parametrize(
    ("left", "right", "sign"),
    [
        ("I", "7", 0),
        ("I", "L", -1),
        ("L", "I", 1),
        ("I", "D", 1),
        ("D", "2.5", 0),
        ("P", "12.5", 0),
        ("P", "13", -1),
        ("P", "D", 1),
        ("I", "P", -1),
        ("S", "'bob'", 0),
        ("S", "'Bob'", 1),
        ("DT", "TS", 0),
        ("TS", "DT", 0),
        ("TS", "'1970-01-02'", 0),
        ("'1970-01-03T00:00'", "TS", 1),
        ("DT", "'1970-01-01'", 1),
        ("TM", "'00:59:59'", 1),
        ("TM", "TM", 0),
        ("I + 1", "8", 0),
        ("LEN(S)", "I", -1),
    ],
)
def test_order(evaluate: Evaluator, left: str, right: str, sign: int) -> None:
    found = [evaluate(f"{left} {operator} {right}") for operator in OPERATORS]
    assert found == [sign == 0, sign != 0, sign < 0, sign <= 0, sign > 0, sign >= 0]


@pytest.mark.parametrize(("left", "right"), [("I", "L"), ("S", "'x'"), ("D", "I"), ("P", "I"), ("TS", "DT")])
@pytest.mark.parametrize("operator", OPERATORS)
def test_null_is_false(evaluate: Evaluator, left: str, right: str, operator: str) -> None:
    assert evaluate(f"{left} {operator} {right}", I=None, S=None, TS=None) is False
    assert evaluate.log.messages == []


def test_null_on_both_sides_is_not_equal(evaluate: Evaluator) -> None:
    assert evaluate("I = L", I=None, L=None) is False
    assert evaluate("ARR[1] = ARR[2]", ARR=None) is False


@pytest.mark.parametrize(
    ("columns", "distinct"),
    [
        ({"I": 1, "L": 1}, False),
        ({"I": 1, "L": 2}, True),
        ({"I": None, "L": 2}, True),
        ({"I": 1, "L": None}, True),
        ({"I": None, "L": None}, False),
    ],
)
def test_distinct(evaluate: Evaluator, columns: dict[str, Any], distinct: bool) -> None:
    assert evaluate("I IS DISTINCT FROM L", **columns) is distinct
    assert evaluate("I IS NOT DISTINCT FROM L", **columns) is not distinct


def test_distinct_times_and_texts(evaluate: Evaluator) -> None:
    assert evaluate("TS IS DISTINCT FROM S", TS=None, S=None) is False
    assert evaluate("TS IS DISTINCT FROM S", TS=0, S=None) is True
    assert evaluate("TS IS NOT DISTINCT FROM S", TS=0, S="1970") is True


def test_no_number(evaluate: Evaluator) -> None:
    assert evaluate("D = D", D=math.nan) is False
    assert evaluate("D <> 1", D=math.nan) is False
    assert evaluate("P < D", D=math.nan) is None
    assert len(evaluate.log.messages) == 1


def test_bigint_is_rounded_beside_a_double(evaluate: Evaluator) -> None:
    assert evaluate("L = D", L=2**53 + 1, D=float(2**53)) is True


def test_texts_are_ordered_by_utf16_units(evaluate: Evaluator) -> None:
    beyond, private = "\U00010000", "\ue000"
    assert evaluate("S < ARRAY[S, S][1]", S=beyond) is False
    assert evaluate(f"S < '{private}'", S=beyond) is True
    assert evaluate(f"S >= '{private}'", S=beyond) is False


def test_bytes_are_signed(evaluate: Evaluator) -> None:
    assert evaluate("RAW < TO_BYTES('0101', 'hex')", RAW=b"\x80") is True
    assert evaluate("RAW = TO_BYTES('80', 'hex')", RAW=b"\x80") is True


def test_nested_values(evaluate: Evaluator) -> None:
    assert evaluate("ARR = ARRAY[10, 20, 30]") is True
    assert evaluate("ARR <> ARRAY[10]") is True
    assert evaluate("M = MAP('a' := CAST(1 AS BIGINT), 'b' := CAST(NULL AS BIGINT))") is True
    assert evaluate("ST = STRUCT(A := 4, C := 'x')") is True
    assert evaluate("ST = STRUCT(C := 4, A := 'x')") is False
    assert evaluate("ARR = ARRAY[CAST(10 AS BIGINT)]") is False


def test_text_that_is_no_time_fails_for_each_record(evaluate: Evaluator) -> None:
    assert evaluate("TS = 'soon'") is None
    assert evaluate("TS = S") is None
    assert [cause[0].partition("\n")[0] for _, cause in evaluate.log.messages] == [
        "Failed to parse timestamp 'soon': Text 'soon-01-01T00:00:00.000' could not be parsed",
        "Failed to parse timestamp 'bob': Text 'bob-01-01T00:00:00.000' could not be parsed",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("I = S", "Cannot compare I (INTEGER) to S (STRING) with EQUAL."),
        ("B < TRUE", "Cannot compare B (BOOLEAN) to true (BOOLEAN) with LESS_THAN."),
        ("ARR < ARR", "Cannot compare ARR (ARRAY<INTEGER>) to ARR (ARRAY<INTEGER>) with LESS_THAN."),
        ("TM > TS", "Cannot compare TM (TIME) to TS (TIMESTAMP) with GREATER_THAN."),
        ("RAW = S", "Cannot compare RAW (BYTES) to S (STRING) with EQUAL."),
        (
            "I = NULL",
            "Comparison with NULL not supported: INTEGER = NULL\nUse 'IS NULL' or 'IS NOT NULL' instead.",
        ),
    ],
)
def test_refused(evaluate: Evaluator, text: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        evaluate.type(text)
    assert caught.value.primary == message


@pytest.mark.parametrize(
    ("text", "columns", "value"),
    [
        ("I IN (1, 7)", {}, True),
        ("I IN (1, L)", {"L": 7}, True),
        ("I IN (1, '7')", {}, True),
        ("I IN (7.0, 8)", {}, True),
        ("I IN (7.5)", {}, False),
        ("I NOT IN (1, 2)", {}, True),
        ("I IN (7, NULL)", {}, True),
        ("I IN (NULL)", {}, False),
        ("I IN (1, 7)", {"I": None}, False),
        ("I NOT IN (1, 7)", {"I": None}, True),
        ("S IN ('bob', 'eve')", {}, True),
        ("S IN (5, 'eve')", {"S": "5"}, True),
        ("B IN ('yes')", {}, True),
        ("TS IN ('1970-01-02')", {}, True),
        ("ARR IN (ARRAY[10, 20, 30])", {}, True),
        ("ARR IN (ARRAY['10', '20', 30])", {}, True),
        ("ST IN (STRUCT(A := 4, C := 'x'))", {}, True),
        ("ST IN (STRUCT(A := 4, X := 'x'))", {}, False),
        ("D IN (I, 2.5)", {}, True),
    ],
)
def test_in(evaluate: Evaluator, text: str, columns: dict[str, Any], value: Any) -> None:
    assert evaluate(text, **columns) is value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("I IN ('x')", 'Invalid Predicate: invalid input syntax for type INTEGER: "x".'),
        ("B IN ('maybe')", 'Invalid Predicate: invalid input syntax for type BOOLEAN: "maybe".'),
        (
            "I IN (1, TRUE)",
            "Invalid Predicate: operator does not exist: INTEGER = BOOLEAN (true)\n"
            "Hint: You might need to add explicit type casts.",
        ),
        (
            "D IN (1, S)",
            "Invalid Predicate: operator does not exist: DOUBLE = STRING (S)\n"
            "Hint: You might need to add explicit type casts.",
        ),
        (
            "ARR IN (ARRAY[B])",
            "Invalid Predicate: operator does not exist: ARRAY<INTEGER> = ARRAY<BOOLEAN> (ARRAY[B])\n"
            "Hint: You might need to add explicit type casts.",
        ),
    ],
)
def test_in_refused(evaluate: Evaluator, text: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        evaluate.test(text)
    assert caught.value.primary.startswith(message)


@pytest.mark.parametrize(
    ("text", "columns", "value"),
    [
        ("I BETWEEN 7 AND 8", {}, True),
        ("I BETWEEN 8 AND 9", {}, False),
        ("I NOT BETWEEN 8 AND 9", {}, True),
        ("I BETWEEN 1 AND 9", {"I": None}, False),
        ("P BETWEEN D AND 12.50", {}, True),
        ("S BETWEEN 'a' AND 'c'", {}, True),
        ("ARR[2] BETWEEN 19 AND I + 14", {}, True),
    ],
)
def test_between(evaluate: Evaluator, text: str, columns: dict[str, Any], value: Any) -> None:
    assert evaluate(text, **columns) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("S LIKE 'b%'", True),
        ("S LIKE '_o_'", True),
        ("S LIKE 'b'", False),
        ("S NOT LIKE '%x%'", True),
        ("'10%' LIKE '10!%' ESCAPE '!'", True),
        ("'100' LIKE '10!%' ESCAPE '!'", False),
        ("S LIKE S", True),
        ("'a.c' LIKE 'a.c'", True),
        ("'abc' LIKE 'a.c'", False),
    ],
)
def test_like(evaluate: Evaluator, text: str, value: Any) -> None:
    assert evaluate(text) is value


def test_like_stays_on_one_line(evaluate: Evaluator) -> None:
    assert evaluate("S LIKE 'a%b'", S="a\nb") is False


def test_like_null_is_null(evaluate: Evaluator) -> None:
    assert evaluate("S LIKE 'a'", S=None) is None
    assert evaluate.test("NOT (S LIKE 'a')", S=None) is False


def test_like_pattern_ends_with_escape(evaluate: Evaluator) -> None:
    with pytest.raises(SqlError, match="LIKE pattern must not end with escape character"):
        evaluate("S LIKE 'a!' ESCAPE '!'")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I = 7 AND B", True),
        ("I = 8 AND I / 0 = 1", False),
        ("I = 7 OR I / 0 = 1", True),
        ("NOT B", False),
        ("I = 8 OR NOT (D > 3)", True),
        ("I IS NULL", False),
        ("I + 1 IS NOT NULL", True),
        ("NULL IS NULL", True),
    ],
)
def test_logic(evaluate: Evaluator, text: str, value: Any) -> None:
    assert evaluate(text) is value


@pytest.mark.parametrize("text", ["B AND I = 7", "NOT B", "I = 8 OR B", "CASE WHEN B THEN 1 ELSE 2 END = 2"])
def test_a_condition_that_is_null_is_an_error(evaluate: Evaluator, text: str) -> None:
    assert evaluate(text, B=None) is None
    assert evaluate.log.messages[0][1] == ["a condition is NULL"]
    assert evaluate.test(text, B=None) is False


def test_null_arithmetic_inside_is_an_error(evaluate: Evaluator) -> None:
    assert evaluate.test("NOT (I + 1 > 5)", I=None) is False
    assert evaluate.test("I + 1 > 5", I=7) is True
    assert evaluate("COALESCE(I + 1, 0)", I=None) is None
    assert evaluate.test("I + 1 IS NULL", I=None) is True


def test_predicates(evaluate: Evaluator) -> None:
    assert evaluate.test("B") is True
    assert evaluate.test("B", B=None) is False
    assert evaluate.test("I > 5") is True
    assert evaluate.test("I / 0 > 5") is False
    assert evaluate.log.messages[-1][0] == "Error evaluating predicate ((I / 0) > 5)"


def test_decimal_constant_beside_double(evaluate: Evaluator) -> None:
    assert evaluate("D = 2.5") is True
    assert evaluate("D > P", D=12.51) is True
    assert evaluate("P = D", P=Decimal("0.10"), D=0.1) is True


def test_constants_on_both_sides(evaluate: Evaluator) -> None:
    assert evaluate("NULL IN (I)", I=None) is False
    assert evaluate("5 IN (I, L)", I=5) is True
    assert evaluate("D IS DISTINCT FROM 2.5e0") is False
    assert evaluate("D IS DISTINCT FROM 2.5e0", D=None) is True
    assert evaluate("D IS NOT DISTINCT FROM 2.5e0", D=None) is False
    assert evaluate("1 < 2 AND 'a' <> 'b'") is True
