"""The proleptic ISO calendar over any year: Python's `date` ends at 9999, Java's does not."""

from __future__ import annotations

DAY_NANOS = 86_400_000_000_000
_DAYS_BEFORE_MONTH = (0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_MONTH_LENGTH = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year: int) -> bool:
    """Whether a year has a 29 February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year: int, month: int) -> int:
    """How many days a month has."""
    return 29 if month == 2 and is_leap(year) else _MONTH_LENGTH[month]


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01.

    >>> days_of(1970, 1, 1), days_of(2000, 3, 1), days_of(0, 1, 1)
    (0, 11017, -719528)
    """
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 + _DAYS_BEFORE_MONTH[month] + day
    if month > 2 and is_leap(year):
        days += 1
    return days - 719163


def date_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of days since 1970-01-01.

    >>> date_of(0), date_of(11016), date_of(-719528)
    ((1970, 1, 1), (2000, 2, 29), (0, 1, 1))
    """
    # Years that begin in March put the leap day at their end.
    era, day_of_era = divmod(days + 719468, 146097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def day_of_week(days: int) -> int:
    """1 (Monday) to 7 (Sunday).

    >>> day_of_week(0)
    4
    """
    return (days + 3) % 7 + 1


def us_day_of_week(days: int) -> int:
    """1 (Sunday) to 7 (Saturday)."""
    return (days + 4) % 7 + 1


def us_week_year_start(year: int) -> int:
    """The day a week-based year begins: the Sunday on or before 1 January."""
    first = days_of(year, 1, 1)
    return first - (us_day_of_week(first) - 1)


def us_week_of_year(days: int) -> tuple[int, int]:
    """The week-based year and the week in it, weeks beginning on Sundays.

    >>> us_week_of_year(days_of(2020, 12, 27)), us_week_of_year(days_of(2021, 7, 4))
    ((2021, 1), (2021, 28))
    """
    year = date_of(days)[0]
    if days >= us_week_year_start(year + 1):
        year += 1
    return year, (days - us_week_year_start(year)) // 7 + 1


def us_week_of_month(days: int) -> int:
    """The week of a day's month, weeks beginning on Sundays, the first being that of the 1st."""
    year, month, day = date_of(days)
    return (day - 1 + us_day_of_week(days_of(year, month, 1)) - 1) // 7 + 1
