"""Whole numbers that overflow as Java's do: around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.sql.schema.types import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN, BaseType

Wrap = Callable[[Any], Any]


def wrap_integer(value: int) -> int:
    """A number as 32 bits hold it.

    >>> wrap_integer(2**31)
    -2147483648
    """
    return value if INT_MIN <= value <= INT_MAX else (value - INT_MIN) % 2**32 + INT_MIN


def wrap_bigint(value: int) -> int:
    """A number as 64 bits hold it."""
    return value if BIGINT_MIN <= value <= BIGINT_MAX else (value - BIGINT_MIN) % 2**64 + BIGINT_MIN


def _as_it_is(value: float) -> float:
    return value


def wrap_for(base: BaseType) -> Wrap:
    """What keeps numbers within a type."""
    return {BaseType.INTEGER: wrap_integer, BaseType.BIGINT: wrap_bigint}.get(base, _as_it_is)
