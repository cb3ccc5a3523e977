"""The generated functions themselves."""

# ruff: noqa: S301 - what is read was written here

from __future__ import annotations

import linecache
import logging
import pickle
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle
import pytest

from millstream.sql.errors import SqlError, StatementError
from millstream.sql.expressions import compile_predicate, compile_row, compile_table_call, compile_value
from millstream.sql.expressions.generated import failures
from millstream.sql.expressions.generated.failures import Failures
from millstream.sql.functions.registry import Registry
from millstream.sql.parser import parse_expression
from millstream.sql.processing_log import PythonLog
from millstream.sql.schema.columns import Schema
from millstream.sql.tree.expressions import FunctionCall

from .conftest import Evaluator


def _row(functions: Registry, schema: Schema, *texts: str, **options: Any) -> Callable[[Any], Any]:
    return compile_row([parse_expression(text) for text in texts], schema, functions, **options)


def test_a_row_of_expressions(functions: Registry, schema: Schema, row: tuple[Any, ...]) -> None:
    evaluate = _row(functions, schema, "I + 1", "S", "UCASE(S)", "CAST(S AS INTEGER)", "5")
    assert evaluate(row) == (8, "bob", "BOB", None, 5)


@pytest.mark.parametrize("texts", [["S"], ["S", "I"], ["I", "I", "B"], []])
def test_columns_only(functions: Registry, schema: Schema, row: tuple[Any, ...], texts: list[str]) -> None:
    found = {"S": "bob", "I": 7, "B": True}
    assert _row(functions, schema, *texts)(row) == tuple(found[text] for text in texts)


@pytest.mark.parametrize(
    "text",
    [
        "I + 1",
        "P * P / 3",
        "S LIKE 'b%'",
        "I IN (1, 7)",
        "TRANSFORM(ARR, x => x + I)",
        "CAST(ST AS STRING)",
        "IFNULL(PARSE_DATE(S, 'yyyy'), DT)",
        "CASE WHEN I > 5 THEN COALESCE(CAST(S AS DOUBLE), 1.5e0) END",
        "CAST(D AS DECIMAL(4, 2))",
        "ARRAY[1.5, P]",
    ],
)
def test_functions_travel(functions: Registry, schema: Schema, row: tuple[Any, ...], text: str) -> None:
    evaluate = compile_value(parse_expression(text), schema, functions)
    assert pickle.loads(cloudpickle.dumps(evaluate))(row) == evaluate(row)


def test_errors_name_the_column(functions: Registry, schema: Schema, row: tuple[Any, ...], evaluate: Evaluator) -> None:
    _row(functions, schema, "S", "I / 0", log=evaluate.log, names=["A", "Q"])(row)
    assert evaluate.log.messages[0] == (
        "Error computing expression (I / 0) for column Q with index 1",
        ["integer division or modulo by zero"],
    )


def test_errors_go_to_the_python_logger(
    functions: Registry, schema: Schema, row: tuple[Any, ...], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "millstream.sql.processing"):
        _row(functions, schema, "I / 0", logger="processing.Q.Project")(row)
    [record] = caplog.records
    assert '"logger": "processing.Q.Project"' in record.getMessage()
    assert '"recordProcessingError": {"errorMessage": "Error computing expression (I / 0)' in record.getMessage()
    assert '"record": null' in record.getMessage()


def test_rows_are_told_when_asked_for(
    functions: Registry, schema: Schema, row: tuple[Any, ...], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "millstream.sql.processing"):
        _row(functions, schema, "I / 0", config={"ksql.logging.processing.rows.include": True})(row)
    assert '"record": "(7, ' in caplog.records[0].getMessage()


def test_tracebacks_show_the_code(functions: Registry, schema: Schema, row: tuple[Any, ...]) -> None:
    class Raising:
        def error(self, logger: str, message: Mapping[str, Any]) -> None:
            raise RuntimeError("told")

    evaluate = pickle.loads(cloudpickle.dumps(_row(functions, schema, "I / 0", log=Raising())))
    with pytest.raises(RuntimeError) as caught:
        evaluate(row)
    assert "v = (None if i is None else divide_whole(i, 0))" in "".join(traceback.format_exception(caught.value))


def test_what_is_wrong_is_told_before(functions: Registry, schema: Schema) -> None:
    with pytest.raises(StatementError) as caught:
        _row(functions, schema, "NOT (I = S)")
    assert caught.value.primary.startswith(
        "Invalid Select: Cannot compare I (INTEGER) to S (STRING) with EQUAL.. expression: (NOT (I = S)), schema:`I` "
    )
    with pytest.raises(SqlError, match="NULL expression not supported"):
        _row(functions, schema, "NULL")
    with pytest.raises(SqlError, match="Invalid Predicate: not a condition: I"):
        compile_predicate(parse_expression("I"), schema, functions)


def test_table_functions(functions: Registry, schema: Schema, row: tuple[Any, ...], evaluate: Evaluator) -> None:
    call = parse_expression("EXPLODE(ARR)")
    assert isinstance(call, FunctionCall)
    explode = compile_table_call(call, schema, functions, log=evaluate.log)
    assert explode(row) == [10, 20, 30]
    nothing = (*row[:10], None, *row[11:])
    assert explode(nothing) in ([], None)
    assert pickle.loads(cloudpickle.dumps(explode))(row) == [10, 20, 30]


def test_the_code_of_only_so_many_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "_MOST_KNOWN", 10)
    monkeypatch.setattr(failures, "_known", deque[str]())
    for number in range(30):
        Failures(PythonLog(), "x", (), f"<a test {number}>", "pass")
    assert [name for name in linecache.cache if name.startswith("<a test")] == [f"<a test {n}>" for n in range(20, 30)]
