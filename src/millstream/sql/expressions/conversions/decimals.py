"""DECIMAL: the types of results, and exact arithmetic.

Values always have the scale of their type. Whatever would have to be rounded to fit the type of a result is an error,
except for casts, which round half up.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, Inexact, InvalidOperation

from millstream.sql.schema.decimals import decimal_type, set_scale, unit
from millstream.sql.schema.types import SqlDecimal
from millstream.sql.tree.expressions import ArithmeticOperator

#: More digits than any result has: sums and products are exact.
EXACT = Context(prec=2000, traps=[Inexact, InvalidOperation, DivisionByZero])


def type_of_value(value: Decimal) -> SqlDecimal:
    """The type a literal has: as many digits as are written, one before the point at least.

    >>> str(type_of_value(Decimal("0.05"))), str(type_of_value(Decimal("12.50")))
    ('DECIMAL(3, 2)', 'DECIMAL(4, 2)')
    """
    digits, exponent = value.as_tuple()[1:]
    scale = max(-int(exponent), 0)
    if -1 < value < 1:
        return decimal_type(scale + 1, scale)
    return decimal_type(len(digits) + max(int(exponent), 0), scale)


def result_type(operator: ArithmeticOperator, left: SqlDecimal, right: SqlDecimal) -> SqlDecimal:
    """The type of `left operator right`."""
    whole_left, whole_right = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    match operator:
        case ArithmeticOperator.ADD | ArithmeticOperator.SUBTRACT:
            return decimal_type(scale + max(whole_left, whole_right) + 1, scale)
        case ArithmeticOperator.MULTIPLY:
            return decimal_type(left.precision + right.precision + 1, left.scale + right.scale)
        case ArithmeticOperator.DIVIDE:
            scale = max(6, left.scale + right.precision + 1)
            return decimal_type(whole_left + right.scale + scale, scale)
        case ArithmeticOperator.MODULUS:
            return decimal_type(min(whole_left, whole_right) + scale, scale)


def fit(value: Decimal, precision: int, scale: int) -> Decimal:
    """The value with another scale, rounded half up; an error when it has too many digits before the point."""
    _check_size(value, precision, scale)
    return set_scale(value, scale)


def _check_size(value: Decimal, precision: int, scale: int) -> None:
    if value and value.adjusted() >= precision - scale:
        raise ArithmeticError(
            f"Numeric field overflow: A field with precision {precision} and scale {scale} must round to an absolute "
            f"value less than 10^{precision - scale}. Got {value:f}"
        )


def from_double(value: float, precision: int, scale: int) -> Decimal:
    """A DOUBLE as DECIMAL: its exact binary value, rounded to the precision first."""
    rounded = Context(prec=precision, rounding=ROUND_HALF_UP).create_decimal_from_float(value)
    if not rounded.is_finite():
        raise ArithmeticError("Infinite or NaN")
    return fit(rounded, precision, scale)


def double_value(value: float) -> Decimal:
    """A DOUBLE as the number it is written as, for comparing it with a DECIMAL."""
    decimal = Decimal(repr(value))
    if not decimal.is_finite():
        raise ArithmeticError("Infinite or NaN")
    return decimal


def divider(kind: SqlDecimal) -> Callable[[Decimal | int, Decimal | int], Decimal]:
    """`/` for results of a type. A quotient that has too many digits, or never ends, is an error."""
    return _Divider(kind.precision, kind.scale)


def remainder(kind: SqlDecimal) -> Callable[[Decimal | int, Decimal | int], Decimal]:
    """`%` for results of a type."""
    return _Remainder(kind.precision, kind.scale)


class _Divider:
    """A class, not a closure: pickles as what it is."""

    def __init__(self, precision: int, scale: int) -> None:
        self._arguments = (precision, scale)
        self._divide = Context(prec=precision, traps=[Inexact, InvalidOperation, DivisionByZero]).divide
        self._unit = unit(scale)

    def __call__(self, left: Decimal | int, right: Decimal | int) -> Decimal:
        return EXACT.quantize(self._divide(left, right), self._unit)

    def __reduce__(self) -> tuple[type, tuple[int, int]]:
        return type(self), self._arguments


class _Remainder(_Divider):
    def __init__(self, precision: int, scale: int) -> None:
        super().__init__(precision, scale)
        self._divide = Context(prec=precision, traps=[Inexact, InvalidOperation, DivisionByZero]).remainder


add = EXACT.add
subtract = EXACT.subtract
multiply = EXACT.multiply
negate = EXACT.minus
