"""The texts of DATE '..', TIME '..' and TIMESTAMP '..'."""

from __future__ import annotations

import datetime
import re
import zoneinfo

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DATE = r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?"
_TIME = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,9}))?)?)?"
_ZONE = r"(?P<zone>[A-Za-z+-][A-Za-z0-9_:+/-]*)"
_DATE_ONLY = re.compile(_DATE, re.ASCII)
_TIME_ONLY = re.compile(_TIME, re.ASCII)
_DATE_AND_TIME = re.compile(rf"{_DATE}(?:[T ]{_TIME}{_ZONE}?)?", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})", re.ASCII)


def parse_date(text: str) -> int:
    """The days since 1970 of a date; months and days that are left out are the first.

    >>> parse_date("1970-02-01")
    31

    Raises:
        ValueError: the text is no date.
    """
    found = _DATE_ONLY.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return (_moment(found).date() - _EPOCH.date()).days


def parse_time(text: str) -> int:
    """The milliseconds of a time of the day.

    >>> parse_time("00:00:01.5")
    1500

    Raises:
        ValueError: the text is no time.
    """
    found = _TIME_ONLY.fullmatch(text)
    if found is None:
        raise ValueError(text)
    time = datetime.time(*_clock(found))
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1_000 + time.microsecond // 1_000


def parse_timestamp(text: str) -> int:
    """The milliseconds since 1970 of a date and time, in UTC unless the text names a zone.

    >>> parse_timestamp("1970-01-01T00:00:01+01:00")
    -3599000

    Raises:
        ValueError: the text is no timestamp.
    """
    found = _DATE_AND_TIME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    moment = _moment(found).replace(tzinfo=_zone(found["zone"]))
    if found["hour"] is not None:
        hour, minute, second, microsecond = _clock(found)
        moment = moment.replace(hour=hour, minute=minute, second=second, microsecond=microsecond)
    return (moment - _EPOCH) // datetime.timedelta(milliseconds=1)


def _moment(found: re.Match[str]) -> datetime.datetime:
    return datetime.datetime(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1), tzinfo=datetime.UTC)


def _clock(found: re.Match[str]) -> tuple[int, int, int, int]:
    fraction = (found["fraction"] or "").ljust(6, "0")[:6]
    return int(found["hour"]), int(found["minute"] or 0), int(found["second"] or 0), int(fraction)


def _zone(name: str | None) -> datetime.tzinfo:
    if name is None or name in ("Z", "z"):
        return datetime.UTC
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        try:
            return zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, OSError) as error:
            raise ValueError(name) from error
    distance = datetime.timedelta(hours=int(offset[2]), minutes=int(offset[3]))
    return datetime.timezone(-distance if offset[1] == "-" else distance)
