"""Numbers and durations as they are written."""

from __future__ import annotations

import math
from decimal import Decimal

from lark import Token

from millstream.sql.errors import Location
from millstream.sql.parser.names import PrepareError
from millstream.sql.schema.types import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN
from millstream.sql.tree.expressions import DecimalLiteral, DoubleLiteral, IntegerLiteral, LongLiteral, TimeUnit
from millstream.sql.tree.queries import Duration

Number = IntegerLiteral | LongLiteral | DecimalLiteral | DoubleLiteral

#: More digits than any number that is allowed has; int() refuses texts much longer.
_LONGEST_WHOLE = 1_000


def parse_number(token: Token, at: Location, *, negative: bool = False) -> Number:
    """The literal a number stands for: whole numbers have 32 bits if they fit, else 64."""
    text = f"-{token}" if negative else str(token)
    if token.type == "DECIMAL_VALUE":
        return DecimalLiteral(Decimal(text), at=at)
    if token.type == "FLOATING_POINT_VALUE":
        double = float(text)
        if math.isinf(double):
            raise PrepareError(f"{_after(at)}: Number overflows DOUBLE: {text}", at)
        return DoubleLiteral(double, at=at)
    value = _whole(text)
    if value is None or not BIGINT_MIN <= value <= BIGINT_MAX:
        raise PrepareError(f"{_after(at)}: Invalid numeric literal: {text}", at)
    if INT_MIN <= value <= INT_MAX:
        return IntegerLiteral(value, at=at)
    return LongLiteral(value, at=at)


def parse_integer(token: Token, at: Location, *, negative: bool, use: str) -> int:
    """A whole number of 32 bits, where nothing else makes sense.

    Args:
        token: the digits.
        at: where the number is.
        negative: whether there was a minus.
        use: what the number is for, in messages.
    """
    if token.type == "INTEGER_VALUE":
        literal = parse_number(token, at, negative=negative)
        if isinstance(literal, IntegerLiteral):
            return literal.value
    raise PrepareError(f"Value must be integer for command: {use}", at)


def parse_duration(token: Token, at: Location, *, negative: bool, unit: str) -> Duration:
    """`5 MINUTES`; units are written in the singular or in the plural."""
    text = f"-{token}" if negative else str(token)
    amount = _whole(text) if token.type == "INTEGER_VALUE" else None
    if amount is None or not BIGINT_MIN <= amount <= BIGINT_MAX:
        raise PrepareError(f'For input string: "{text}"', at)
    return Duration(amount, time_unit(unit))


def time_unit(written: str) -> TimeUnit:
    """A unit by its name.

    >>> time_unit("day")
    <TimeUnit.DAYS: 86400000>
    """
    name = written.upper()
    return TimeUnit[name if name.endswith("S") else name + "S"]


def _after(at: Location) -> Location:
    """The column after a place: what ksqlDB says of numbers."""
    return Location(at.line, at.column + 1)


def _whole(text: str) -> int | None:
    return int(text) if len(text) <= _LONGEST_WHOLE else None
