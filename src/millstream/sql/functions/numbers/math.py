"""Functions of numbers."""

from __future__ import annotations

import math
import random as python_random
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from fractions import Fraction

from millstream.sql.errors import SqlError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.model import Argument
from millstream.sql.schema.decimals import decimal_type, set_scale
from millstream.sql.schema.java_numbers import double_to_bigint
from millstream.sql.schema.types import BIGINT_MIN, INT_MIN, SqlDecimal, SqlType

FUNCTIONS = Declarations("MATHEMATICAL")


def _same_decimal(arguments: Sequence[Argument]) -> SqlType:
    return _decimal(arguments)


def _whole_decimal(arguments: Sequence[Argument]) -> SqlType:
    type_ = _decimal(arguments)
    return decimal_type(type_.precision - type_.scale, 0)


def _decimal(arguments: Sequence[Argument]) -> SqlDecimal:
    type_ = arguments[0]
    if not isinstance(type_, SqlDecimal):
        raise SqlError("The schema provider method expects a BigDecimal parameter type")
    return type_


def _scale(value: Decimal) -> int:
    return -int(value.as_tuple().exponent)


@FUNCTIONS.scalar("Abs", "(INTEGER val) -> INTEGER")
def absolute_integer(value: int) -> int:
    """The magnitude of a number."""
    return INT_MIN if value == INT_MIN else abs(value)


@FUNCTIONS.scalar("Abs", "(BIGINT val) -> BIGINT")
def absolute_bigint(value: int) -> int:
    """The magnitude of a number."""
    return BIGINT_MIN if value == BIGINT_MIN else abs(value)


@FUNCTIONS.scalar("Abs", "(DOUBLE val) -> DOUBLE")
def absolute_double(value: float) -> float:
    """The magnitude of a number."""
    return abs(value)


@FUNCTIONS.scalar("Abs", "(DECIMAL val) -> DECIMAL", returns=_same_decimal)
def absolute_decimal(value: Decimal) -> Decimal:
    """The magnitude of a number."""
    return value.copy_abs()


@FUNCTIONS.scalar("Ceil", "(INTEGER val) -> INTEGER", "(BIGINT val) -> BIGINT")
@FUNCTIONS.scalar("Floor", "(INTEGER val) -> INTEGER", "(BIGINT val) -> BIGINT")
def unchanged(value: int) -> int:
    """The nearest whole number: a whole number itself."""
    return value


@FUNCTIONS.scalar("Ceil", "(DOUBLE val) -> DOUBLE")
def ceil_double(value: float) -> float:
    """The smallest whole number that is not less than the value."""
    return math.copysign(math.ceil(value), value) if math.isfinite(value) else value


@FUNCTIONS.scalar("Ceil", "(DECIMAL val) -> DECIMAL", returns=_same_decimal)
def ceil_decimal(value: Decimal) -> Decimal:
    """The smallest whole number that is not less than the value."""
    return set_scale(set_scale(value, 0, ROUND_CEILING), _scale(value))


@FUNCTIONS.scalar("Floor", "(DOUBLE val) -> DOUBLE")
def floor_double(value: float) -> float:
    """The largest whole number that is not greater than the value."""
    return math.copysign(math.floor(value), value) if math.isfinite(value) else value


@FUNCTIONS.scalar("Floor", "(DECIMAL val) -> DECIMAL", returns=_same_decimal)
def floor_decimal(value: Decimal) -> Decimal:
    """The largest whole number that is not greater than the value."""
    return set_scale(set_scale(value, 0, ROUND_FLOOR), _scale(value))


@FUNCTIONS.scalar("Round", "(BIGINT val) -> BIGINT", "(INTEGER val) -> BIGINT")
@FUNCTIONS.scalar("trunc", "(BIGINT val) -> BIGINT", "(INTEGER val) -> BIGINT")
def as_bigint(value: int) -> int:
    """A whole number stays as it is."""
    return value


@FUNCTIONS.scalar("Round", "(DOUBLE val) -> BIGINT")
def round_double(value: float) -> int:
    """The nearest whole number; of two that are equally near, the greater."""
    if not math.isfinite(value):
        return double_to_bigint(value)
    floor = math.floor(value)
    return double_to_bigint(floor + 1 if value - floor >= 0.5 else floor)


@FUNCTIONS.scalar("Round", "(DOUBLE val, INTEGER decimalPlaces) -> DOUBLE")
def round_double_to(value: float, places: int) -> float:
    """The nearest number with that many decimal places; negative ones round before the point."""
    return float(_round(Decimal(repr(value)), places))


@FUNCTIONS.scalar("Round", "(DECIMAL val) -> DECIMAL", returns=_whole_decimal)
def round_decimal(value: Decimal) -> Decimal:
    """The nearest whole number; of two that are equally near, the greater."""
    return _round(value, 0)


@FUNCTIONS.scalar("Round", "(DECIMAL val, INTEGER decimalPlaces) -> DECIMAL", returns=_same_decimal)
def round_decimal_to(value: Decimal, places: int) -> Decimal:
    """The nearest number with that many decimal places; negative ones round before the point."""
    return set_scale(_round(value, places), _scale(value))


def _round(value: Decimal, places: int) -> Decimal:
    return set_scale(value, places, ROUND_HALF_UP if value > 0 else ROUND_HALF_DOWN)


@FUNCTIONS.scalar("trunc", "(DOUBLE val) -> BIGINT")
def truncate_double(value: float) -> int:
    """The number without its decimal places."""
    return double_to_bigint(value)


@FUNCTIONS.scalar("trunc", "(DOUBLE val, INTEGER decimalPlaces) -> DOUBLE")
def truncate_double_to(value: float, places: int) -> float:
    """The number cut to that many decimal places."""
    return float(set_scale(Decimal(repr(value)), places, ROUND_DOWN))


@FUNCTIONS.scalar("trunc", "(DECIMAL val) -> DECIMAL", returns=_whole_decimal)
def truncate_decimal(value: Decimal) -> Decimal:
    """The number without its decimal places."""
    return set_scale(value, 0, ROUND_DOWN)


@FUNCTIONS.scalar("trunc", "(DECIMAL val, INTEGER decimalPlaces) -> DECIMAL", returns=_same_decimal)
def truncate_decimal_to(value: Decimal, places: int) -> Decimal:
    """The number cut to that many decimal places."""
    return set_scale(set_scale(value, places, ROUND_DOWN), _scale(value))


@FUNCTIONS.scalar("sign", "(INTEGER value) -> INTEGER", "(BIGINT value) -> INTEGER", "(DOUBLE value) -> INTEGER")
def sign(value: float) -> int:
    """1, 0 or -1: the sign of a number."""
    return (value > 0) - (value < 0)


@FUNCTIONS.scalar("sqrt", "(INTEGER value) -> DOUBLE", "(BIGINT value) -> DOUBLE", "(DOUBLE value) -> DOUBLE")
def square_root(value: float) -> float:
    """The square root of a number."""
    return math.nan if value < 0 else math.sqrt(value)


@FUNCTIONS.scalar("cbrt", "(INTEGER value) -> DOUBLE", "(BIGINT value) -> DOUBLE", "(DOUBLE value) -> DOUBLE")
def cube_root(value: float) -> float:
    """The cube root of a number."""
    root = math.cbrt(value)
    if root == 0 or not math.isfinite(root):
        return root
    # Some C libraries give 3.0000000000000004 for 27. One step of Newton's, with exact numbers, finds the nearest.
    exact = Fraction(root)
    return root - float((exact**3 - Fraction(value)) / (3 * exact**2))


@FUNCTIONS.scalar("exp", "(INTEGER exponent) -> DOUBLE", "(BIGINT exponent) -> DOUBLE", "(DOUBLE exponent) -> DOUBLE")
def exponential(exponent: float) -> float:
    """Euler's number, raised to a power."""
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


@FUNCTIONS.scalar("ln", "(INTEGER value) -> DOUBLE", "(BIGINT value) -> DOUBLE", "(DOUBLE value) -> DOUBLE")
@FUNCTIONS.scalar("log", "(INTEGER value) -> DOUBLE", "(BIGINT value) -> DOUBLE", "(DOUBLE value) -> DOUBLE")
def natural_logarithm(value: float) -> float:
    """The natural logarithm of a number."""  # LOG's too: ksqlDB documents base 10 and computes base e
    if value > 0:
        return math.log(value)
    return -math.inf if value == 0 else math.nan


@FUNCTIONS.scalar(
    "log",
    "(INTEGER base, INTEGER value) -> DOUBLE",
    "(BIGINT base, BIGINT value) -> DOUBLE",
    "(DOUBLE base, DOUBLE value) -> DOUBLE",
)
def logarithm(base: float, value: float) -> float:
    """The logarithm of a number to a base."""
    if base <= 0 or base == 1:
        return math.nan
    return natural_logarithm(value) / natural_logarithm(base)


@FUNCTIONS.scalar(
    "power",
    "(INTEGER base, INTEGER exponent) -> DOUBLE",
    "(BIGINT base, BIGINT exponent) -> DOUBLE",
    "(DOUBLE base, DOUBLE exponent) -> DOUBLE",
)
def power(base: float, exponent: float) -> float:
    """A number, raised to a power."""
    if exponent == 0:
        return 1.0
    if exponent != exponent or (math.isinf(exponent) and abs(base) == 1):
        return math.nan  # where C says 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        if base != 0:
            return math.nan
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf


@FUNCTIONS.scalar("pi", "() -> DOUBLE")
def pi() -> float:
    """The ratio of a circle's circumference to its diameter."""
    return math.pi


@FUNCTIONS.scalar("random", "() -> DOUBLE")
def random() -> float:
    """A random number from 0 (included) to 1 (not included)."""
    return python_random.random()  # noqa: S311 (not for secrets)
