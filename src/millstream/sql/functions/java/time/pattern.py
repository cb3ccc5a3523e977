"""Patterns of java.time's DateTimeFormatter, taken apart."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from functools import lru_cache

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.time import fields as f
from millstream.sql.functions.java.time import names
from millstream.sql.functions.java.time.fields import Field

_MAX_WIDTH = 19


class Sign(enum.Enum):
    """What signs a number may have."""

    #: A minus where negative.
    NORMAL = "normal"
    #: None; negative values cannot be shown.
    NEVER = "never"
    #: Also a plus where the number is wider than its padding.
    EXCEEDS_PAD = "exceeds pad"


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a pattern."""


@dataclass(frozen=True, slots=True)
class Number(Element):
    """Digits.

    Attributes:
        reserved: how many digits after it belong to fixed numbers right behind; -1 for a fixed number itself.
        base: of a year in two digits: the first year that it can mean.
    """

    field: Field
    least: int = 1
    most: int = _MAX_WIDTH
    sign: Sign = Sign.NORMAL
    reserved: int = 0
    base: int | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether its width is known."""
        return self.least == self.most and self.sign is Sign.NEVER


@dataclass(frozen=True, slots=True)
class Fraction(Element):
    """The first digits of a fraction of a second."""

    width: int


@dataclass(frozen=True, slots=True)
class Text(Element):
    """A name."""

    field: Field
    names: dict[int, str]


@dataclass(frozen=True, slots=True)
class Literal(Element):
    """Text that stands for itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Offset(Element):
    """An offset from UTC.

    Attributes:
        colon: whether colons are between its parts.
        minutes: None: only when there are any; else always.
        seconds: whether seconds are shown when there are any.
        none: what stands for no offset.
    """

    colon: bool
    minutes: bool | None
    seconds: bool
    none: str


@dataclass(frozen=True, slots=True)
class NamedOffset(Element):
    """GMT+8, or GMT+08:00 in full."""

    full: bool


@dataclass(frozen=True, slots=True)
class ZoneId(Element):
    """A zone's identifier."""


@dataclass(frozen=True, slots=True)
class ZoneName(Element):
    """A zone's name."""

    full: bool


@dataclass(frozen=True, slots=True)
class Optional(Element):
    """A part that may be missing."""

    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Padded(Element):
    """An element padded with spaces at its left."""

    element: Element
    width: int


@lru_cache(maxsize=1000)
def compile_pattern(pattern: str) -> tuple[Element, ...]:
    """Takes a pattern apart.

    >>> [type(element).__name__ for element in compile_pattern("yyyy-MM[ HH]")]
    ['Number', 'Literal', 'Number', 'Optional']

    Raises:
        FunctionError: it is not a pattern.
    """
    return _PatternReader(pattern).read()


class _Section:
    """A part of the pattern, being built: the whole, or one in brackets."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        # The number before which others may stand without anything between, which it must leave their digits.
        self.open_number: int | None = None

    def add(self, element: Element) -> None:
        self.elements.append(element)
        self.open_number = None

    def add_number(self, element: Number | Fraction) -> None:
        opener = self.open_number
        if opener is None:
            self.add(element)
            self.open_number = len(self.elements) - 1
            return
        first = self.elements[opener]
        fixed = isinstance(element, Fraction) or element.is_fixed
        if fixed:
            width = element.width if isinstance(element, Fraction) else element.most
            if isinstance(first, Number):
                self.elements[opener] = replace(first, reserved=first.reserved + width)
            self.elements.append(replace(element, reserved=-1) if isinstance(element, Number) else element)
        else:
            if isinstance(first, Number):
                self.elements[opener] = replace(first, reserved=-1)
            self.elements.append(element)
            self.open_number = len(self.elements) - 1


class _PatternReader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.sections = [_Section()]
        self.pad: int | None = None

    def read(self) -> tuple[Element, ...]:
        pattern, position = self.pattern, 0
        while position < len(pattern):
            letter = pattern[position]
            if letter.isascii() and letter.isalpha():
                end = position
                while end < len(pattern) and pattern[end] == letter:
                    end += 1
                self._letters(letter, end - position)
                position = end
            elif letter == "'":
                position = self._quoted(position)
            else:
                self._other(letter)
                position += 1
        if self.pad is not None:
            raise FunctionError(f"Pad letter 'p' must be followed by valid pad pattern: {pattern}")
        while len(self.sections) > 1:
            self._close()
        return tuple(self.sections[0].elements)

    def _quoted(self, position: int) -> int:
        pattern, at = self.pattern, position + 1
        text: list[str] = []
        while at < len(pattern):
            if pattern[at] == "'":
                if pattern[at + 1 : at + 2] != "'":
                    self._add(Literal("".join(text) or "'"))
                    return at + 1
                at += 1
            text.append(pattern[at])
            at += 1
        raise FunctionError(f"Pattern ends with an incomplete string literal: {pattern}")

    def _other(self, letter: str) -> None:
        if letter == "[":
            self.sections[-1].open_number = None
            self.sections.append(_Section())
        elif letter == "]":
            if len(self.sections) == 1:
                raise FunctionError("Pattern invalid as it contains ] without previous [")
            self._close()
        elif letter in "{}#":
            raise FunctionError(f"Pattern includes reserved character: '{letter}'")
        else:
            self._add(Literal(letter))

    def _close(self) -> None:
        section = self.sections.pop()
        if section.elements:
            self.sections[-1].add(Optional(tuple(section.elements)))

    def _add(self, element: Element) -> None:
        if self.pad is not None:
            self.sections[-1].add(Padded(element, self.pad))
            self.pad = None
        elif isinstance(element, (Number, Fraction)):
            self.sections[-1].add_number(element)
        else:
            self.sections[-1].add(element)

    def _letters(self, letter: str, count: int) -> None:
        if letter == "p":
            if self.pad is not None:
                raise FunctionError(f"Pad letter 'p' must be followed by valid pad pattern: {self.pattern}")
            self.pad = count
            return
        element = _element(letter, count)
        if element is None:
            raise FunctionError(
                f"Too many pattern letters: {letter}" if letter in _KNOWN else f"Unknown pattern letter: {letter}"
            )
        self._add(element)


_STYLES = {3: "short", 4: "full", 5: "narrow"}
_PLAIN = {
    "d": f.DAY_OF_MONTH,
    "H": f.HOUR,
    "h": f.CLOCK_HOUR_OF_AMPM,
    "K": f.HOUR_OF_AMPM,
    "k": f.CLOCK_HOUR,
    "m": f.MINUTE,
    "s": f.SECOND,
    "w": f.WEEK_OF_YEAR,
}
_NAMED = {
    "M": (f.MONTH, names.MONTH_NAMES),
    "L": (f.MONTH, names.MONTH_NAMES),
    "Q": (f.QUARTER, names.QUARTER_NAMES),
    "q": (f.QUARTER, names.QUARTER_NAMES),
    "e": (f.LOCAL_DAY_OF_WEEK, names.WEEKDAY_NAMES),
    "c": (f.LOCAL_DAY_OF_WEEK, names.WEEKDAY_NAMES),
}
_YEARS = {"u": f.YEAR, "y": f.YEAR_OF_ERA, "Y": f.WEEK_BASED_YEAR}
_WIDE = {"A": f.MILLI_OF_DAY, "n": f.NANO, "N": f.NANO_OF_DAY}
_KNOWN = set("GuyYDMLdQqwWEecFaHhKkmsSAnNgVvzOXxZp")

_X_SHAPES: dict[int, tuple[bool, bool | None, bool]] = {
    1: (False, None, False),
    2: (False, True, False),
    3: (True, True, False),
    4: (False, True, True),
    5: (True, True, True),
}


def _element(letter: str, count: int) -> Element | None:
    """What a run of one letter means; None where it is too long, or means nothing."""
    if letter in _YEARS:
        return _year(_YEARS[letter], count)
    if letter in _PLAIN:
        return _number(_PLAIN[letter], count) if count <= 2 else None
    if letter in _NAMED:
        return _named(letter, count)
    if letter in _WIDE:
        return Number(_WIDE[letter], count, _MAX_WIDTH, Sign.NEVER)
    if letter in "zvOXxZV":
        return _zone(letter, count)
    match letter:
        case "S":
            return Fraction(count) if count <= 9 else None
        case "G":
            return Text(f.ERA, names.ERA_NAMES[_STYLES[max(count, 3)]]) if count <= 5 else None
        case "E":
            return Text(f.DAY_OF_WEEK, names.WEEKDAY_NAMES[_STYLES[max(count, 3)]]) if count <= 5 else None
        case "a":
            return Text(f.AMPM, names.AMPM_NAMES["short"]) if count == 1 else None
        case "D" if count == 1:
            return Number(f.DAY_OF_YEAR)
        case "D":
            return Number(f.DAY_OF_YEAR, count, 3, Sign.NEVER) if count <= 3 else None
        case "W":
            return Number(f.WEEK_OF_MONTH, 1, 1, Sign.NEVER) if count == 1 else None
        case "F":
            return Number(f.ALIGNED_DAY_OF_WEEK_IN_MONTH) if count == 1 else None
        case "g":
            return Number(f.MODIFIED_JULIAN_DAY, count)
    return None


def _number(field: Field, count: int) -> Number:
    return Number(field) if count == 1 else Number(field, count, count, Sign.NEVER)


def _year(field: Field, count: int) -> Number | None:
    if count > _MAX_WIDTH:
        return None
    if count == 2:
        return Number(field, 2, 2, Sign.NEVER, base=2000)
    return Number(field, count, _MAX_WIDTH, Sign.NORMAL if count < 4 else Sign.EXCEEDS_PAD)


def _named(letter: str, count: int) -> Element | None:
    field, styles = _NAMED[letter]
    if count <= 2:
        if letter == "c" and count == 2:
            raise FunctionError('Invalid pattern "cc"')
        if field is f.LOCAL_DAY_OF_WEEK:
            return Number(field, count, count, Sign.NEVER)
        return _number(field, count)
    if count > 5:
        return None
    return Text(f.DAY_OF_WEEK if field is f.LOCAL_DAY_OF_WEEK else field, styles[_STYLES[count]])


def _zone(letter: str, count: int) -> Element | None:
    if letter == "V":
        if count != 2:
            raise FunctionError(f"Pattern letter count must be 2: {letter}")
        return ZoneId()
    if letter == "z":
        return ZoneName(full=count == 4) if count <= 4 else None
    if letter in "vO":
        if count not in (1, 4):
            raise FunctionError(f"Pattern letter count must be 1 or 4: {letter}")
        return ZoneName(full=count == 4) if letter == "v" else NamedOffset(full=count == 4)
    if letter == "Z":
        if count == 4:
            return NamedOffset(full=True)
        return (
            Offset(False, True, False, "+0000") if count < 4 else Offset(True, True, True, "Z") if count == 5 else None
        )
    if count > 5:
        return None
    none = "Z" if letter == "X" else "+00" if count == 1 else "+0000" if count % 2 == 0 else "+00:00"
    return Offset(*_X_SHAPES[count], none)
