"""Texts to dates, times and timestamps, by a pattern."""

from __future__ import annotations

from functools import lru_cache

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.time import calendar
from millstream.sql.functions.java.time import fields as f
from millstream.sql.functions.java.time.calendar import DAY_NANOS
from millstream.sql.functions.java.time.fields import Field
from millstream.sql.functions.java.time.pattern import compile_pattern
from millstream.sql.functions.java.time.quick import quick_reader
from millstream.sql.functions.java.time.reader import Read, sequence
from millstream.sql.functions.java.time.resolve import Resolved
from millstream.sql.functions.java.time.zones import UTC, Zone


class Parser:
    """Reads texts by a pattern; upper and lower case are the same.

    Raises:
        FunctionError: it is not a pattern.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        elements = compile_pattern(pattern)
        self._read = sequence(elements)
        self._quick = quick_reader(elements)

    def resolve(self, text: str) -> Resolved:
        """What a text says.

        Raises:
            FunctionError: it does not follow the pattern, or says what cannot be.
        """
        found = Read()
        end = self._read(text, 0, found)
        if end < 0:
            raise FunctionError(f"Text '{text}' could not be parsed at index {~end}")
        if end < len(text):
            raise FunctionError(f"Text '{text}' could not be parsed, unparsed text found at index {end}")
        try:
            return Resolved(found)
        except FunctionError as error:
            raise FunctionError(f"Text '{text}' could not be parsed: {error}") from error

    def date(self, text: str) -> int:
        """The days since the epoch of the date in a text; a time in it is left out.

        Raises:
            FunctionError: it says no date.
        """
        days = self.resolve(text).days
        if days is None:
            raise FunctionError(f"Text '{text}' could not be parsed: Unable to obtain LocalDate from TemporalAccessor")
        return days

    def only_date(self, text: str) -> int:
        """The days since the epoch of the date in a text; what it leaves out is as on 1970-01-01.

        Raises:
            FunctionError: it does not follow the pattern, or says a time too.
        """
        days, rest = divmod(self.timestamp(text), 86_400_000)
        if rest:
            raise FunctionError("Date format contains time field.")
        return days

    def only_time(self, text: str) -> int:
        """The milliseconds of the day of the time in a text.

        Raises:
            FunctionError: it says no time, or something of a date too.
        """
        resolved = self.resolve(text)
        if resolved.days is not None or any(field.in_date for field in resolved.rest):
            raise FunctionError("Time format contains date field.")
        if resolved.nanos is None:
            raise FunctionError("Unable to obtain LocalTime from TemporalAccessor")
        return resolved.nanos // 1_000_000

    def timestamp(self, text: str, zone: Zone = UTC) -> int:
        """The milliseconds since the epoch that a text says; what it leaves out is as on 1970-01-01T00:00.

        Args:
            text: the text.
            zone: the zone, if the text says none.

        Raises:
            FunctionError: it does not follow the pattern, or says what cannot be.
        """
        if self._quick is not None and not zone.varies:
            local = self._quick(text)
            if local is not None:
                millis, offset = local
                return millis - (zone.seconds if offset is None else offset) * 1000
        return _instant(self.resolve(text), zone)

    def __reduce__(self) -> tuple[object, ...]:
        return timestamp_parser, (self.pattern,)


def _instant(resolved: Resolved, default: Zone) -> int:
    zone = resolved.zone or default
    days, nanos = resolved.days, resolved.nanos
    day_in_1970 = 0
    if days is None:
        days = _partial_date(resolved.rest)
    elif zone.varies:
        day_in_1970 = days - calendar.days_of(calendar.date_of(days)[0], 1, 1)
    if nanos is None:
        nanos = _partial_time(resolved.rest)
    local = days * 86_400 + nanos // 1_000_000_000
    offset = zone.seconds
    if zone.varies:
        is_whole = resolved.days is not None and resolved.nanos is not None
        said = resolved.rest.get(f.OFFSET)
        early, late = zone.offsets_of(local)
        offset = early
        if said is not None and is_whole:
            offset = said
        elif early != late:
            # Twice on the clock: the offset given, or that of the same day of 1970, from which ksqlDB goes on.
            if said is None and (resolved.zone is None or not is_whole):
                said = zone.offsets_of(day_in_1970 * 86_400 + nanos // 1_000_000_000)[0]
            offset = late if said == late else early
    return (local - offset) * 1000 + nanos % 1_000_000_000 // 1_000_000


def _partial_time(values: dict[Field, int]) -> int:
    if not values:
        return 0
    hour = values.get(f.HOUR_OF_AMPM, 0)
    hour = values.get(f.HOUR, hour)
    if f.AMPM in values:
        hour = hour % 12 + 12 * values[f.AMPM]
    seconds = (hour * 60 + values.get(f.MINUTE, 0)) * 60 + values.get(f.SECOND, 0)
    return (seconds * 1_000_000_000 + values.get(f.NANO, 0)) % DAY_NANOS


def _partial_date(values: dict[Field, int]) -> int:
    if not values:
        return 0
    year, month, day = 1970, 1, 1
    if f.DAY_OF_WEEK in values:
        year, month, day = calendar.date_of(values[f.DAY_OF_WEEK] - 4)
    if f.ALIGNED_DAY_OF_WEEK_IN_MONTH in values:
        aligned = values[f.ALIGNED_DAY_OF_WEEK_IN_MONTH] - ((day - 1) % 7 + 1)
        year, month, day = calendar.date_of(calendar.days_of(year, month, day) + aligned)
    if f.DAY_OF_MONTH in values:
        day = values[f.DAY_OF_MONTH]
    if f.DAY_OF_YEAR in values:
        if values[f.DAY_OF_YEAR] == 366:
            raise FunctionError("Leap day cannot be parsed without supplying the year field")
        year, month, day = calendar.date_of(calendar.days_of(year, 1, 1) + values[f.DAY_OF_YEAR] - 1)
    month = values.get(f.MONTH, month)
    year = values.get(f.YEAR, year)
    if values.get(f.ERA, 1) == 0:
        year = 1 - year
    return calendar.days_of(year, month, min(day, calendar.month_length(year, month)))


@lru_cache(maxsize=1000)
def timestamp_parser(pattern: str) -> Parser:
    """What reads timestamps, and dates and times, by a pattern.

    >>> timestamp_parser("yyyy-MM-dd'T'HH:mm:ssX").timestamp("2020-01-01T00:00:01z")
    1577836801000

    Raises:
        FunctionError: it is not a pattern.
    """
    return Parser(pattern)
