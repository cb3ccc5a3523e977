"""DATE, TIME and TIMESTAMP as text, where SQL says no format: literals, casts, comparisons with text."""

from __future__ import annotations

import calendar
import re
from datetime import date

from millstream.sql.errors import FunctionError

DAY_MS = 86_400_000

_EPOCH = date(1970, 1, 1).toordinal()
_TIME_TEMPLATE = "00:00:00.000"
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?(\d\d)(?::?(\d\d))?)?", re.ASCII)

_TIMESTAMP_HELP = (
    "\nRequired format is: \"yyyy-MM-dd'T'HH:mm:ss.SSS\", with an optional numeric 4-digit timezone, for example: "
    "'2020-05-26T23:59:58.000' or with tz: '2020-05-26T23:59:58.000+0200'. A trailing 'Z' instead of tz indicates the "
    'zero UTC offset. Partials are also supported, for example "2020-05-26"'
)
_TIME_HELP = (
    "\nRequired format is: \"HH:mm:ss.SSS\", for example: '01:34:20.123' or '01:34:20'. "
    "Partials are also supported, for example '01:34'"
)
_DATE_HELP = (
    "\nRequired format is: \"yyyy-MM-dd\", for example '2020-05-26'. Partials are also supported, for example '2020-05'"
)


def parse_timestamp(text: str) -> int:
    """The milliseconds of a text of a time; what is left out at the end is the earliest.

    >>> parse_timestamp("1970-01-02T00:00:01+0100"), parse_timestamp("1971"), parse_timestamp("1970-01-01T24")
    (82801000, 31536000000, 86400000)

    Raises:
        FunctionError: the text is no time.
    """
    day, mark, rest = text.partition("T")
    zone = ""
    if mark:
        cut = next((rest.index(sign) for sign in "+-" if sign in rest), len(rest))
        rest, zone = rest[:cut].removesuffix("Z"), rest[cut:]
    else:
        day = _complete_date(text)
    complete = f"{day}T{rest}{_TIME_TEMPLATE[len(rest) :]}"
    try:
        return _timestamp(complete) - _offset(zone)
    except ValueError as error:
        raise FunctionError(f"Failed to parse timestamp '{text}': {error}{_TIMESTAMP_HELP}") from None


def _timestamp(text: str) -> int:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"Text '{text}' could not be parsed")
    year, month, day, hour, minute, second, milli = map(int, match.groups())
    end_of_day = (hour, minute, second, milli) == (24, 0, 0, 0)
    is_time = (hour < 24 or end_of_day) and minute < 60 and second < 60
    if not (1 <= month <= 12 and 1 <= day <= 31 and is_time and year > 0):
        raise ValueError(f"Text '{text}' could not be parsed")
    # As java.time does where it is not told to be strict: February 30 is the last day of February.
    day = min(day, calendar.monthrange(year, month)[1])
    days = date(year, month, day).toordinal() - _EPOCH
    return days * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + milli


def _offset(text: str) -> int:
    if not text.strip():
        return 0
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise ValueError(f"Failed to parse timezone '{text}': Invalid ID for ZoneOffset, invalid format: {text}")
    sign, hours, minutes, seconds = match.groups()
    length = ((int(hours) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)) * 1000
    if length > 18 * 3_600_000:
        raise ValueError(f"Failed to parse timezone '{text}': Zone offset not in valid range: -18:00 to +18:00")
    return -length if sign == "-" else length


def parse_date(text: str) -> int:
    """The day of a text; a month or a year is its first day.

    >>> parse_date("1970-01-31"), parse_date("1970-02")
    (30, 31)

    Raises:
        FunctionError: the text is no day.
    """
    complete = _complete_date(text)
    try:
        match = _DATE.fullmatch(complete)
        if match is None:
            raise ValueError(f"Text '{complete}' could not be parsed at index 0")
        year, month, day = map(int, match.groups())
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError as error:
        raise FunctionError(f"Failed to parse date '{text}': {error}{_DATE_HELP}") from None


def _complete_date(text: str) -> str:
    return text + {0: "-01-01", 1: "-01"}.get(text.count("-"), "")


def parse_time(text: str) -> int:
    """The milliseconds of the day of a text.

    >>> parse_time("00:01"), parse_time("00:00:01.5")
    (60000, 1500)

    Raises:
        FunctionError: the text is no time of day.
    """
    match = _TIME.fullmatch(text)
    if match is not None:
        hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
        if hour < 24 and minute < 60 and second < 60:
            return ((hour * 60 + minute) * 60 + second) * 1000 + int((match[4] or "").ljust(3, "0")[:3])
    raise FunctionError(f"Failed to parse time '{text}': Text '{text}' could not be parsed{_TIME_HELP}")


def timestamp_text(value: int) -> str:
    """A TIMESTAMP as text.

    >>> timestamp_text(82801000)
    '1970-01-01T23:00:01.000'
    """
    days, rest = divmod(value, DAY_MS)
    seconds, milli = divmod(rest, 1000)
    return f"{date_text(days)}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{milli:03}"


def date_text(value: int) -> str:
    """A DATE as text.

    >>> date_text(30)
    '1970-01-31'
    """
    return date.fromordinal(value + _EPOCH).isoformat()


def time_text(value: int) -> str:
    """A TIME as text: without parts of seconds, without seconds when there are none.

    >>> time_text(60000), time_text(1500)
    ('00:01', '00:00:01')
    """
    seconds = value // 1000
    minutes = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return f"{minutes}:{seconds % 60:02}" if seconds % 60 else minutes
