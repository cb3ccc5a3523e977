"""DATE, TIME and TIMESTAMP as text, where no pattern is given: casts, literals and comparisons with strings."""

from __future__ import annotations

import re

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java_time import calendar
from millstream.sql.functions.java_time.parser import timestamp_parser
from millstream.sql.functions.java_time.zones import UTC, Zone, parse_offset

_TIMESTAMP_PATTERN = "yyyy-MM-dd'T'HH:mm:ss.SSS"
_TIME_PATTERN = "HH:mm:ss.SSS"
_MIDNIGHT = "00:00:00.000"

_TIMESTAMP_HELP = (
    f'\nRequired format is: "{_TIMESTAMP_PATTERN}", with an optional numeric 4-digit timezone, for example: '
    "'2020-05-26T23:59:58.000' or with tz: '2020-05-26T23:59:58.000+0200'. "
    "A trailing 'Z' instead of tz indicates the zero UTC offset. "
    'Partials are also supported, for example "2020-05-26"'
)
_TIME_HELP = (
    f"\nRequired format is: \"{_TIME_PATTERN}\", for example: '01:34:20.123' or '01:34:20'. "
    "Partials are also supported, for example '01:34'"
)
_DATE_HELP = (
    "\nRequired format is: \"yyyy-MM-dd\", for example '2020-05-26'. Partials are also supported, for example '2020-05'"
)

_ISO_DATE = re.compile(r"(-?\d{4}|[+-]\d{5,10})-(\d\d)-(\d\d)\Z", re.ASCII)
_ISO_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?\Z", re.ASCII)


def parse_timestamp_text(text: str) -> int:
    """The milliseconds since the epoch of a timestamp, of which the end may be left out.

    >>> parse_timestamp_text("2020-01"), parse_timestamp_text("2020-01-01T01:00+0100")
    (1577836800000, 1577836800000)

    Raises:
        FunctionError: it is not a timestamp.
    """
    date, separator, rest = text.partition("T")
    if separator:
        at = rest.find("+")
        if at < 0:
            at = rest.find("-")
        zone_text = rest[at:] if at >= 0 else ""
        time = _complete_time(rest[: len(rest) - len(zone_text)].removesuffix("Z"))
    else:
        date, time, zone_text = complete_date(text), _MIDNIGHT, ""
    try:
        return timestamp_parser(_TIMESTAMP_PATTERN).timestamp(f"{date}T{time}", _zone(zone_text))
    except FunctionError as error:
        raise FunctionError(f"Failed to parse timestamp '{text}': {error}{_TIMESTAMP_HELP}") from error


def _zone(text: str) -> Zone:
    if not text.strip():
        return UTC
    try:
        return Zone(text, parse_offset(text))
    except FunctionError as error:
        raise FunctionError(f"Failed to parse timezone '{text}': {error}") from error


def _complete_time(time: str) -> str:
    return time + _MIDNIGHT[len(time) :]


def complete_date(text: str) -> str:
    """A date of which month and day may be left out."""
    parts = text.rstrip("-").split("-")
    return text + "-01" * (3 - len(parts)) if len(parts) < 3 else text


def parse_date_text(text: str) -> int:
    """The days since the epoch of a date, of which the end may be left out.

    >>> parse_date_text("1970-02")
    31

    Raises:
        FunctionError: it is not a date.
    """
    date = complete_date(text)
    match = _ISO_DATE.match(date)
    if match is not None:
        year, month, day = map(int, match.groups())
        if 1 <= month <= 12 and 1 <= day <= calendar.month_length(year, month):
            return calendar.days_of(year, month, day)
    raise FunctionError(f"Failed to parse date '{text}': Text '{date}' could not be parsed{_DATE_HELP}")


def parse_time_text(text: str) -> int:
    """The milliseconds of the day of a time; seconds may be left out.

    >>> parse_time_text("00:01"), parse_time_text("00:00:00.5")
    (60000, 500)

    Raises:
        FunctionError: it is not a time.
    """
    match = _ISO_TIME.match(text)
    if match is not None:
        hour, minute, second = (int(part or 0) for part in match.groups()[:3])
        if hour < 24 and minute < 60 and second < 60:
            return ((hour * 60 + minute) * 60 + second) * 1000 + int((match.group(4) or "").ljust(3, "0")[:3])
    raise FunctionError(f"Failed to parse time '{text}': Text '{text}' could not be parsed{_TIME_HELP}")


def timestamp_text(millis: int) -> str:
    """A TIMESTAMP as CAST shows it.

    >>> timestamp_text(0)
    '1970-01-01T00:00:00.000'
    """
    seconds, milli = divmod(millis, 1000)
    days, second = divmod(seconds, 86_400)
    year, month, day = calendar.date_of(days)
    era_year = year if year > 0 else 1 - year
    sign = "+" if era_year > 9999 else ""
    time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{milli:03}"
    return f"{sign}{era_year:04}-{month:02}-{day:02}T{time}"


def date_text(days: int) -> str:
    """A DATE as CAST shows it.

    >>> date_text(-1)
    '1969-12-31'
    """
    year, month, day = calendar.date_of(days)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def time_text(millis: int) -> str:
    """A TIME as CAST shows it: no milliseconds, and no seconds if there are none.

    >>> time_text(36_000_999), time_text(36_001_000)
    ('10:00', '10:00:01')
    """
    seconds = millis // 1000
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if seconds % 60 else text
