"""Whole numbers as Java's types hold them: too large ones wrap around, or become the largest there is."""

from __future__ import annotations

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
