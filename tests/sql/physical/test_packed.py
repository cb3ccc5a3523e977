"""Rows in stores."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.physical.packed import PackedSerde
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)

POINT = SqlStruct((Field("X", DOUBLE), Field("LABEL", STRING)))
CASES: list[tuple[SqlType, Any]] = [
    (BOOLEAN, True),
    (INTEGER, -3),
    (BIGINT, 2**63 - 1),
    (DOUBLE, 1.0),
    (DOUBLE, float("-inf")),
    (SqlDecimal(6, 3), Decimal("1.500")),
    (STRING, ""),
    (BYTES, b"\x00\xff"),
    (DATE, -1),
    (TIMESTAMP, 0),
    (SqlArray(SqlDecimal(4, 2)), [Decimal("1.10"), None]),
    (SqlMap(STRING, SqlArray(INTEGER)), {"a": [1, None], "b": None}),
    (SqlMap(BIGINT, POINT), {1: (1.0, "one"), 2: None}),
    (POINT, (0.5, None)),
    (SqlStruct(()), ()),
]


@pytest.mark.parametrize(("kind", "value"), CASES, ids=[str(kind) for kind, _ in CASES])
def test_what_goes_in_comes_out(kind: SqlType, value: Any) -> None:
    serde = PackedSerde([Column("A", kind), Column("B", STRING), Column("C", kind)], "JSON")
    for row in [(value, "x", None), (None, None, value)]:
        found = serde.deserialize(serde.serialize(row))
        assert found == row
        assert repr(found) == repr(row)


def test_rows_from_before_a_column_was_added_end_in_nulls() -> None:
    before = PackedSerde([Column("A", STRING), Column("B", POINT)], "JSON")
    after = PackedSerde([Column("A", STRING), Column("B", POINT), Column("C", INTEGER)], "JSON")
    assert after.deserialize(before.serialize(("x", (1.0, None)))) == ("x", (1.0, None), None)
