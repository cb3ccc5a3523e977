"""Functions of DATE, TIME and TIMESTAMP, and of days and milliseconds in numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from millstream.sql.errors import FunctionError
from millstream.sql.functions.model import IntervalArgument
from millstream.sql.schema.types import BIGINT, DATE, INTEGER, STRING, TIME, TIMESTAMP
from millstream.sql.tree.expressions import TimeUnit

Evaluate = Callable[..., Any]
UNIT = IntervalArgument()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("parse_date", [(STRING, "31/12/2020"), (STRING, "dd/MM/yyyy")], 18_627),
        ("parse_date", [(STRING, "DEC-2020"), (STRING, "MMM-yyyy")], 18_597),
        ("parse_date", [(STRING, None), (STRING, "yyyy")], None),
        ("format_date", [(DATE, 18_627), (STRING, "EEE dd MMM yyyy")], "Thu 31 Dec 2020"),
        ("stringtodate", [(STRING, "2020-12-31 23"), (STRING, "yyyy-MM-dd HH")], 18_627),
        ("datetostring", [(INTEGER, -1), (STRING, "yyyy-MM-dd")], "1969-12-31"),
        ("from_days", [(INTEGER, 5)], 5),
        ("unix_date", [(DATE, 5)], 5),
        ("dateadd", [(UNIT, TimeUnit.DAYS), (INTEGER, 3), (DATE, 5)], 8),
        ("dateadd", [(UNIT, TimeUnit.HOURS), (INTEGER, 47), (DATE, 5)], 6),
        ("datesub", [(UNIT, TimeUnit.HOURS), (INTEGER, 1), (DATE, 0)], 0),
        ("datesub", [(UNIT, TimeUnit.DAYS), (INTEGER, None), (DATE, 0)], None),
        ("parse_time", [(STRING, "07:30 pm"), (STRING, "hh:mm a")], 70_200_000),
        ("format_time", [(TIME, 70_200_001), (STRING, "HH:mm:ss.SSS")], "19:30:00.001"),
        ("timeadd", [(UNIT, TimeUnit.HOURS), (INTEGER, 25), (TIME, 3_600_000)], 7_200_000),
        ("timesub", [(UNIT, TimeUnit.MINUTES), (INTEGER, 90), (TIME, 3_600_000)], 84_600_000),
        ("parse_timestamp", [(STRING, "1970-01-01 01"), (STRING, "yyyy-MM-dd HH")], 3_600_000),
        ("parse_timestamp", [(STRING, "1970-01-01 01"), (STRING, "yyyy-MM-dd HH"), (STRING, "+02:00")], -3_600_000),
        ("stringtotimestamp", [(STRING, "1970-01-01 01"), (STRING, "yyyy-MM-dd HH")], 3_600_000),
        ("format_timestamp", [(TIMESTAMP, 0), (STRING, "HH zzz"), (STRING, "America/New_York")], "19 EST"),
        ("timestamptostring", [(BIGINT, 0), (STRING, "yyyy-MM-dd'T'HH:mm:ssX")], "1970-01-01T00:00:00Z"),
        ("timestamptostring", [(BIGINT, None), (STRING, "yyyy")], None),
        ("from_unixtime", [(BIGINT, 7)], 7),
        ("unix_timestamp", [(TIMESTAMP, 7)], 7),
        ("convert_tz", [(TIMESTAMP, 0), (STRING, "UTC"), (STRING, "Asia/Tokyo")], 32_400_000),
        ("timestampadd", [(UNIT, TimeUnit.SECONDS), (INTEGER, 2), (TIMESTAMP, 5)], 2005),
        ("timestampsub", [(UNIT, TimeUnit.MILLISECONDS), (INTEGER, 2), (TIMESTAMP, 5)], 3),
    ],
)
def test_times(evaluate: Evaluate, name: str, arguments: list[Any], expected: Any) -> None:
    assert evaluate(name, *arguments) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("parse_date", [(STRING, "x"), (STRING, "yyyy")], "Failed to parse date 'x' with formatter 'yyyy'"),
        ("parse_date", [(STRING, "2020 05"), (STRING, "yyyy HH")], "Date format contains time field"),
        ("parse_time", [(STRING, "2020 05"), (STRING, "yyyy HH")], "Time format contains date field"),
        ("format_date", [(DATE, 0), (STRING, "HH")], "Failed to format date 0 with formatter 'HH'"),
        ("format_time", [(TIME, 0), (STRING, "yyyy")], "Failed to format time"),
        ("parse_timestamp", [(STRING, "x"), (STRING, "yyyy")], "Failed to parse timestamp 'x' at timezone 'GMT'"),
        ("format_timestamp", [(TIMESTAMP, 0), (STRING, "HH"), (STRING, "?")], "at timeZone '\\?'"),
        ("convert_tz", [(TIMESTAMP, 0), (STRING, "X/Y"), (STRING, "UTC")], "Invalid time zone: Unknown time-zone ID"),
    ],
)
def test_what_cannot_be_read_or_shown(evaluate: Evaluate, name: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(FunctionError, match=message):
        evaluate(name, *arguments)


def test_now(evaluate: Evaluate) -> None:
    before = time.time()
    assert before * 1000 - 1 <= evaluate("unix_timestamp") <= time.time() * 1000
    assert evaluate("unix_date") in (int(before // 86_400), int(time.time() // 86_400))
