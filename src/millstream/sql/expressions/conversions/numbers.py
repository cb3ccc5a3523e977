"""Division as Java does it: whole numbers toward zero, DOUBLE also by zero."""

from __future__ import annotations

import math


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
