"""Arithmetic as Java does it: whole numbers wrap around, DOUBLE divides by zero."""

from __future__ import annotations

import math

from millstream.sql.schema.types import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN


def wrap_integer(value: int) -> int:
    """The low 32 bits of a number, as INTEGER.

    >>> wrap_integer(2**31)
    -2147483648
    """
    return (value + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000


def wrap_bigint(value: int) -> int:
    """The low 64 bits of a number, as BIGINT."""
    return (value + 0x8000_0000_0000_0000 & 0xFFFF_FFFF_FFFF_FFFF) - 0x8000_0000_0000_0000


def divide_whole(left: int, right: int) -> int:
    """Whole numbers, toward zero.

    >>> divide_whole(-7, 2)
    -3
    """
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) is (right < 0) else -quotient


def remainder_whole(left: int, right: int) -> int:
    """What `divide_whole` leaves: has the sign of `left`.

    >>> remainder_whole(-7, 2)
    -1
    """
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def divide_double(left: float, right: float) -> float:
    """DOUBLE / DOUBLE: by zero it is infinite, or no number.

    >>> divide_double(-1.0, 0.0)
    -inf
    """
    try:
        return left / right
    except ZeroDivisionError:
        if left == 0 or left != left:
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)


def remainder_double(left: float, right: float) -> float:
    """DOUBLE % DOUBLE: has the sign of `left`."""
    try:
        return math.fmod(left, right)
    except ValueError:
        return math.nan


def double_to_integer(value: float) -> int:
    """A DOUBLE as INTEGER: what is too large becomes the largest, no number becomes 0.

    >>> double_to_integer(1e10)
    2147483647
    """
    return _saturated(value, INT_MIN, INT_MAX)


def double_to_bigint(value: float) -> int:
    """A DOUBLE as BIGINT; see `double_to_integer`."""
    return _saturated(value, BIGINT_MIN, BIGINT_MAX)


def _saturated(value: float, low: int, high: int) -> int:
    if value != value:
        return 0
    if value <= low:
        return low
    if value >= high:
        return high
    return int(value)
