"""GREATEST and LEAST: the extreme one of the arguments that are not NULL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from millstream.sql.functions.declare import Declarations, ScalarContext
from millstream.sql.functions.model import Argument
from millstream.sql.functions.utf16 import sort_key
from millstream.sql.schema.decimals import as_decimal_type, set_scale, widest
from millstream.sql.schema.types import SqlType

FUNCTIONS = Declarations("MATHEMATICAL")

_WHOLE = ("(INTEGER val, INTEGER... vals) -> INTEGER", "(BIGINT val, BIGINT... vals) -> BIGINT")
_DOUBLE = "(DOUBLE val, DOUBLE... vals) -> DOUBLE"
_STRING = "(STRING val, STRING... vals) -> STRING"
_DECIMAL = "(DECIMAL val, DECIMAL... vals) -> DECIMAL"


def _widest(arguments: Sequence[Argument]) -> SqlType:
    first, *others = (argument for argument in arguments if isinstance(argument, SqlType))
    return widest(first, *others)


def _double_order(value: float) -> tuple[bool, float, float]:
    """Java's order: -0.0 is before 0.0, and NaN is behind everything."""
    return value != value, 0.0 if value != value else value, math.copysign(1.0, value)


@FUNCTIONS.scalar("greatest", *_WHOLE, pass_null=True)
def greatest(*values: Any) -> Any:
    """The largest of the arguments that are not NULL."""
    return max((value for value in values if value is not None), default=None)


@FUNCTIONS.scalar("greatest", _DOUBLE, pass_null=True)
def greatest_double(*values: float | None) -> float | None:
    """The largest of the arguments that are not NULL."""
    return max((value for value in values if value is not None), key=_double_order, default=None)


@FUNCTIONS.scalar("greatest", _STRING, pass_null=True)
def greatest_string(*values: str | None) -> str | None:
    """The last of the arguments that are not NULL, in the order of their characters."""
    return max((value for value in values if value is not None), key=sort_key, default=None)


@FUNCTIONS.scalar_factory("greatest", _DECIMAL, pass_null=True, returns=_widest)
def greatest_decimal(context: ScalarContext) -> Callable[..., Decimal | None]:
    """The largest of the arguments that are not NULL."""
    return partial(_extreme_decimal, max, _result_scale(context))


@FUNCTIONS.scalar("least", *_WHOLE, pass_null=True)
def least(*values: Any) -> Any:
    """The smallest of the arguments that are not NULL."""
    return min((value for value in values if value is not None), default=None)


@FUNCTIONS.scalar("least", _DOUBLE, pass_null=True)
def least_double(*values: float | None) -> float | None:
    """The smallest of the arguments that are not NULL."""
    return min((value for value in values if value is not None), key=_double_order, default=None)


@FUNCTIONS.scalar("least", _STRING, pass_null=True)
def least_string(*values: str | None) -> str | None:
    """The first of the arguments that are not NULL, in the order of their characters."""
    return min((value for value in values if value is not None), key=sort_key, default=None)


@FUNCTIONS.scalar_factory("least", _DECIMAL, pass_null=True, returns=_widest)
def least_decimal(context: ScalarContext) -> Callable[..., Decimal | None]:
    """The smallest of the arguments that are not NULL."""
    return partial(_extreme_decimal, min, _result_scale(context))


def _result_scale(context: ScalarContext) -> int:
    return as_decimal_type(context.returns).scale


def _extreme_decimal(choose: Callable[..., Decimal | None], scale: int, *values: Decimal | None) -> Decimal | None:
    found = choose((value for value in values if value is not None), default=None)
    return None if found is None else set_scale(found, scale)
