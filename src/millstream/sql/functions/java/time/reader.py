"""Texts to the values of fields, by a pattern. Upper and lower case are the same.

Readers take a text, a position and what was read so far; they answer the position behind what they took, or
`~position` of what they could not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.time import fields as f
from millstream.sql.functions.java.time.fields import Field
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
)
from millstream.sql.functions.java.time.zones import Zone, offset_id, zone_of, zone_texts


class Read:
    """What was read so far."""

    __slots__ = ("values", "zone")

    def __init__(self) -> None:
        self.values: dict[Field, int] = {}
        self.zone: Zone | None = None

    def put(self, field: Field, value: int, start: int, end: int) -> int:
        """Notes a value; reading a field twice must give the same."""
        if self.values.setdefault(field, value) != value:
            return ~start
        return end


Reader = Callable[[str, int, Read], int]


def sequence(elements: Sequence[Element]) -> Reader:
    """A reader of elements, one after the other."""
    readers = [_reader(element) for element in elements]

    def read(text: str, position: int, found: Read) -> int:
        for reader in readers:
            position = reader(text, position, found)
            if position < 0:
                break
        return position

    return read


def _reader(element: Element) -> Reader:
    match element:
        case Literal(text):
            return _literal(text)
        case Number():
            return _number(element)
        case Fraction(width):
            return _fraction(width)
        case Text(field, names):
            return _text(field, names)
        case Offset():
            return _offset(element)
        case NamedOffset(full):
            return _named_offset(full)
        case ZoneId():
            return _zone(names=False)
        case ZoneName():
            return _zone(names=True)
        case Optional(elements):
            return _optional(sequence(elements))
        case Padded(inner, width):
            return _padded(_reader(inner), width)
    raise TypeError(element)


def _literal(literal: str) -> Reader:
    length, folded = len(literal), literal.lower()

    def exactly(text: str, position: int, found: Read) -> int:
        return position + length if text.startswith(literal, position) else ~position

    def loosely(text: str, position: int, found: Read) -> int:
        return position + length if text[position : position + length].lower() == folded else ~position

    return loosely if folded != literal.upper() else exactly


def _digits(text: str, start: int, most: int) -> int:
    """Behind the last digit, of at most so many."""
    end, limit = start, min(start + most, len(text))
    while end < limit and "0" <= text[end] <= "9":
        end += 1
    return end


def _number(element: Number) -> Reader:
    field, least, most, reserved = element.field, element.least, element.most, element.reserved
    widest = most + max(reserved, 0)
    exceeds_pad = element.sign is Sign.EXCEEDS_PAD

    def read(text: str, position: int, found: Read) -> int:
        sign = text[position : position + 1]
        start = position
        if sign == "-":
            if element.sign is Sign.NEVER:
                return ~position
            start += 1
        elif sign == "+":
            if not exceeds_pad:
                return ~position
            start += 1
        end = _digits(text, start, widest)
        if end - start < least:
            return ~start
        if reserved > 0:
            end = start + max(least, end - start - reserved)
        value = int(text[start:end])
        if sign == "-":
            if not value:
                return ~position
            value = -value
        elif exceeds_pad and (end - start <= least) is (sign == "+"):
            return ~position
        return found.put(field, _full_year(value, element, end - start), start, end)

    return read


def _full_year(value: int, element: Number, width: int) -> int:
    if element.base is None or width != element.least:
        return value
    year = element.base // 100 * 100 + value
    return year + 100 if year < element.base else year


def _fraction(width: int) -> Reader:
    scale = 10 ** (9 - width)

    def read(text: str, position: int, found: Read) -> int:
        end = _digits(text, position, width)
        if end - position < width:
            return ~position
        return found.put(f.NANO, int(text[position:end]) * scale, position, end)

    return read


def _text(field: Field, names: dict[int, str]) -> Reader:
    folded = {name.lower(): value for value, name in names.items()}
    # A name that several values have is none's: `T` is Tuesday or Thursday.
    several = len(folded) < len(names)
    lengths = sorted({len(name) for name in folded}, reverse=True)

    def read(text: str, position: int, found: Read) -> int:
        if several:
            return ~position
        for length in lengths:
            value = folded.get(text[position : position + length].lower())
            if value is not None:
                return found.put(field, value, position, position + length)
        return ~position

    return read


def _offset_pattern(element: Offset) -> re.Pattern[str]:
    colon = ":" if element.colon else ""
    minutes = rf"{colon}(\d\d)"
    if element.seconds:
        minutes += rf"(?:{colon}(\d\d))?"
    return re.compile(rf"([+-])(\d\d)(?:{minutes}){'' if element.minutes else '?'}", re.ASCII)


def _offset_seconds(match: re.Match[str]) -> int:
    hours, minutes, seconds = (*(int(part or 0) for part in match.groups()[1:]), 0)[:3]
    if hours > 23 or minutes > 59 or seconds > 59:
        raise FunctionError("Value out of range: Hour[0-23], Minute[0-59], Second[0-59]")
    total = (hours * 60 + minutes) * 60 + seconds
    return -total if match.group(1) == "-" else total


def _offset(element: Offset) -> Reader:
    pattern = _offset_pattern(element)
    none = _literal(element.none)

    def read(text: str, position: int, found: Read) -> int:
        end = none(text, position, found)
        if end > 0:
            return found.put(f.OFFSET, 0, position, end)
        match = pattern.match(text, position)
        if match is None:
            return ~position
        return found.put(f.OFFSET, _offset_seconds(match), position, match.end())

    return read


_NAMED_SHORT = re.compile(r"([+-])(\d{1,2})(?::(\d\d)(?::(\d\d))?)?", re.ASCII)
_NAMED_FULL = re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?", re.ASCII)


def _named_offset(full: bool) -> Reader:
    pattern = _NAMED_FULL if full else _NAMED_SHORT
    prefix = _literal("GMT")

    def read(text: str, position: int, found: Read) -> int:
        end = prefix(text, position, found)
        if end < 0:
            return ~position
        match = pattern.match(text, end)
        if match is None:
            return found.put(f.OFFSET, 0, position, end)
        return found.put(f.OFFSET, _offset_seconds(match), position, match.end())

    return read


_ID_OFFSET = re.compile(r"([+-])(\d\d)(?::(\d\d)(?::(\d\d))?)?", re.ASCII)
_UTC_PREFIX = re.compile("UTC|UT|GMT(?!0)", re.IGNORECASE | re.ASCII)


def _zone(*, names: bool) -> Reader:
    def read(text: str, position: int, found: Read) -> int:
        if text[position : position + 1] in ("+", "-"):
            match = _ID_OFFSET.match(text, position)
            if match is None:
                return ~position
            found.zone = zone_of(offset_id(_offset_seconds(match)))
            return match.end()
        prefix = _UTC_PREFIX.match(text, position)
        if prefix is not None:
            id_, end = prefix.group().upper(), prefix.end()
            match = _ID_OFFSET.match(text, end)
            found.zone = zone_of(id_ if match is None else id_ + match.group())
            return end if match is None else match.end()
        texts, longest = zone_texts(names=names)
        for length in range(min(longest, len(text) - position), 1, -1):
            region = texts.get(text[position : position + length].lower())
            if region is not None:
                found.zone = zone_of(region)
                return position + length
        if text[position : position + 1] in ("Z", "z"):
            found.zone = zone_of("Z")
            return position + 1
        return ~position

    return read


def _optional(reader: Reader) -> Reader:
    def read(text: str, position: int, found: Read) -> int:
        values, zone = found.values.copy(), found.zone
        end = reader(text, position, found)
        if end < 0:
            found.values, found.zone = values, zone
            return position
        return end

    return read


def _padded(reader: Reader, width: int) -> Reader:
    def read(text: str, position: int, found: Read) -> int:
        end = position + width
        if end > len(text):
            return ~position
        start = position
        while start < end and text[start] == " ":
            start += 1
        taken = reader(text[:end], start, found)
        return taken if taken == end else ~start

    return read
