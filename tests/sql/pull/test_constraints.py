"""What a WHERE looks up, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.records import MAX_TIMESTAMP
from millstream.sql.errors import SqlError
from millstream.sql.expressions import with_times
from millstream.sql.functions.registry import default_registry
from millstream.sql.parser import parse_expression
from millstream.sql.pull import KeyLookup, Lookup, RangeLookup, Scan, Times
from millstream.sql.pull.constraints import Constraints
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.types import BIGINT, DOUBLE, INTEGER, STRING, SqlType
from millstream.sql.settings import Settings

FUNCTIONS = default_registry()
NO_SCANS = {"ksql.query.pull.table.scan.enabled": False}
NO_RANGES = {"ksql.query.pull.range.scan.enabled": False}


def lookups(
    where: str | None, *keys: SqlType, windowed: bool = False, settings: dict[str, Any] | None = None
) -> list[Lookup]:
    names = ["ID", "ID2", "ID3"]
    schema = Schema.of(zip(names, keys or [STRING], strict=False), [("N", BIGINT), ("TEXT", STRING)])
    rules = Constraints(schema, windowed, FUNCTIONS, Settings(settings or {}))
    return list(rules.lookups(None if where is None else with_times(parse_expression(where))))


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("ID = 'a'", [KeyLookup(("a",))]),
        ("'a' = ID", [KeyLookup(("a",))]),
        ("ID = CONCAT('a', 'b')", [KeyLookup(("ab",))]),
        ("ID IN ('a', 'b', 'a')", [KeyLookup(("a",)), KeyLookup(("b",))]),
        ("ID = 'a' OR ID = 'b'", [KeyLookup(("a",)), KeyLookup(("b",))]),
        ("N > 5 AND ID = 'a'", [KeyLookup(("a",))]),
        ("N > 5 AND (ID = 'a' OR ID = 'b')", [KeyLookup(("a",)), KeyLookup(("b",))]),
        ("ID > 'a' AND ID = 'b'", [KeyLookup(("b",))]),
        ("ID < 'b'", [RangeLookup(high=("b",))]),
        ("'b' <= ID", [RangeLookup(low=("b",))]),
        ("ID BETWEEN 'a' AND 'c'", [RangeLookup(("a",), ("c",))]),
        ("ID >= 'a' AND ID < 'c' AND N = 1", [RangeLookup(("a",), ("c",))]),
        ("ID < 'b' OR ID > 'x'", [Scan()]),
        ("ID < 'b' OR ID = 'x'", [Scan()]),
        ("ID <> 'a'", [Scan()]),
        ("ID = TEXT", [Scan()]),
        ("ID LIKE 'a%'", [Scan()]),
        ("ID LIKE 'a%' AND ID = 'a'", [KeyLookup(("a",))]),
        ("LEN(ID) = 3", [Scan()]),
        ("N = 5", [Scan()]),
        ("TEXT IS NULL", [Scan()]),
        ("ID = 'a' OR N = 5", [Scan()]),
        ("NOT ID = 'a'", [Scan()]),
        (None, [Scan()]),
    ],
)
def test_what_is_looked_up(where: str | None, found: list[Lookup]) -> None:
    assert lookups(where) == found


def test_keys_become_values_of_their_column() -> None:
    assert lookups("ID = 10", DOUBLE) == [KeyLookup((10.0,))]
    assert lookups("ID = 5 + 5", BIGINT) == [KeyLookup((10,))]
    assert lookups("ID IN (1, 1 + 1)", INTEGER) == [KeyLookup((1,)), KeyLookup((2,))]


def test_a_key_of_several_columns_is_looked_up_when_all_are_given() -> None:
    assert lookups("ID2 = 1 AND ID = 'a'", STRING, INTEGER) == [KeyLookup(("a", 1))]
    assert lookups("ID = 'a'", STRING, INTEGER) == [Scan()]
    assert lookups("ID = 'a' AND ID2 > 1", STRING, INTEGER) == [Scan()]


def test_only_text_has_ranges() -> None:
    assert lookups("ID < 5", INTEGER) == [Scan()]
    assert lookups("ID < 'b'", settings=NO_RANGES) == [Scan()]
    assert lookups("ID < 'b'", windowed=True) == [Scan()]


def test_conditions_with_very_many_alternatives_are_asked_of_all_rows() -> None:
    many = " AND ".join(f"(ID = 'a{number}' OR ID = 'b{number}')" for number in range(20))
    assert lookups(many) == [Scan()]


@pytest.mark.parametrize(
    ("bounds", "starts", "ends"),
    [
        ("WINDOWSTART = 1000", Times(1000, 1000), Times()),
        ("WINDOWSTART > 1000", Times(1001, MAX_TIMESTAMP), Times()),
        ("1000 <= WINDOWSTART AND WINDOWSTART < 2000", Times(1000, 1999), Times()),
        ("WINDOWSTART BETWEEN 1000 AND 2000", Times(1000, 2000), Times()),
        ("WINDOWSTART >= 1000 AND 3000 > WINDOWEND", Times(1000, MAX_TIMESTAMP), Times(0, 2999)),
        ("WINDOWEND <= 500 + 500", Times(), Times(0, 1000)),
        ("WINDOWSTART >= '1970-01-01T00:00:01'", Times(1000, MAX_TIMESTAMP), Times()),
        ("WINDOWSTART < '1970-01-01T24'", Times(0, 86_399_999), Times()),
    ],
)
def test_bounds_of_windows(bounds: str, starts: Times, ends: Times) -> None:
    assert lookups(f"ID = 'a' AND {bounds}", windowed=True) == [KeyLookup(("a",), starts, ends)]


def test_each_alternative_has_its_own_windows() -> None:
    where = "WINDOWSTART > 10 AND (ID = 'a' OR ID = 'b' AND WINDOWEND = 50)"
    assert lookups(where, windowed=True) == [
        KeyLookup(("a",), Times(first=11)),
        KeyLookup(("b",), Times(first=11), Times(50, 50)),
    ]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("ID = 'a' AND WINDOWSTART <> 5", "Unsupported `WINDOWSTART` bounds: NOT_EQUAL. See https://cnfl.io/queries"),
        ("ID = 'a' AND WINDOWSTART > 5 AND WINDOWSTART > 6", "Duplicate `WINDOWSTART` bounds on: GREATER_THAN"),
        ("ID = 'a' AND WINDOWEND = 5 AND WINDOWEND = 6", "Duplicate `WINDOWEND` bounds on: EQUAL"),
        (
            "ID = 'a' AND WINDOWSTART = 5 AND WINDOWSTART > 6",
            r"`\(WINDOWSTART > 6\)` cannot be combined with other `WINDOWSTART` bounds",
        ),
        ("ID = 'a' AND WINDOWSTART = TRUE", "Window bounds must resolve to an INT, BIGINT, or STRING"),
    ],
)
def test_bounds_that_are_refused(where: str, message: str) -> None:
    with pytest.raises(SqlError, match=message) as raised:
        lookups(where, windowed=True)
    assert "Bounds on [`WINDOWSTART`, `WINDOWEND`] are supported" in str(raised.value)


@pytest.mark.parametrize(
    ("where", "keys", "message"),
    [
        ("ID IN ('10', 8)", [INTEGER], "'10' can not be converted to the type of the key column: ID INTEGER KEY"),
        ("ID = NULL", [INTEGER], r"Primary key columns can not be NULL: \(ID = null\)"),
        ("ID = CAST(NULL AS INT)", [INTEGER], "Primary key columns can not be NULL"),
        ("N LIKE 'a'", [STRING], "condition must be VARCHAR. The column type is BIGINT"),
        ("TEXT LIKE ID", [STRING], "Like condition on non-string pattern"),
    ],
)
def test_what_is_never_allowed(where: str, keys: list[SqlType], message: str) -> None:
    with pytest.raises(SqlError, match=message):
        lookups(where, *keys)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (None, "Missing WHERE clause. See https://cnfl.io/queries"),
        ("N = 100", r"WHERE clause missing key column for disjunct: \(N = 100\)"),
        ("ID = 'a' OR N = 1", r"WHERE clause missing key column for disjunct: \(N = 1\)"),
        ("ID = TEXT", "A comparison must be between a key column and a resolvable expression"),
        ("LEN(ID) = 3", "A comparison must directly reference a key column"),
        ("ID <> 'a'", "Bound on key columns '.`ID` STRING KEY.' must currently be '='"),
        ("ID > 'a' AND ID < 'c'", "cannot be combined with other comparisons such as an IN predicate"),
        ("ID < 'a' OR ID > 'c'", "Query requires table scan to be enabled"),
        ("'a' LIKE 'a'", "Like condition must be between strings"),
        ("TEXT IS NULL", r"Unsupported expression in WHERE clause: \(TEXT IS NULL\)"),
    ],
)
def test_what_needs_a_scan_is_refused_without_scans(where: str | None, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        lookups(where, settings=NO_SCANS)


def test_without_scans_keys_and_ranges_are_found() -> None:
    assert lookups("ID = 'a' AND N > 1", settings=NO_SCANS) == [KeyLookup(("a",))]
    assert lookups("ID < 'a'", settings=NO_SCANS) == [RangeLookup(high=("a",))]
    with pytest.raises(SqlError, match="Query requires table scan to be enabled"):
        lookups("ID < 'a'", settings={**NO_SCANS, **NO_RANGES})
    with pytest.raises(SqlError, match="Query requires table scan to be enabled"):
        lookups("ID < 'a'", windowed=True, settings=NO_SCANS)
    with pytest.raises(SqlError, match="Query requires table scan to be enabled"):
        lookups("ID < 5", INTEGER, settings=NO_SCANS)
    with pytest.raises(SqlError, match=r"must specify every key in the WHERE clause. Specified: \[`ID`\]"):
        lookups("ID = 'a'", STRING, INTEGER, settings=NO_SCANS)
