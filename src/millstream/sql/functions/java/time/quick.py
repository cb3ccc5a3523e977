"""Whole timestamps in digits of fixed width, which is what streams are full of, by one regular expression.

What it does not take is not wrong: the reader decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from millstream.sql.functions.java.time import calendar
from millstream.sql.functions.java.time import fields as f
from millstream.sql.functions.java.time.pattern import Element, Fraction, Literal, Number, Offset, Sign

#: A text to its local milliseconds and its offset in seconds (None: not said), or None.
QuickReader = Callable[[str], tuple[int, int | None] | None]

_DIGITS = {
    f.MONTH: "(?P<month>0[1-9]|1[0-2])",
    f.DAY_OF_MONTH: r"(?P<day>0[1-9]|[12]\d|3[01])",
    f.HOUR: r"(?P<hour>[01]\d|2[0-3])",
    f.MINUTE: r"(?P<minute>[0-5]\d)",
    f.SECOND: r"(?P<second>[0-5]\d)",
}
_ORDER = ("year", "month", "day", "hour", "minute", "second", "fraction")


def quick_reader(elements: Sequence[Element]) -> QuickReader | None:
    """The reader of a pattern; None when the pattern has more than fixed numbers, or no whole date."""
    parts: list[str] = []
    for element in elements:
        part = _part(element)
        if part is None:
            return None
        parts.append(part)
    try:
        pattern = re.compile("".join(parts), re.ASCII)
    except re.error:  # A field twice.
        return None
    found = [name for name in _ORDER if name in pattern.groupindex]
    if len(found) < 3 or tuple(found) != _ORDER[: len(found)]:
        return None
    return _Quick(pattern, [pattern.groupindex[name] for name in found], pattern.groupindex.get("zone"))


def _part(element: Element) -> str | None:
    match element:
        case Literal(text) if not any(letter.isdigit() for letter in text):
            return re.escape(text)
        case Number(field, least, most, sign) if field in _DIGITS and (least, most, sign) == (2, 2, Sign.NEVER):
            return _DIGITS[field]
        case Number(field, 4) if field in (f.YEAR, f.YEAR_OF_ERA):
            return r"(?P<year>[1-9]\d{3})"
        case Fraction(width) if width >= 1:
            return rf"(?P<fraction>\d{{{width}}})"
        case Offset(colon, minutes, False, none):
            digits = rf"{':' if colon else ''}[0-5]\d"
            return rf"(?P<zone>{re.escape(none)}|[+-](?:0\d|1[0-7])(?:{digits}){'' if minutes else '?'})"
    return None


class _Quick:
    def __init__(self, pattern: re.Pattern[str], groups: list[int], zone: int | None) -> None:
        self._match = pattern.fullmatch
        self._groups = groups
        self._zone = zone

    def __call__(self, text: str) -> tuple[int, int | None] | None:
        match = self._match(text)
        if match is None:
            return None
        year, month, day, *time = [match[group] for group in self._groups]
        month_number, day_number = int(month), int(day)
        if day_number > 28 and day_number > calendar.month_length(int(year), month_number):
            return None
        millis = calendar.days_of(int(year), month_number, day_number) * 86_400_000
        if time:
            millis += int(time[0]) * 3_600_000
            if len(time) > 1:
                millis += int(time[1]) * 60_000
            if len(time) > 2:
                millis += int(time[2]) * 1_000
            if len(time) > 3:
                millis += int(time[3].ljust(3, "0")[:3])
        return millis, None if self._zone is None else _offset(match[self._zone])


def _offset(text: str) -> int:
    if len(text) < 3:
        return 0
    seconds = int(text[1:3]) * 3600
    if len(text) > 3:
        seconds += int(text[-2:]) * 60
    return -seconds if text[0] == "-" else seconds
