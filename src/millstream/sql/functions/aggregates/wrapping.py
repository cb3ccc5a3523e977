"""Whole numbers that overflow as Java's do: around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.sql.schema.java_numbers import wrap_bigint, wrap_integer
from millstream.sql.schema.types import BaseType

Wrap = Callable[[Any], Any]


def _as_it_is(value: float) -> float:
    return value


def wrap_for(base: BaseType) -> Wrap:
    """What keeps numbers within a type."""
    return {BaseType.INTEGER: wrap_integer, BaseType.BIGINT: wrap_bigint}.get(base, _as_it_is)
