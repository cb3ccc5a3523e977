"""Functions of TIMESTAMP, and of milliseconds in numbers."""

from __future__ import annotations

import time

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.time import formatter, timestamp_parser, zone_of
from millstream.sql.schema.types import BIGINT_MAX, BIGINT_MIN
from millstream.sql.tree.expressions import TimeUnit

FUNCTIONS = Declarations("DATE / TIME")


@FUNCTIONS.scalar(
    "parse_timestamp",
    "(STRING formattedTimestamp, STRING formatPattern) -> TIMESTAMP",
    "(STRING formattedTimestamp, STRING formatPattern, STRING timeZone) -> TIMESTAMP",
)
def parse_timestamp(text: str, pattern: str, zone: str = "GMT") -> int:
    """Converts a string representation of a date in the given format into a TIMESTAMP value."""
    try:
        return timestamp_parser(pattern).timestamp(text, zone_of(zone))
    except FunctionError as error:
        raise FunctionError(
            f"Failed to parse timestamp '{text}' at timezone '{zone}' with formatter '{pattern}': {error}"
        ) from error


@FUNCTIONS.scalar(
    "stringtotimestamp",
    "(STRING formattedTimestamp, STRING formatPattern) -> BIGINT",
    "(STRING formattedTimestamp, STRING formatPattern, STRING timeZone) -> BIGINT",
)
def string_to_timestamp(text: str, pattern: str, zone: str = "GMT") -> int:
    """Converts a string representation of a date in the given format into the milliseconds since 1970-01-01."""
    return parse_timestamp(text, pattern, zone)


@FUNCTIONS.scalar(
    "format_timestamp",
    "(TIMESTAMP timestamp, STRING formatPattern) -> STRING",
    "(TIMESTAMP timestamp, STRING formatPattern, STRING timeZone) -> STRING",
)
def format_timestamp(millis: int, pattern: str, zone: str = "GMT") -> str:
    """Converts a TIMESTAMP value into the string representation of the timestamp in the given format."""
    try:
        return formatter(pattern).timestamp(millis, zone_of(zone))
    except FunctionError as error:
        raise FunctionError(
            f"Failed to format timestamp {millis} at timeZone '{zone}' with formatter '{pattern}': {error}"
        ) from error


@FUNCTIONS.scalar(
    "timestamptostring",
    "(BIGINT epochMilli, STRING formatPattern) -> STRING",
    "(BIGINT epochMilli, STRING formatPattern, STRING timeZone) -> STRING",
)
def timestamp_to_string(millis: int, pattern: str, zone: str = "GMT") -> str:
    """Converts milliseconds since 1970-01-01 into the string representation of the timestamp in the given format."""
    return format_timestamp(millis, pattern, zone)


@FUNCTIONS.scalar("from_unixtime", "(BIGINT epochMilli) -> TIMESTAMP")
def from_unixtime(millis: int) -> int:
    """Converts milliseconds since 1970-01-01 00:00:00 UTC into a TIMESTAMP value."""
    return millis


@FUNCTIONS.scalar("unix_timestamp", "() -> BIGINT")
def unix_timestamp() -> int:
    """Returns the current number of milliseconds since 1970-01-01 00:00:00 UTC."""
    return time.time_ns() // 1_000_000


@FUNCTIONS.scalar("unix_timestamp", "(TIMESTAMP timestamp) -> BIGINT")
def unix_timestamp_of(millis: int) -> int:
    """Returns the number of milliseconds since 1970-01-01 00:00:00 UTC of the given timestamp."""
    return millis


@FUNCTIONS.scalar("convert_tz", "(TIMESTAMP timestamp, STRING fromTimeZone, STRING toTimeZone) -> TIMESTAMP")
def convert_tz(millis: int, from_zone: str, to_zone: str) -> int:
    """Converts a TIMESTAMP value from one timezone to another."""
    second = millis // 1000
    try:
        return millis + (zone_of(to_zone).offset_at(second) - zone_of(from_zone).offset_at(second)) * 1000
    except FunctionError as error:
        raise FunctionError(f"Invalid time zone: {error}") from error


@FUNCTIONS.scalar("timestampadd", "(INTERVALUNIT unit, INTEGER interval, TIMESTAMP timestamp) -> TIMESTAMP")
def timestamp_add(unit: TimeUnit, interval: int, millis: int) -> int:
    """Adds a duration to a TIMESTAMP value."""
    return _checked(millis + interval * unit.value)


@FUNCTIONS.scalar("timestampsub", "(INTERVALUNIT unit, INTEGER interval, TIMESTAMP timestamp) -> TIMESTAMP")
def timestamp_sub(unit: TimeUnit, interval: int, millis: int) -> int:
    """Subtracts a duration from a TIMESTAMP value."""
    return _checked(millis - interval * unit.value)


def _checked(millis: int) -> int:
    if not BIGINT_MIN <= millis <= BIGINT_MAX:
        raise FunctionError(f"Timestamp out of range: {millis}")
    return millis
