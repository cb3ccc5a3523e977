"""DECIMAL types that follow from other types, and scales of values."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache, reduce

from millstream.sql.errors import SqlError
from millstream.sql.schema.types import BaseType, SqlDecimal, SqlType

#: What whole numbers are when they meet a DECIMAL.
INTEGER_AS_DECIMAL = SqlDecimal(10, 0)
BIGINT_AS_DECIMAL = SqlDecimal(19, 0)

#: Digits enough for whatever a DOUBLE or a DECIMAL becomes with more places behind the point.
_WIDE = Context(prec=10_000, traps=[InvalidOperation])


def decimal_type(precision: int, scale: int) -> SqlDecimal:
    """A DECIMAL type, checked.

    >>> str(decimal_type(4, 2))
    'DECIMAL(4, 2)'

    Raises:
        SqlError: there is no such type.
    """
    if precision < 1:
        raise SqlError(f"DECIMAL precision must be >= 1: DECIMAL({precision},{scale})")
    if scale < 0:
        raise SqlError(f"DECIMAL scale must be >= 0: DECIMAL({precision},{scale})")
    if precision < scale:
        raise SqlError(f"DECIMAL precision must be >= scale: DECIMAL({precision},{scale})")
    return SqlDecimal(precision, scale)


def as_decimal_type(kind: SqlType) -> SqlDecimal:
    """The DECIMAL that holds every value of a type of exact numbers.

    Raises:
        SqlError: the type is no type of exact numbers.
    """
    if isinstance(kind, SqlDecimal):
        return kind
    if kind.base is BaseType.INTEGER:
        return INTEGER_AS_DECIMAL
    if kind.base is BaseType.BIGINT:
        return BIGINT_AS_DECIMAL
    raise SqlError(f"Cannot convert {kind.base.value} to DECIMAL.")


def widen(left: SqlType, right: SqlType) -> SqlDecimal:
    """The DECIMAL that holds every value of both types.

    >>> str(widen(SqlDecimal(4, 2), SqlDecimal(5, 0)))
    'DECIMAL(7, 2)'
    """
    one, other = as_decimal_type(left), as_decimal_type(right)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    scale = max(one.scale, other.scale)
    return decimal_type(whole + scale, scale)


def widest(first: SqlType, *others: SqlType) -> SqlDecimal:
    """The DECIMAL that holds every value of all types."""
    return reduce(widen, others, as_decimal_type(first))


@lru_cache(maxsize=256)
def unit(scale: int) -> Decimal:
    """The smallest step of a scale.

    >>> unit(2)
    Decimal('0.01')
    """
    return Decimal((0, (1,), -scale))


def set_scale(value: Decimal, scale: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    """The value with that many places behind the point; never a negative zero, which DECIMAL has not.

    >>> set_scale(Decimal("-0.004"), 2)
    Decimal('0.00')
    """
    scaled = value.quantize(unit(scale), rounding, _WIDE)
    return scaled if scaled else scaled.copy_abs()
