"""Moments to texts, by a pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.time import fields as f
from millstream.sql.functions.java.time.fields import Field, Moment, Unsupported
from millstream.sql.functions.java.time.pattern import (
    Element,
    Fraction,
    Literal,
    NamedOffset,
    Number,
    Offset,
    Optional,
    Padded,
    Sign,
    Text,
    ZoneId,
    ZoneName,
    compile_pattern,
)
from millstream.sql.functions.java.time.zones import UTC, Zone

_Print = Callable[[Moment], str]


class Formatter:
    """Writes dates, times and timestamps by a pattern.

    >>> Formatter("yyyy-MM-dd HH:mm:ss.SSS XXX").timestamp(1)
    '1970-01-01 00:00:00.001 Z'
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._print = _sequence(compile_pattern(pattern))

    def timestamp(self, millis: int, zone: Zone = UTC) -> str:
        """Milliseconds since the epoch, as a zone's clocks show them."""
        return self._print(Moment.of_timestamp(millis, zone))

    def date(self, days: int) -> str:
        """Days since the epoch.

        Raises:
            FunctionError: the pattern asks for what a date does not have.
        """
        return self._print(Moment(days, None))

    def time(self, millis: int) -> str:
        """Milliseconds of the day.

        Raises:
            FunctionError: the pattern asks for what a time does not have.
        """
        return self._print(Moment(None, f.MILLI_OF_DAY.check(millis) * 1_000_000))

    def __reduce__(self) -> tuple[object, ...]:
        return formatter, (self.pattern,)


@lru_cache(maxsize=1000)
def formatter(pattern: str) -> Formatter:
    """The formatter of a pattern.

    Raises:
        FunctionError: it is not a pattern.
    """
    return Formatter(pattern)


def _sequence(elements: Sequence[Element]) -> _Print:
    prints = [_printer(element) for element in elements]
    return lambda moment: "".join([print_(moment) for print_ in prints])


def _printer(element: Element) -> _Print:
    match element:
        case Literal(text):
            return lambda moment: text
        case Number():
            return _number(element)
        case Fraction(width):
            return lambda moment: f"{moment.get(f.NANO):09}"[:width]
        case Text(field, names):
            return _text(field, names)
        case Offset():
            return lambda moment: _offset_text(element, moment.get(f.OFFSET))
        case NamedOffset(full):
            return lambda moment: _named_offset_text(full, moment.get(f.OFFSET))
        case ZoneId():
            return lambda moment: _zone(moment).id
        case ZoneName(full):
            if full:
                return lambda moment: _zone(moment).full_name(moment.second)
            return lambda moment: _zone(moment).short_name(moment.second)
        case Optional(elements):
            return _optional(_sequence(elements))
        case Padded(inner, width):
            return _padded(_printer(inner), width)
    raise TypeError(element)


def _text(field: Field, names: dict[int, str]) -> _Print:
    return lambda moment: names[moment.get(field)]


def _number(element: Number) -> _Print:
    field, width, base = element.field, element.least, element.base
    if base is not None:
        return lambda moment: f"{abs(moment.get(field)) % 100:02}"
    if element.sign is Sign.NEVER:
        return lambda moment: f"{moment.get(field):0{width}}"
    limit = 10**width if element.sign is Sign.EXCEEDS_PAD and width < 19 else None

    def signed(moment: Moment) -> str:
        value = moment.get(field)
        if value < 0:
            return f"-{-value:0{width}}"
        if limit is not None and value >= limit:
            return f"+{value}"
        return f"{value:0{width}}"

    return signed


def _offset_text(element: Offset, seconds: int) -> str:
    if not seconds:
        return element.none
    minutes, rest = divmod(abs(seconds), 60)
    colon = ":" if element.colon else ""
    parts = [f"{'-' if seconds < 0 else '+'}{minutes // 60:02}"]
    if element.minutes or minutes % 60:
        parts.append(f"{minutes % 60:02}")
        if element.seconds and rest:
            parts.append(f"{rest:02}")
    return colon.join(parts)


def _named_offset_text(full: bool, seconds: int) -> str:
    if not seconds:
        return "GMT"
    minutes, rest = divmod(abs(seconds), 60)
    sign = "-" if seconds < 0 else "+"
    if full:
        text = f"GMT{sign}{minutes // 60:02}:{minutes % 60:02}"
    else:
        text = f"GMT{sign}{minutes // 60}" + (f":{minutes % 60:02}" if minutes % 60 or rest else "")
    return f"{text}:{rest:02}" if rest else text


def _zone(moment: Moment) -> Zone:
    if moment.zone is None:
        raise Unsupported("Unable to extract ZoneId from temporal")
    return moment.zone


def _optional(print_: _Print) -> _Print:
    def optional(moment: Moment) -> str:
        try:
            return print_(moment)
        except Unsupported:
            return ""

    return optional


def _padded(print_: _Print, width: int) -> _Print:
    def padded(moment: Moment) -> str:
        text = print_(moment)
        if len(text) > width:
            raise FunctionError(f"Cannot print as output of {len(text)} characters exceeds pad width of {width}")
        return text.rjust(width)

    return padded
