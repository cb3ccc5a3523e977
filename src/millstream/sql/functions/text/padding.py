"""LPAD and RPAD: to a length, with a text or bytes repeated; what is too long is cut."""

from __future__ import annotations

from typing import AnyStr

from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.utf16 import text_of, units

FUNCTIONS = Declarations("STRING")


def _filling(size: int, target: int, pad: AnyStr) -> AnyStr:
    missing = max(target - size, 0)
    return (pad * (missing // len(pad) + 1))[:missing]


@FUNCTIONS.scalar("LPad", "(STRING input, INTEGER targetLen, STRING padding) -> STRING")
def pad_left(text: str, target: int, padding: str) -> str | None:
    """The text, padded at its start or cut to the target length; NULL if the padding is empty."""
    if not padding or target < 0:
        return None
    parts = units(text)
    return text_of((_filling(len(parts), target, units(padding)) + parts)[:target])


@FUNCTIONS.scalar("LPad", "(BYTES input, INTEGER targetLen, BYTES padding) -> BYTES")
def pad_bytes_left(value: bytes, target: int, padding: bytes) -> bytes | None:
    """The bytes, padded at their start or cut to the target length; NULL if the padding is empty."""
    if not padding or target < 0:
        return None
    return (_filling(len(value), target, padding) + value)[:target]


@FUNCTIONS.scalar("RPad", "(STRING input, INTEGER targetLen, STRING padding) -> STRING")
def pad_right(text: str, target: int, padding: str) -> str | None:
    """The text, padded at its end or cut to the target length; NULL if the padding is empty."""
    if not padding or target < 0:
        return None
    parts = units(text)
    return text_of((parts + _filling(len(parts), target, units(padding)))[:target])


@FUNCTIONS.scalar("RPad", "(BYTES input, INTEGER targetLen, BYTES padding) -> BYTES")
def pad_bytes_right(value: bytes, target: int, padding: bytes) -> bytes | None:
    """The bytes, padded at their end or cut to the target length; NULL if the padding is empty."""
    if not padding or target < 0:
        return None
    return (value + _filling(len(value), target, padding))[:target]
