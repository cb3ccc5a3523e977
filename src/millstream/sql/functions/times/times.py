"""Functions of TIME."""

from __future__ import annotations

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.time import formatter, timestamp_parser
from millstream.sql.tree.expressions import TimeUnit

FUNCTIONS = Declarations("DATE / TIME")

_DAY = TimeUnit.DAYS.value


@FUNCTIONS.scalar("parse_time", "(STRING formattedTime, STRING formatPattern) -> TIME")
def parse_time(text: str, pattern: str) -> int:
    """Converts a string representation of a time in the given format into a TIME value."""
    try:
        return timestamp_parser(pattern).only_time(text)
    except FunctionError as error:
        raise FunctionError(f"Failed to parse time '{text}' with formatter '{pattern}': {error}") from error


@FUNCTIONS.scalar("format_time", "(TIME time, STRING formatPattern) -> STRING")
def format_time(millis: int, pattern: str) -> str:
    """Converts a TIME value into the string representation of the time in the given format."""
    try:
        return formatter(pattern).time(millis)
    except FunctionError as error:
        raise FunctionError(f"Failed to format time {millis} with formatter '{pattern}': {error}") from error


@FUNCTIONS.scalar("timeadd", "(INTERVALUNIT unit, INTEGER interval, TIME time) -> TIME")
def time_add(unit: TimeUnit, interval: int, millis: int) -> int:
    """Adds a duration to a TIME value."""
    return (millis + interval * unit.value) % _DAY


@FUNCTIONS.scalar("timesub", "(INTERVALUNIT unit, INTEGER interval, TIME time) -> TIME")
def time_sub(unit: TimeUnit, interval: int, millis: int) -> int:
    """Subtracts a duration from a TIME value."""
    return (millis - interval * unit.value) % _DAY
