"""Functions of DATE, and of days in numbers."""

from __future__ import annotations

import time

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.time import formatter, timestamp_parser
from millstream.sql.schema.types import INT_MAX, INT_MIN
from millstream.sql.tree.expressions import TimeUnit

FUNCTIONS = Declarations("DATE / TIME")

_DAY = TimeUnit.DAYS.value


@FUNCTIONS.scalar("parse_date", "(STRING formattedDate, STRING formatPattern) -> DATE")
def parse_date(text: str, pattern: str) -> int:
    """Converts a string representation of a date in the given format into a DATE value."""
    try:
        return timestamp_parser(pattern).only_date(text)
    except FunctionError as error:
        raise FunctionError(f"Failed to parse date '{text}' with formatter '{pattern}': {error}") from error


@FUNCTIONS.scalar("format_date", "(DATE date, STRING formatPattern) -> STRING")
def format_date(days: int, pattern: str) -> str:
    """Converts a DATE value to a string using the given format pattern."""
    try:
        return formatter(pattern).date(days)
    except FunctionError as error:
        raise FunctionError(f"Failed to format date {days} with formatter '{pattern}': {error}") from error


@FUNCTIONS.scalar("stringtodate", "(STRING formattedDate, STRING formatPattern) -> INTEGER")
def string_to_date(text: str, pattern: str) -> int:
    """Converts a string representation of a date in the given format into the number of days since 1970-01-01."""
    try:
        return timestamp_parser(pattern).date(text)
    except FunctionError as error:
        raise FunctionError(f"Failed to parse date '{text}' with formatter '{pattern}': {error}") from error


@FUNCTIONS.scalar("datetostring", "(INTEGER epochDays, STRING formatPattern) -> STRING")
def date_to_string(days: int, pattern: str) -> str:
    """Converts a number of days since 1970-01-01 to a string using the given format pattern."""
    return format_date(days, pattern)


@FUNCTIONS.scalar("from_days", "(INTEGER days) -> DATE")
def from_days(days: int) -> int:
    """Converts a number of days since 1970-01-01 to a DATE value."""
    return days


@FUNCTIONS.scalar("unix_date", "() -> INTEGER")
def unix_date() -> int:
    """Returns the current number of days since 1970-01-01 00:00:00 UTC."""
    return int(time.time() // 86_400)


@FUNCTIONS.scalar("unix_date", "(DATE date) -> INTEGER")
def unix_date_of(days: int) -> int:
    """Returns the number of days since 1970-01-01 of the given date."""
    return days


@FUNCTIONS.scalar("dateadd", "(INTERVALUNIT unit, INTEGER interval, DATE date) -> DATE")
def date_add(unit: TimeUnit, interval: int, days: int) -> int:
    """Adds a duration to a DATE value."""
    return _plus(days, interval * unit.value)


@FUNCTIONS.scalar("datesub", "(INTERVALUNIT unit, INTEGER interval, DATE date) -> DATE")
def date_sub(unit: TimeUnit, interval: int, days: int) -> int:
    """Subtracts a duration from a DATE value."""
    return _plus(days, -interval * unit.value)


def _plus(days: int, millis: int) -> int:
    moved = days * _DAY + millis
    # Parts of days are cut off, toward the epoch.
    result = moved // _DAY if moved >= 0 else -(-moved // _DAY)
    if not INT_MIN <= result <= INT_MAX:
        raise FunctionError(f"Date out of range: {result} days")
    return result
