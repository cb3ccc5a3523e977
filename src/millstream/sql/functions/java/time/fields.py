"""The fields of dates and times, and a moment to take them from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.time import calendar
from millstream.sql.functions.java.time.zones import Zone


class Unsupported(FunctionError):
    """A moment does not have the field: a date has no hour."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field; each exists once and is compared by identity.

    Attributes:
        name: Java's name, for messages.
        low: the smallest value.
        high: the largest value.
        in_date: whether dates have it.
        in_time: whether times have it.
    """

    name: str
    low: int
    high: int
    in_date: bool = False
    in_time: bool = False

    def check(self, value: int) -> int:
        """The value itself.

        Raises:
            FunctionError: it is not a value of the field.
        """
        if not self.low <= value <= self.high:
            raise FunctionError(f"Invalid value for {self.name} (valid values {self.low} - {self.high}): {value}")
        return value


_YEAR_MAX = 999_999_999

ERA: Final = Field("Era", 0, 1, in_date=True)
YEAR: Final = Field("Year", -_YEAR_MAX, _YEAR_MAX, in_date=True)
YEAR_OF_ERA: Final = Field("YearOfEra", 1, _YEAR_MAX + 1, in_date=True)
WEEK_BASED_YEAR: Final = Field("WeekBasedYear", -_YEAR_MAX, _YEAR_MAX, in_date=True)
QUARTER: Final = Field("QuarterOfYear", 1, 4, in_date=True)
MONTH: Final = Field("MonthOfYear", 1, 12, in_date=True)
WEEK_OF_YEAR: Final = Field("WeekOfWeekBasedYear", 1, 53, in_date=True)
WEEK_OF_MONTH: Final = Field("WeekOfMonth", 0, 6, in_date=True)
DAY_OF_MONTH: Final = Field("DayOfMonth", 1, 31, in_date=True)
DAY_OF_YEAR: Final = Field("DayOfYear", 1, 366, in_date=True)
DAY_OF_WEEK: Final = Field("DayOfWeek", 1, 7, in_date=True)
LOCAL_DAY_OF_WEEK: Final = Field("DayOfWeek", 1, 7, in_date=True)
ALIGNED_DAY_OF_WEEK_IN_MONTH: Final = Field("AlignedDayOfWeekInMonth", 1, 7, in_date=True)
MODIFIED_JULIAN_DAY: Final = Field("ModifiedJulianDay", -365_243_178_575, 365_241_821_058, in_date=True)
AMPM: Final = Field("AmPmOfDay", 0, 1, in_time=True)
HOUR: Final = Field("HourOfDay", 0, 23, in_time=True)
CLOCK_HOUR: Final = Field("ClockHourOfDay", 1, 24, in_time=True)
HOUR_OF_AMPM: Final = Field("HourOfAmPm", 0, 11, in_time=True)
CLOCK_HOUR_OF_AMPM: Final = Field("ClockHourOfAmPm", 1, 12, in_time=True)
MINUTE: Final = Field("MinuteOfHour", 0, 59, in_time=True)
SECOND: Final = Field("SecondOfMinute", 0, 59, in_time=True)
NANO: Final = Field("NanoOfSecond", 0, 999_999_999, in_time=True)
MILLI_OF_DAY: Final = Field("MilliOfDay", 0, 86_399_999, in_time=True)
NANO_OF_DAY: Final = Field("NanoOfDay", 0, calendar.DAY_NANOS - 1, in_time=True)
OFFSET: Final = Field("OffsetSeconds", -64_800, 64_800)


class Moment:
    """What is printed: a date, a time, or both with a zone.

    Args:
        days: since 1970-01-01, local; None: no date.
        nanos: of the day, local; None: no time.
        zone: the zone; None: none.
        second: the instant, in seconds since the epoch.
        offset: the zone's offset then.
    """

    __slots__ = ("_date", "days", "nanos", "offset", "second", "zone")

    def __init__(
        self, days: int | None, nanos: int | None, zone: Zone | None = None, second: int = 0, offset: int = 0
    ) -> None:
        self.days = days
        self.nanos = nanos
        self.zone = zone
        self.second = second
        self.offset = offset
        self._date: tuple[int, int, int] | None = None

    @classmethod
    def of_timestamp(cls, millis: int, zone: Zone) -> Moment:
        """An instant as a zone's clocks show it."""
        second, milli = divmod(millis, 1000)
        offset = zone.offset_at(second)
        days, second_of_day = divmod(second + offset, 86_400)
        return cls(days, second_of_day * 1_000_000_000 + milli * 1_000_000, zone, second, offset)

    @property
    def date(self) -> tuple[int, int, int]:
        """Year, month and day."""
        if self._date is None:
            self._date = calendar.date_of(self.days or 0)
        return self._date

    def get(self, field: Field) -> int:
        """The value of a field.

        Raises:
            Unsupported: the moment does not have it.
        """
        if field.in_date and self.days is not None:
            return _OF_DATE[field](self)
        if field.in_time and self.nanos is not None:
            return _OF_TIME[field](self.nanos)
        if field is OFFSET and self.zone is not None:
            return self.offset
        raise Unsupported(f"Unsupported field: {field.name}")


def _year_of_era(moment: Moment) -> int:
    year = moment.date[0]
    return year if year > 0 else 1 - year


_OF_DATE: dict[Field, Callable[[Moment], int]] = {
    ERA: lambda moment: int(moment.date[0] > 0),
    YEAR: lambda moment: moment.date[0],
    YEAR_OF_ERA: _year_of_era,
    WEEK_BASED_YEAR: lambda moment: calendar.us_week_of_year(moment.days or 0)[0],
    QUARTER: lambda moment: (moment.date[1] + 2) // 3,
    MONTH: lambda moment: moment.date[1],
    WEEK_OF_YEAR: lambda moment: calendar.us_week_of_year(moment.days or 0)[1],
    WEEK_OF_MONTH: lambda moment: calendar.us_week_of_month(moment.days or 0),
    DAY_OF_MONTH: lambda moment: moment.date[2],
    DAY_OF_YEAR: lambda moment: (moment.days or 0) - calendar.days_of(moment.date[0], 1, 1) + 1,
    DAY_OF_WEEK: lambda moment: calendar.day_of_week(moment.days or 0),
    LOCAL_DAY_OF_WEEK: lambda moment: calendar.us_day_of_week(moment.days or 0),
    ALIGNED_DAY_OF_WEEK_IN_MONTH: lambda moment: (moment.date[2] - 1) % 7 + 1,
    MODIFIED_JULIAN_DAY: lambda moment: (moment.days or 0) + 40587,
}

_OF_TIME: dict[Field, Callable[[int], int]] = {
    AMPM: lambda nanos: nanos // 43_200_000_000_000,
    HOUR: lambda nanos: nanos // 3_600_000_000_000,
    CLOCK_HOUR: lambda nanos: nanos // 3_600_000_000_000 or 24,
    HOUR_OF_AMPM: lambda nanos: nanos // 3_600_000_000_000 % 12,
    CLOCK_HOUR_OF_AMPM: lambda nanos: nanos // 3_600_000_000_000 % 12 or 12,
    MINUTE: lambda nanos: nanos // 60_000_000_000 % 60,
    SECOND: lambda nanos: nanos // 1_000_000_000 % 60,
    NANO: lambda nanos: nanos % 1_000_000_000,
    MILLI_OF_DAY: lambda nanos: nanos // 1_000_000,
    NANO_OF_DAY: lambda nanos: nanos,
}
