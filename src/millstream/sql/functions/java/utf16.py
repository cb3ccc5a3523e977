"""Texts as Java counts them: in units of UTF-16.

A character beyond the Basic Multilingual Plane is two units there and one character here. Functions that count or cut
work on texts whose characters are units; most texts already are.
"""

from __future__ import annotations

import re

_BEYOND = re.compile("[\U00010000-\U0010ffff]")


def units(text: str) -> str:
    r"""The text with one character per unit: surrogates in place of what lies beyond the BMP.

    >>> len(units("a\U0001F600"))
    3
    """
    if text.isascii() or _BEYOND.search(text) is None:
        return text
    return _BEYOND.sub(_pair, text)


def _pair(match: re.Match[str]) -> str:
    offset = ord(match[0]) - 0x10000
    return chr(0xD800 | offset >> 10) + chr(0xDC00 | offset & 0x3FF)


def text_of(units_: str) -> str:
    r"""The text that units spell: the reverse of `units`.

    >>> text_of(units("\U0001F600")) == "\U0001F600"
    True
    """
    if units_.isascii():
        return units_
    return units_.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def length(text: str) -> int:
    r"""How many units a text has.

    >>> length("a\U0001F600")
    3
    """
    return len(text) if text.isascii() else len(units(text))


def sort_key(text: str) -> str:
    r"""What sorts texts as Java does: by units.

    >>> sorted(["\uffff", "\U0001F600"], key=sort_key) == ["\U0001F600", "\uffff"]
    True
    """
    return text if text.isascii() else units(text)
