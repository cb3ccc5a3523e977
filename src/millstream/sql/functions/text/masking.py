"""MASK and its kin: characters replaced by what class they are of."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.utf16 import length, text_of, units

FUNCTIONS = Declarations("STRING")

#: What replaces a capital, a small letter, a digit and anything else; None keeps it.
Masks = tuple[str | None, str | None, str | None, str | None]

_DEFAULT: Masks = ("X", "x", "n", "-")
_CLASS = {"Lu": 0, "Ll": 1, "Nd": 2}
_OTHER = 3

_MASKS = "STRING upper, STRING lower, STRING digit, STRING other"


def _masked(text: str, masks: Masks) -> str:
    parts = []
    for character in text:
        mask = masks[_CLASS.get(unicodedata.category(character), _OTHER)]
        parts.append(character if mask is None else mask)
        if character > "\uffff":
            parts.append(masks[_OTHER] or "")  # its second unit
    return "".join(parts)


def _checked(*masks: str | None) -> Masks:
    for mask in masks:
        if mask is not None and length(mask) != 1:
            raise FunctionError(f"Invalid mask character. Must be only single character, but was '{mask}'")
    upper, lower, digit, other = masks
    return upper, lower, digit, other


def _check_count(name: str, count: int) -> None:
    if count < 0:
        raise FunctionError(f"function {name} requires a non-negative number of characters to mask or skip")


@FUNCTIONS.scalar("mask", "(STRING input) -> STRING")
def mask(text: str) -> str:
    """The text with capital letters replaced by X, small letters by x, digits by n and all else by -."""
    return _masked(text, _DEFAULT)


@FUNCTIONS.scalar("mask", f"(STRING input, {_MASKS}) -> STRING", pass_null=True)
def mask_with(
    text: str | None, upper: str | None, lower: str | None, digit: str | None, other: str | None
) -> str | None:
    """The text with its characters replaced by the given masks; where a mask is NULL, they are kept."""
    masks = _checked(upper, lower, digit, other)
    return None if text is None else _masked(text, masks)


#: Where a text is cut in two, and which part is masked, for a count of characters.
Cut = Callable[[int, int], int]


def _from_left(size: int, count: int) -> int:
    return min(count, size)


def _from_right(size: int, count: int) -> int:
    return max(0, size - count)


def _part(text: str, cut: int, masks: Masks, first: bool) -> str:
    parts = units(text)
    head, tail = text_of(parts[:cut]), text_of(parts[cut:])
    return _masked(head, masks) + tail if first else head + _masked(tail, masks)


def _declare(name: str, cut: Cut, first: bool, count_name: str, description: str) -> None:
    """Declares a function that masks one end of a text."""
    masker = _EndMasker(name, cut, first)
    masker.__doc__ = description
    FUNCTIONS.scalar(name, f"(STRING input, INTEGER {count_name}) -> STRING")(masker)
    FUNCTIONS.scalar(name, f"(STRING input, INTEGER {count_name}, {_MASKS}) -> STRING", pass_null=True)(masker)


class _EndMasker:
    """Masks one end of a text."""

    def __init__(self, name: str, cut: Cut, first: bool) -> None:
        self.name, self.cut, self.first = name, cut, first

    def __call__(self, text: str | None, count: int | None, *given: str | None) -> str | None:
        if count is None:
            return None
        masks = _checked(*given) if given else _DEFAULT
        _check_count(self.name, count)
        return None if text is None else _part(text, self.cut(length(text), count), masks, self.first)


_declare("mask_left", _from_left, True, "numChars", "The text with its first characters masked.")
_declare("mask_right", _from_right, False, "numChars", "The text with its last characters masked.")
_declare("mask_keep_left", _from_left, False, "numChars", "The text with all but its first characters masked.")
_declare("mask_keep_right", _from_right, True, "numChars", "The text with all but its last characters masked.")
