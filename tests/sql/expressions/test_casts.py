"""CAST over all pairs of types."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.expressions import cast_function
from millstream.sql.schema.types import BOOLEAN, INTEGER, STRING, Field, SqlArray, SqlDecimal, SqlMap, SqlStruct

from .conftest import Evaluator


@pytest.mark.parametrize(
    ("text", "columns", "value"),
    [
        ("CAST(B AS STRING)", {}, "true"),
        ("CAST(I AS BIGINT)", {}, 7),
        ("CAST(I AS DOUBLE)", {}, 7.0),
        ("CAST(I AS DECIMAL(4, 2))", {}, Decimal("7.00")),
        ("CAST(I AS STRING)", {}, "7"),
        ("CAST(L AS INTEGER)", {"L": 2**31}, -(2**31)),
        ("CAST(L AS DOUBLE)", {"L": 5}, 5.0),
        ("CAST(L AS STRING)", {}, "1000000000000"),
        ("CAST(P AS INTEGER)", {"P": Decimal("-12.99")}, -12),
        ("CAST(P AS BIGINT)", {}, 12),
        ("CAST(P AS DOUBLE)", {}, 12.5),
        ("CAST(P AS STRING)", {}, "12.50"),
        ("CAST(P AS DECIMAL(4, 1))", {"P": Decimal("12.55")}, Decimal("12.6")),
        ("CAST(P AS DECIMAL(2, 0))", {"P": Decimal("-12.50")}, Decimal("-13")),
        ("CAST(D AS INTEGER)", {"D": -2.9}, -2),
        ("CAST(D AS INTEGER)", {"D": 1e10}, 2**31 - 1),
        ("CAST(D AS INTEGER)", {"D": float("nan")}, 0),
        ("CAST(D AS BIGINT)", {"D": -1e30}, -(2**63)),
        ("CAST(D AS STRING)", {"D": 1e7}, "1.0E7"),
        ("CAST(D AS STRING)", {}, "2.5"),
        ("CAST(D AS DECIMAL(3, 1))", {"D": 1.25}, Decimal("1.3")),
        ("CAST(S AS BOOLEAN)", {"S": " Yes "}, True),
        ("CAST(S AS BOOLEAN)", {"S": "2"}, False),
        ("CAST(S AS INTEGER)", {"S": " -12 "}, -12),
        ("CAST(S AS BIGINT)", {"S": "+12"}, 12),
        ("CAST(S AS DOUBLE)", {"S": "1e3"}, 1000.0),
        ("CAST(S AS DECIMAL(4, 2))", {"S": " 1.005 "}, Decimal("1.01")),
        ("CAST(S AS TIMESTAMP)", {"S": "1970-01-01T00:00:01+0000"}, 1000),
        ("CAST(S AS DATE)", {"S": "1970-01-31"}, 30),
        ("CAST(S AS TIME)", {"S": "01:00"}, 3_600_000),
        ("CAST(S AS BYTES)", {"S": "YWI="}, b"ab"),
        ("CAST(TS AS STRING)", {}, "1970-01-02T00:00:00.000"),
        ("CAST(TS AS DATE)", {"TS": -1}, -1),
        ("CAST(TS AS TIME)", {"TS": 86_400_001}, 1),
        ("CAST(DT AS TIMESTAMP)", {}, 86_400_000),
        ("CAST(DT AS STRING)", {}, "1970-01-02"),
        ("CAST(TM AS STRING)", {}, "01:00"),
        ("CAST(ARR AS STRING)", {"ARR": [1, None]}, "[1, null]"),
        ("CAST(M AS STRING)", {}, "{a=1, b=null}"),
        ("CAST(ST AS STRING)", {"ST": (4, None)}, "Struct{A=4}"),
        ("CAST(ARR AS ARRAY<STRING>)", {"ARR": [1, None]}, ["1", None]),
        ("CAST(M AS MAP<STRING, INTEGER>)", {}, {"a": 1, "b": None}),
        ("CAST(ST AS STRUCT<C STRING, X INT, A BIGINT>)", {}, ("x", None, 4)),
        ("CAST(NULL AS DOUBLE)", {}, None),
        ("CAST(S AS STRING)", {}, "bob"),
    ],
)
def test_values(evaluate: Evaluator, text: str, columns: dict[str, Any], value: Any) -> None:
    result = evaluate(text, **columns)
    assert type(result) is type(value)
    assert result == value
    assert str(result) == str(value)
    assert evaluate.log.messages == []


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("CAST(S AS INTEGER)", {}),
        ("CAST(S AS INTEGER)", {"S": "2147483648"}),
        ("CAST(S AS INTEGER)", {"S": "1.0"}),
        ("CAST(S AS DOUBLE)", {"S": "NaN"}),
        ("CAST(S AS DOUBLE)", {"S": "1e999"}),
        ("CAST(S AS DATE)", {"S": "1970-02-30"}),
        ("CAST(P AS DECIMAL(3, 2))", {}),
        ("CAST(D AS DECIMAL(3, 2))", {"D": 10.0}),
        ("CAST(I AS DECIMAL(2, 2))", {}),
        ("CAST(S AS DECIMAL(3, 2))", {"S": "x"}),
        ("CAST(I / 0 AS STRING)", {}),
        ("CAST('x' AS INTEGER)", {}),
    ],
)
def test_what_does_not_fit_is_null_and_told(evaluate: Evaluator, text: str, columns: dict[str, Any]) -> None:
    assert evaluate(text, **columns) is None
    assert len(evaluate.log.messages) == 1
    assert evaluate.log.messages[0][0].startswith("Error processing ")


def test_overflow_message(evaluate: Evaluator) -> None:
    evaluate("CAST(P AS DECIMAL(3, 2))")
    assert evaluate.log.messages[0][1] == [
        "Numeric field overflow: A field with precision 3 and scale 2 must round to an absolute value less than 10^1. "
        "Got 12.50"
    ]


def test_the_rest_goes_on_without_what_was_cast(evaluate: Evaluator) -> None:
    assert evaluate("COALESCE(CAST(S AS INTEGER), -1)") == -1
    assert evaluate("CASE WHEN B THEN IFNULL(CAST(S AS INTEGER), I) END") == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CAST(B AS INTEGER)", "Invalid Select: Cast of BOOLEAN to INTEGER is not supported."),
        ("CAST(S AS ARRAY<INT>)", "Invalid Select: Cast of STRING to ARRAY<INTEGER> is not supported."),
        ("CAST(ARR AS ARRAY<DATE>)", "Invalid Select: Cast of ARRAY<INTEGER> to ARRAY<DATE> is not supported."),
        ("CAST(TM AS DATE)", "Invalid Select: Cast of TIME to DATE is not supported."),
        ("CAST(RAW AS STRING)", "Invalid Select: Cast of BYTES to STRING is not supported."),
    ],
)
def test_refused(evaluate: Evaluator, text: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        evaluate(text)
    assert caught.value.primary.startswith(message)


def test_nulls_can_become_text(evaluate: Evaluator) -> None:
    config = {"ksql.cast.strings.preserve.nulls": "false"}
    assert evaluate("CAST(I AS STRING)", I=None) is None
    assert evaluate("CAST(I AS STRING)", I=None, config=config) == "null"
    assert evaluate("CAST(P AS STRING)", P=None, config=config) is None


def test_cast_function() -> None:
    assert cast_function(INTEGER, INTEGER)(5) == 5
    assert cast_function(INTEGER, STRING)(None) is None
    assert cast_function(INTEGER, SqlDecimal(3, 1))(5) == Decimal("5.0")
    source = SqlMap(STRING, SqlArray(SqlStruct((Field("A", BOOLEAN),))))
    assert cast_function(source, STRING)({"k": [(True,), None]}) == "{k=[Struct{A=true}, null]}"
