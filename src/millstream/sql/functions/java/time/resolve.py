"""The values of fields to a date and a time, as far as they make one.

Impossible days of a month are taken as its last, as Java's formatters do unless told otherwise.
"""

from __future__ import annotations

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.time import calendar
from millstream.sql.functions.java.time import fields as f
from millstream.sql.functions.java.time.fields import Field, Moment
from millstream.sql.functions.java.time.reader import Read
from millstream.sql.functions.java.time.zones import Zone, offset_id


class Resolved:
    """What a text says.

    Attributes:
        days: since 1970-01-01, if a whole date was given.
        nanos: of the day, if a time was given.
        rest: the values that are not in these.
        zone: the zone, if one was given.
    """

    __slots__ = ("days", "nanos", "rest", "zone")

    def __init__(self, read: Read) -> None:
        self.rest = rest = read.values
        self.days: int | None = None
        self.nanos: int | None = None
        self.zone: Zone | None = read.zone
        if self.zone is None and f.OFFSET in rest:
            self.zone = Zone(offset_id(rest[f.OFFSET]), rest[f.OFFSET])
        self._resolve_year(rest)
        self._resolve_date(rest)
        excess_days = self._resolve_time(rest)
        if rest:
            self._check_rest(rest)
        if self.days is not None and self.nanos is not None:
            self.days += excess_days

    def _resolve_year(self, rest: dict[Field, int]) -> None:
        if f.YEAR_OF_ERA not in rest:
            return
        year_of_era = f.YEAR_OF_ERA.check(rest.pop(f.YEAR_OF_ERA))
        era = rest.pop(f.ERA, None)
        if era is None:
            # A year without an era is of that of the proleptic year given besides, or of ours.
            era = int(rest.get(f.YEAR, 1) > 0)
        year = year_of_era if era else 1 - year_of_era
        if rest.setdefault(f.YEAR, year) != year:
            raise FunctionError(f"Conflict found: Year {rest[f.YEAR]} differs from Year {year}")

    def _resolve_date(self, rest: dict[Field, int]) -> None:
        if f.LOCAL_DAY_OF_WEEK in rest:
            local = f.LOCAL_DAY_OF_WEEK.check(rest.pop(f.LOCAL_DAY_OF_WEEK))
            weekday = (local + 5) % 7 + 1
            if rest.setdefault(f.DAY_OF_WEEK, weekday) != weekday:
                raise FunctionError(f"Conflict found: DayOfWeek {rest[f.DAY_OF_WEEK]} differs from DayOfWeek {weekday}")
        if f.MODIFIED_JULIAN_DAY in rest:
            self.days = f.MODIFIED_JULIAN_DAY.check(rest.pop(f.MODIFIED_JULIAN_DAY)) - 40587
        elif f.YEAR in rest and f.MONTH in rest and f.DAY_OF_MONTH in rest:
            self.days = _from_month_and_day(rest)
        elif f.YEAR in rest and f.DAY_OF_YEAR in rest:
            self.days = _from_day_of_year(rest)
        elif f.WEEK_BASED_YEAR in rest and f.WEEK_OF_YEAR in rest and f.DAY_OF_WEEK in rest:
            self.days = _from_week(rest)
        elif f.YEAR in rest and f.MONTH in rest and f.WEEK_OF_MONTH in rest and f.DAY_OF_WEEK in rest:
            self.days = _from_week_of_month(rest)

    def _resolve_time(self, rest: dict[Field, int]) -> int:
        """Takes the time out of the values. The days to add: 24:00 is the next day."""
        _resolve_hours(rest)
        if f.NANO_OF_DAY in rest:
            self.nanos = f.NANO_OF_DAY.check(rest.pop(f.NANO_OF_DAY))
        elif f.MILLI_OF_DAY in rest:
            self.nanos = f.MILLI_OF_DAY.check(rest.pop(f.MILLI_OF_DAY)) * 1_000_000
        if self.nanos is not None or f.HOUR not in rest:
            return 0
        if (f.MINUTE not in rest and (f.SECOND in rest or f.NANO in rest)) or (f.SECOND not in rest and f.NANO in rest):
            return 0
        hour = rest.pop(f.HOUR)
        minute = rest.pop(f.MINUTE, 0)
        second = rest.pop(f.SECOND, 0)
        nano = rest.pop(f.NANO, 0)
        if hour == 24 and not minute and not second and not nano:
            self.nanos = 0
            return 1
        f.HOUR.check(hour)
        f.MINUTE.check(minute)
        f.SECOND.check(second)
        self.nanos = ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nano
        return 0

    def _check_rest(self, rest: dict[Field, int]) -> None:
        """What is left must agree with the date and the time; what these do not have must at least be a value."""
        moment = Moment(self.days, self.nanos)
        for field, value in list(rest.items()):
            if (field.in_date and self.days is not None) or (field.in_time and self.nanos is not None):
                actual = moment.get(field)
                if actual != value:
                    raise FunctionError(
                        f"Conflict found: Field {field.name} {actual} differs from {field.name} {value} "
                        "derived from the rest"
                    )
                del rest[field]
            elif field is not f.QUARTER:
                field.check(value)


def _resolve_hours(rest: dict[Field, int]) -> None:
    if f.CLOCK_HOUR in rest:
        rest[f.HOUR] = _clock_hour(f.CLOCK_HOUR, rest.pop(f.CLOCK_HOUR)) % 24
    if f.CLOCK_HOUR_OF_AMPM in rest:
        rest[f.HOUR_OF_AMPM] = _clock_hour(f.CLOCK_HOUR_OF_AMPM, rest.pop(f.CLOCK_HOUR_OF_AMPM)) % 12
    if f.AMPM in rest and f.HOUR_OF_AMPM in rest:
        hour = f.HOUR_OF_AMPM.check(rest.pop(f.HOUR_OF_AMPM)) + 12 * rest.pop(f.AMPM)
        if rest.setdefault(f.HOUR, hour) != hour:
            raise FunctionError(f"Conflict found: HourOfDay {rest[f.HOUR]} differs from HourOfDay {hour}")


def _clock_hour(field: Field, hour: int) -> int:
    return field.check(hour) if hour else 0


def _from_month_and_day(rest: dict[Field, int]) -> int:
    year = f.YEAR.check(rest.pop(f.YEAR))
    month = f.MONTH.check(rest.pop(f.MONTH))
    day = f.DAY_OF_MONTH.check(rest.pop(f.DAY_OF_MONTH))
    return calendar.days_of(year, month, min(day, calendar.month_length(year, month)))


def _from_day_of_year(rest: dict[Field, int]) -> int:
    year = f.YEAR.check(rest.pop(f.YEAR))
    day = f.DAY_OF_YEAR.check(rest.pop(f.DAY_OF_YEAR))
    if day == 366 and not calendar.is_leap(year):
        raise FunctionError(f"Invalid date 'DayOfYear 366' as '{year}' is not a leap year")
    return calendar.days_of(year, 1, 1) + day - 1


def _from_week(rest: dict[Field, int]) -> int:
    year = f.WEEK_BASED_YEAR.check(rest.pop(f.WEEK_BASED_YEAR))
    week = f.WEEK_OF_YEAR.check(rest.pop(f.WEEK_OF_YEAR))
    weekday = f.DAY_OF_WEEK.check(rest.pop(f.DAY_OF_WEEK))
    return calendar.us_week_year_start(year) + (week - 1) * 7 + weekday % 7


def _from_week_of_month(rest: dict[Field, int]) -> int:
    year = f.YEAR.check(rest.pop(f.YEAR))
    month = f.MONTH.check(rest.pop(f.MONTH))
    week = f.WEEK_OF_MONTH.check(rest.pop(f.WEEK_OF_MONTH))
    weekday = f.DAY_OF_WEEK.check(rest.pop(f.DAY_OF_WEEK))
    first = calendar.days_of(year, month, 1)
    return first - (calendar.us_day_of_week(first) - 1) + (week - 1) * 7 + weekday % 7
