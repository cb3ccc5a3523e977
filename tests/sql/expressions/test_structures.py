"""Arrays, maps, structs, CASE, calls and lambdas."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.functions.registry import Registry

from .conftest import Evaluator


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("ARR[1]", "INTEGER", 10),
        ("ARR[3]", "INTEGER", 30),
        ("ARR[4]", "INTEGER", None),
        ("ARR[0]", "INTEGER", None),
        ("ARR[-1]", "INTEGER", 30),
        ("ARR[-4]", "INTEGER", None),
        ("ARR[I - 5]", "INTEGER", 20),
        ("M['a']", "BIGINT", 1),
        ("M['z']", "BIGINT", None),
        ("M[S]", "BIGINT", None),
        ("ST->A", "INTEGER", 4),
        ("ST->C", "STRING", "x"),
        ("ARRAY[1, 2]", "ARRAY<INTEGER>", [1, 2]),
        ("ARRAY[I, L]", "ARRAY<BIGINT>", [7, 1_000_000_000_000]),
        ("ARRAY[I, 2.5, '3']", "ARRAY<DECIMAL(11, 1)>", [Decimal("7.0"), Decimal("2.5"), Decimal("3.0")]),
        ("ARRAY[NULL, I]", "ARRAY<INTEGER>", [None, 7]),
        ("ARRAY['a', 1, TRUE]", "ARRAY<STRING>", ["a", "1", "true"]),
        ("ARRAY[D, I]", "ARRAY<DOUBLE>", [2.5, 7.0]),
        ("ARRAY[ARRAY[1], ARRAY[L]]", "ARRAY<ARRAY<BIGINT>>", [[1], [1_000_000_000_000]]),
        ("MAP('a' := 1, 'b' := L)", "MAP<STRING, BIGINT>", {"a": 1, "b": 1_000_000_000_000}),
        ("STRUCT(X := I, Y := S)", "STRUCT<`X` INTEGER, `Y` STRING>", (7, "bob")),
        ("ARRAY[STRUCT(A := I), STRUCT(C := S)]", "ARRAY<STRUCT<`C` STRING, `A` INTEGER>>", [(None, 7), ("bob", None)]),
        ("ARRAY[ST][1]->C", "STRING", "x"),
        ("CASE WHEN I > 5 THEN 'big' WHEN B THEN 'b' END", "STRING", "big"),
        ("CASE WHEN I > 9 THEN 'big' ELSE S END", "STRING", "bob"),
        ("CASE WHEN I > 9 THEN 1 END", "INTEGER", None),
        ("CASE WHEN I > 9 THEN NULL ELSE L + 1 END", "BIGINT", 1_000_000_000_001),
        ("CASE I WHEN 1 THEN 'one' WHEN 7 THEN 'seven' ELSE 'other' END", "STRING", "seven"),
        ("UCASE(S)", "STRING", "BOB"),
        ("S || '!'", "STRING", "bob!"),
        ("LEN(UCASE(S)) + 1", "INTEGER", 4),
        ("TRANSFORM(ARR, x => x + I)", "ARRAY<INTEGER>", [17, 27, 37]),
        ("FILTER(ARR, x => x > 15 AND B)", "ARRAY<INTEGER>", [20, 30]),
        ("REDUCE(ARR, 0, (s, x) => s + x)", "INTEGER", 60),
        ("TRANSFORM(ARR, x => CAST(x AS STRING))", "ARRAY<STRING>", ["10", "20", "30"]),
        (
            "TRANSFORM(ARRAY[ARR, ARR], a => REDUCE(a, I, (s, x) => s + x))",
            "ARRAY<INTEGER>",
            [67, 67],
        ),
    ],
)
def test_value_and_type(evaluate: Evaluator, text: str, kind: str, value: Any) -> None:
    assert evaluate.type(text) == kind
    assert evaluate(text) == value
    assert evaluate.log.messages == []


@pytest.mark.parametrize("text", ["ARR[1]", "ARR[I]", "M['a']", "ST->A", "ARRAY[ST][1]->A"])
def test_nothing_inside_of_null(evaluate: Evaluator, text: str) -> None:
    assert evaluate(text, ARR=None, M=None, ST=None) is None
    assert evaluate.log.messages == []


def test_index_that_is_null_is_an_error(evaluate: Evaluator) -> None:
    assert evaluate("ARR[I]", I=None) is None
    assert len(evaluate.log.messages) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ST->Z", "Could not find field 'Z' in 'ST'."),
        ("I->Z", "Expected STRUCT type, got: INTEGER"),
        ("S[1]", "Subscript expression (S[1]) do not apply to STRING."),
        (
            "ST[1]",
            "Subscript expression (ST[1]) do not apply to STRUCT<`A` INTEGER, `C` STRING>. "
            "Use the dereference operator for STRUCTS: ST->1",
        ),
        (
            "ARRAY[NULL]",
            "Cannot construct an array with all NULL elements (see https://github.com/confluentinc/ksql/issues/4239). "
            "As a workaround, you may cast a NULL value to the desired type.",
        ),
        (
            "MAP('a' := NULL)",
            "Cannot construct a map with all NULL values (see https://github.com/confluentinc/ksql/issues/4239). "
            "As a workaround, you may cast a NULL value to the desired type.",
        ),
        (
            "ARRAY[]",
            "Array constructor cannot be empty. Please supply at least one element "
            "(see https://github.com/confluentinc/ksql/issues/4239).",
        ),
        (
            "ARRAY[1, B]",
            "operator does not exist: INTEGER = BOOLEAN (B)\nHint: You might need to add explicit type casts.",
        ),
        (
            "CASE WHEN B THEN 1 ELSE 'x' END",
            "Invalid Case expression. Type for the default clause should be the same as for 'THEN' clauses.\n"
            "THEN type: INTEGER.\nDEFAULT type: STRING.",
        ),
        (
            "CASE WHEN B THEN 1 WHEN NOT B THEN 'x' END",
            "Invalid Case expression. Type for all 'THEN' clauses should be the same.\n"
            "THEN expression 'WHEN (NOT B) THEN 'x'' has type: STRING.\nPrevious THEN expression(s) type: INTEGER.",
        ),
        ("CASE WHEN B THEN NULL END", "Invalid Case expression. All case branches have NULL type"),
        ("CASE WHEN I THEN 1 END", "WHEN operand type should be boolean.\nType for 'I' is INTEGER"),
        ("NO_SUCH(1)", "Can't find any functions with the name 'NO_SUCH'"),
    ],
)
def test_refused(evaluate: Evaluator, text: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        evaluate.type(text)
    assert caught.value.primary == message


def test_struct_fields_differ(evaluate: Evaluator) -> None:
    with pytest.raises(SqlError, match="Duplicate field names found in STRUCT"):
        evaluate.type("STRUCT(A := 1, A := 2)")


def test_elements_that_fail_are_null(evaluate: Evaluator) -> None:
    assert evaluate("ARRAY[I / 0, I]") == [None, 7]
    assert evaluate("MAP('a' := I / 0, 'b' := 1)") == {"a": None, "b": 1}
    assert evaluate("STRUCT(A := I / 0, B := S)") == (None, "bob")
    assert [message for message, _ in evaluate.log.messages] == [
        "Error processing array item",
        "Error processing map value",
        "Error processing struct field",
    ]


def test_calls_among_arguments_fail_for_themselves(evaluate: Evaluator) -> None:
    assert evaluate("IFNULL(PARSE_DATE(S, 'yyyy'), DT)") == 1
    assert evaluate.log.messages[0][0] == "Error processing PARSE_DATE"
    # Other arguments do not: the whole expression fails.
    assert evaluate("IFNULL(I / 0, I)") is None


def test_branches_are_lazy(evaluate: Evaluator) -> None:
    text = "CASE WHEN I > 5 THEN 1 WHEN LEN(CAST(PARSE_DATE(S, 'yyyy') AS STRING)) > 1 THEN I / 0 ELSE I / 0 END"
    assert evaluate(text) == 1
    assert evaluate("CASE WHEN I < 5 THEN LEN(CAST(PARSE_DATE(S, 'yyyy') AS STRING)) ELSE 2 END") == 2
    assert evaluate.log.messages == []
    assert evaluate("CASE WHEN I > 5 THEN COALESCE(LEN(CAST(PARSE_DATE(S, 'yyyy') AS STRING)), -1) ELSE 2 END") == -1


def test_lambda_parameters_hide_nothing(evaluate: Evaluator) -> None:
    assert evaluate("TRANSFORM(ARR, i => i + 1)[1] + I") == 18
    assert evaluate("TRANSFORM(ARR, x => COALESCE(CAST(S AS INTEGER), x))") == [10, 20, 30]


def test_null_inside_a_lambda_fails_the_call(evaluate: Evaluator) -> None:
    assert evaluate("TRANSFORM(ARR, x => x + 1)", ARR=[1, None]) is None
    assert len(evaluate.log.messages) == 1


def test_names_of_python_do_not_get_in_the_way(functions: Registry) -> None:
    from millstream.sql.expressions import compile_row
    from millstream.sql.parser import parse_expression
    from millstream.sql.schema.columns import Schema
    from millstream.sql.schema.types import INTEGER

    names = ["R", "LEN", "CLASS", "ERROR", "FLOAT", "T", "V", "`a b`", "`1`", "FAILURES", "`é`"]
    schema = Schema.of([], [(name.strip("`"), INTEGER) for name in names])
    evaluate = compile_row([parse_expression(f"{name} / 2 + LEN('x')") for name in names], schema, functions)
    assert evaluate(tuple(range(0, 22, 2))) == tuple(range(1, 12))


def test_keys_of_another_type_are_not_there(evaluate: Evaluator) -> None:
    assert evaluate("MAP(1 := 'a')[1]") == "a"
    assert evaluate("MAP(1 := 'a')[L]", L=1) is None


def test_an_index_is_a_whole_number(evaluate: Evaluator) -> None:
    with pytest.raises(SqlError, match="Expected a whole number as the index of an array, got: STRING"):
        evaluate("ARR['a']")
    assert evaluate("ARR[L]", L=2) == 20


def test_too_deep_is_refused(functions: Registry) -> None:
    from millstream.sql.expressions import Scope, infer
    from millstream.sql.tree.expressions import Expression, IntegerLiteral, Sign

    expression: Expression = IntegerLiteral(1)
    for _ in range(5000):
        expression = Sign(True, expression)
    with pytest.raises(SqlError, match="nested too deeply"):
        infer(expression, Scope({}, functions))
