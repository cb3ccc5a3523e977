"""Time zones by Java's identifiers: offsets, `UTC+2` and regions of the tz database."""

from __future__ import annotations

import re
from datetime import UTC as _UTC
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.time.names import FULL_NAME_OF_ABBREVIATION, ZONE_OF_ABBREVIATION

_EPOCH = datetime(1970, 1, 1, tzinfo=_UTC)
_OFFSET = re.compile(r"([+-])(?:(\d)|(\d\d)(?::?(\d\d)(?::?(\d\d))?)?)\Z", re.ASCII)
_REGION = re.compile(r"[A-Za-z][A-Za-z0-9~/._+-]+\Z", re.ASCII)
# The same rules hold in every cycle of 400 years, so far-away years borrow those of a near one.
_CYCLE_SECONDS = 146097 * 86400
_FIRST_SECOND, _LAST_SECOND = -62_000_000_000, 253_000_000_000
# Regions of the tz database that Java does not list.
_NOT_JAVAS = {"EST", "MST", "HST", "ROC", "Factory", "localtime"}


def offset_id(seconds: int) -> str:
    """An offset as Java shows it.

    >>> offset_id(0), offset_id(-5400), offset_id(3601)
    ('Z', '-01:30', '+01:00:01')
    """
    if not seconds:
        return "Z"
    minutes, rest = divmod(abs(seconds), 60)
    text = f"{'-' if seconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{rest:02}" if rest else text


class Zone:
    """A zone whose offset never changes.

    Args:
        id: Java's identifier.
        seconds: how far it is ahead of UTC.
    """

    __slots__ = ("id", "seconds")

    #: Whether the offset depends on the instant.
    varies = False

    def __init__(self, id: str, seconds: int = 0) -> None:
        self.id = id
        self.seconds = seconds

    def offset_at(self, second: int) -> int:
        """The offset at an instant, in seconds since the epoch."""
        return self.seconds

    def offsets_of(self, local_second: int) -> tuple[int, int]:
        """The offsets that a local time can have: two different ones when clocks were turned back."""
        return self.seconds, self.seconds

    def short_name(self, second: int) -> str:
        """What the zone is called at an instant, in short."""
        return self.id

    def full_name(self, second: int) -> str:
        """What the zone is called at an instant, in full."""
        name = self.short_name(second)
        return FULL_NAME_OF_ABBREVIATION.get(name, name)

    def __reduce__(self) -> tuple[object, ...]:
        return zone_of, (self.id,)


class RegionZone(Zone):
    """A zone of the tz database."""

    __slots__ = ("info",)

    varies = True

    def __init__(self, id: str, info: ZoneInfo) -> None:
        super().__init__(id)
        self.info = info

    def _at(self, second: int) -> datetime:
        return datetime.fromtimestamp(_near(second), _UTC).astimezone(self.info)

    def offset_at(self, second: int) -> int:
        return _seconds(self._at(second).utcoffset())

    def offsets_of(self, local_second: int) -> tuple[int, int]:
        local = _EPOCH + timedelta(seconds=_near(local_second))
        early = local.replace(tzinfo=self.info, fold=0).utcoffset()
        late = local.replace(tzinfo=self.info, fold=1).utcoffset()
        # Clocks turned forward leave local times that never were: they count with the offset before.
        return _seconds(early), _seconds(late if late is not None and early is not None and late < early else early)

    def short_name(self, second: int) -> str:
        return self._at(second).tzname() or self.id


def _near(second: int) -> int:
    if second < _FIRST_SECOND:
        return second + -(-(_FIRST_SECOND - second) // _CYCLE_SECONDS) * _CYCLE_SECONDS
    if second > _LAST_SECOND:
        return second - -(-(second - _LAST_SECOND) // _CYCLE_SECONDS) * _CYCLE_SECONDS
    return second


def _seconds(offset: timedelta | None) -> int:
    return 0 if offset is None else offset.days * 86400 + offset.seconds


UTC = Zone("Z")


def parse_offset(text: str) -> int:
    """The seconds of `+1`, `-02`, `+0130`, `+01:30` or `+01:30:15`.

    Raises:
        FunctionError: it is none of these, or beyond 18 hours.
    """
    match = _OFFSET.match(text)
    if match is None:
        raise FunctionError(f"Invalid ID for ZoneOffset, invalid format: {text}")
    sign, hour, hours, minutes, seconds = match.groups()
    total = int(hour or hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    if total > 18 * 3600 or int(minutes or 0) > 59 or int(seconds or 0) > 59:
        raise FunctionError(f"Zone offset not in valid range: {text}")
    return -total if sign == "-" else total


@lru_cache(maxsize=1000)
def zone_of(text: str) -> Zone:
    """The zone of an identifier, by the rules of Java's `ZoneId.of`.

    >>> zone_of("UTC+2").offset_at(0), zone_of("America/Los_Angeles").offset_at(0)
    (7200, -28800)

    Raises:
        FunctionError: there is no such zone.
    """
    if text == "Z":
        return UTC
    if len(text) < 2 or text[0] in "+-":
        seconds = parse_offset(text)
        return Zone(offset_id(seconds), seconds)
    for prefix in ("UTC", "GMT", "UT"):
        if text == prefix:
            return Zone(text)
        if text.startswith(prefix) and text[len(prefix)] in "+-":
            seconds = parse_offset(text[len(prefix) :])
            return Zone(prefix + offset_id(seconds) if seconds else prefix, seconds)
    if not _REGION.match(text):
        raise FunctionError(f"Invalid ID for region-based ZoneId, invalid format: {text}")
    if text not in _regions():
        raise FunctionError(f"Unknown time-zone ID: {text}")
    try:
        return RegionZone(text, ZoneInfo(text))
    except (ZoneInfoNotFoundError, OSError, ValueError) as error:
        raise FunctionError(f"Unknown time-zone ID: {text}") from error


@lru_cache(maxsize=1)
def _regions() -> frozenset[str]:
    return frozenset(available_timezones() - _NOT_JAVAS)


@lru_cache(maxsize=2)
def zone_texts(*, names: bool) -> tuple[dict[str, str], int]:
    """What may stand for a zone in a text, in lower case, to its identifier; and the longest of them.

    Args:
        names: whether abbreviations and full names count, or identifiers only.
    """
    texts = {region.lower(): region for region in _regions()}
    if names:
        for abbreviation, region in ZONE_OF_ABBREVIATION.items():
            texts[abbreviation.lower()] = region
            if abbreviation in FULL_NAME_OF_ABBREVIATION:
                texts[FULL_NAME_OF_ABBREVIATION[abbreviation].lower()] = region
        texts["coordinated universal time"] = "UTC"
        texts["greenwich mean time"] = "GMT"
    return texts, max(map(len, texts))
