"""Functions of angles, in radians."""

from __future__ import annotations

import math

from millstream.sql.functions.declare import Declarations

FUNCTIONS = Declarations("MATHEMATICAL")

_NUMBERS = ("(INTEGER value) -> DOUBLE", "(BIGINT value) -> DOUBLE", "(DOUBLE value) -> DOUBLE")


@FUNCTIONS.scalar("sin", *_NUMBERS)
def sine(value: float) -> float:
    """The sine of an angle."""
    return math.sin(value) if math.isfinite(value) else math.nan


@FUNCTIONS.scalar("cos", *_NUMBERS)
def cosine(value: float) -> float:
    """The cosine of an angle."""
    return math.cos(value) if math.isfinite(value) else math.nan


@FUNCTIONS.scalar("tan", *_NUMBERS)
def tangent(value: float) -> float:
    """The tangent of an angle."""
    return math.tan(value) if math.isfinite(value) else math.nan


@FUNCTIONS.scalar("cot", *_NUMBERS)
def cotangent(value: float) -> float:
    """The cotangent of an angle."""
    result = tangent(value)
    return 1 / result if result else math.copysign(math.inf, result)


@FUNCTIONS.scalar("asin", *_NUMBERS)
def arc_sine(value: float) -> float:
    """The angle that has this sine."""
    return math.asin(value) if -1 <= value <= 1 else math.nan


@FUNCTIONS.scalar("acos", *_NUMBERS)
def arc_cosine(value: float) -> float:
    """The angle that has this cosine."""
    return math.acos(value) if -1 <= value <= 1 else math.nan


@FUNCTIONS.scalar("atan", *_NUMBERS)
def arc_tangent(value: float) -> float:
    """The angle that has this tangent."""
    return math.atan(value)


@FUNCTIONS.scalar(
    "atan2",
    "(INTEGER y, INTEGER x) -> DOUBLE",
    "(BIGINT y, BIGINT x) -> DOUBLE",
    "(DOUBLE y, DOUBLE x) -> DOUBLE",
)
def angle_of(y: float, x: float) -> float:
    """The angle at which a point lies."""
    return math.atan2(y, x)


@FUNCTIONS.scalar("sinh", *_NUMBERS)
def hyperbolic_sine(value: float) -> float:
    """The hyperbolic sine of a number."""
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


@FUNCTIONS.scalar("cosh", *_NUMBERS)
def hyperbolic_cosine(value: float) -> float:
    """The hyperbolic cosine of a number."""
    try:
        return math.cosh(value)
    except OverflowError:
        return math.inf


@FUNCTIONS.scalar("tanh", *_NUMBERS)
def hyperbolic_tangent(value: float) -> float:
    """The hyperbolic tangent of a number."""
    return math.tanh(value)


@FUNCTIONS.scalar("degrees", *_NUMBERS)
def degrees(value: float) -> float:
    """An angle in degrees."""
    return math.degrees(value)


@FUNCTIONS.scalar("radians", *_NUMBERS)
def radians(value: float) -> float:
    """An angle that is given in degrees, in radians."""
    return math.radians(value)
