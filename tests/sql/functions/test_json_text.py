"""Functions of JSON, with Jackson's results."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import cloudpickle
import pytest

from millstream.sql.errors import FunctionError
from millstream.sql.functions.registry import Registry
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

Evaluate = Callable[..., Any]


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{"a": {"b": [1, 2.50, "x"]}}', "$.a.b[1]", "2.50"),
        ('{"a": {"b": [1, 2.50, "x"]}}', "$.a.b[2]", "x"),
        ('{"a": {"b": [1, 2.50, "x"]}}', "$.a", '{"b":[1,2.50,"x"]}'),
        ('{"a": [1]}', "$.a[7]", None),
        ('{"a": [1]}', "$.a.b", None),
        ('{"a": [1]}', '$["a"]["-1"]', None),
        ('{"a": 1}', "$.a.b", None),
        ('{"a": null}', "$.a", "null"),
        ('{"a": 1}} trailing', "$.a", "1"),
        ('{"a": 1, "a": 2}', "$.a", "2"),
        ('{"a b\\"c": 1}', '$["a b\\"c"]', "1"),
        ('{"@x:y_1": true}', "$.@x:y_1", "true"),
        ('{"a": 1e2, "b": 0.00000001}', "$", '{"a":1E+2,"b":1E-8}'),
        ('{"a": "\\u0001\\n/é\\ud83d\\ude00"}', "$", '{"a":"\\u0001\\n/é\U0001f600"}'),
        (" ", "$.a", None),
        ("[1, 2]", "$[0]", "1"),
        ("12345678901234567890", "$", "12345678901234567890"),
    ],
)
def test_extract_field(evaluate: Evaluate, text: str, path: str, expected: str | None) -> None:
    assert evaluate("extractjsonfield", (STRING, text), (STRING, path)) == expected


@pytest.mark.parametrize("path", ["", "a", ".a", "$a", "$.", "$.a[-1]", "$.a[", "$.a b", '$["a]', '$["\\n"]', "$.a-b"])
def test_paths_that_are_none(evaluate: Evaluate, path: str) -> None:
    with pytest.raises(FunctionError, match="Invalid JSON path"):
        evaluate("extractjsonfield", (STRING, "{}"), (STRING, path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', True),
        ("[]", True),
        ("1", True),
        ("1 2", True),
        ("null", True),
        ("{} x", True),
        ("", False),
        ("abc", False),
        ("1a", False),
        ("01", False),
        ("NaN", False),
        ('{"a"', False),
        ("'a'", False),
        (None, False),
    ],
)
def test_is_json(evaluate: Evaluate, text: str | None, expected: bool) -> None:
    assert evaluate("is_json_string", (STRING, text)) is expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("json_array_length", "[1, [2, 3]]", 2),
        ("json_array_length", "{}", None),
        ("json_array_length", "", None),
        ("json_keys", '{"b": 1, "a": {"c": 2}}', ["b", "a"]),
        ("json_keys", "[]", None),
        ("json_records", '{"a": "x", "b": {"c": 1.0}, "d": null}', {"a": "x", "b": '{"c":1.0}', "d": "null"}),
        ("json_records", "1", None),
        ("json_items", '[1, "x", {"a": [ ]}, null]', ["1", '"x"', '{"a":[]}', "null"]),
        ("json_items", "[]", []),
        ("json_items", None, None),
    ],
)
def test_parts_of_json(evaluate: Evaluate, name: str, text: str | None, expected: Any) -> None:
    assert evaluate(name, (STRING, text)) == expected


@pytest.mark.parametrize(
    ("name", "text"), [("json_items", "{}"), ("json_items", ""), ("json_keys", "{"), ("json_array_length", "[1")]
)
def test_what_is_no_json_is_an_error(evaluate: Evaluate, name: str, text: str) -> None:
    with pytest.raises(FunctionError, match="Invalid JSON format"):
        evaluate(name, (STRING, text))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (['{"a": 1, "b": 2}', '{"b": 3}', '{"c": 1e3}'], '{"a":1,"b":3,"c":1000}'),
        (["[1]", "[2, 3]"], "[1,2,3]"),
        (["1", "[2]", '{"a": 1}'], '[1,2,{"a":1}]'),
        (["1"], "1"),
        (["[1]", None], None),
        (["[1]", ""], None),
    ],
)
def test_concatenate(evaluate: Evaluate, texts: list[str | None], expected: str | None) -> None:
    assert evaluate("json_concat", *[(STRING, text) for text in texts]) == expected


@pytest.mark.parametrize(
    ("text", "type_", "value", "expected"),
    [
        ("[1, 2]", INTEGER, 2, True),
        ("[1, 2.0]", INTEGER, 2, False),
        ("[1, 2.50]", DOUBLE, 2.5, True),
        ("[1, 2]", DOUBLE, 2.0, False),
        ("[true]", BOOLEAN, True, True),
        ("[true]", INTEGER, 1, False),
        ('["a", ["b"]]', STRING, "b", False),
        ("[1, null]", STRING, None, True),
        ("[1, null]", None, None, True),
        ("[99999999999, 1]", INTEGER, 1, False),
        ("[99999999999, 1]", BIGINT, 1, True),
        ("[1.5]", SqlDecimal(2, 1), Decimal("1.5"), False),
        ("[1]", DATE, 1, False),
        ("[1, 2", INTEGER, 2, True),
        ("[1, x", INTEGER, 2, False),
        ("{}", INTEGER, 2, False),
        ("[]", INTEGER, 2, False),
        (None, INTEGER, 2, None),
    ],
)
def test_contains(
    evaluate: Evaluate, text: str | None, type_: SqlType | None, value: Any, expected: bool | None
) -> None:
    assert evaluate("json_array_contains", (STRING, text), (type_, value)) is expected


STRUCT = SqlStruct((Field("b", STRING), Field("A", SqlArray(DOUBLE))))


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (INTEGER, 1, "1"),
        (STRING, 'a"\x01', '"a\\"\\u0001"'),
        (BOOLEAN, True, "true"),
        (DOUBLE, 1e10, "1.0E10"),
        (DOUBLE, float("nan"), '"NaN"'),
        (SqlDecimal(9, 8), Decimal("0.00000001"), "0.00000001"),
        (BYTES, b"!", '"IQ=="'),
        (DATE, 1, '"1970-01-02"'),
        (TIME, 60_000, '"00:01"'),
        (TIMESTAMP, 1001, '"1970-01-01T00:00:01.001"'),
        (SqlMap(STRING, INTEGER), {"b": 1, "a": None}, '{"a":null,"b":1}'),
        (SqlMap(INTEGER, INTEGER), {2: 1, 10: 2}, '{"10":2,"2":1}'),
        (STRUCT, (None, [1.0, None]), '{"A":[1.0,null],"b":null}'),
        (STRUCT, None, "null"),
        (INTEGER, None, "null"),
        (None, None, "null"),
    ],
)
def test_to_json(evaluate: Evaluate, type_: SqlType | None, value: Any, expected: str) -> None:
    assert evaluate("to_json_string", (type_, value)) == expected


def test_calls_go_to_other_processes(registry: Registry) -> None:
    call = registry.require_scalar("to_json_string").resolve([STRUCT], {})
    assert cloudpickle.loads(cloudpickle.dumps(call)).function(("x", [])) == '{"A":[],"b":"x"}'
