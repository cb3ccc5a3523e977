"""Numbers as Java reads them from text and writes them to it."""

from __future__ import annotations

import decimal
import math
import re
from decimal import Decimal

from millstream.sql.schema.types import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN

_INTEGER = re.compile(r"[+-]?\d+\Z")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?)\Z")
_HEXADECIMAL = re.compile(r"([+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?\Z")

#: What Java's `String.trim` takes away.
_BLANK = "".join(map(chr, range(0x21)))

#: Enough digits for every decimal that a type can hold, and nothing is ever rounded silently.
_EXACT = decimal.Context(prec=10_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.InvalidOperation])


def parse_integer(text: str) -> int:
    """`Integer.parseInt`.

    >>> parse_integer("+12")
    12
    """
    return _parse_whole(text, INT_MIN, INT_MAX)


def parse_bigint(text: str) -> int:
    """`Long.parseLong`."""
    return _parse_whole(text, BIGINT_MIN, BIGINT_MAX)


def _parse_whole(text: str, low: int, high: int) -> int:
    if _INTEGER.match(text):
        value = int(text)
        if low <= value <= high:
            return value
    raise ValueError(f'For input string: "{text}"')


def parse_double(text: str) -> float:
    """`Double.parseDouble`.

    >>> parse_double(" 1.5e3d ")
    1500.0
    """
    trimmed = text.strip(_BLANK)
    if _DOUBLE.match(trimmed):
        return float(trimmed if trimmed.endswith(("N", "y")) else trimmed.rstrip("fFdD"))
    if hexadecimal := _HEXADECIMAL.match(trimmed):
        return float.fromhex(hexadecimal[1])
    raise ValueError(f'For input string: "{text}"' if trimmed else "empty String")


def parse_decimal(text: str) -> Decimal:
    """`new BigDecimal(text)`.

    >>> parse_decimal("1.50")
    Decimal('1.50')
    """
    if _DECIMAL.match(text):
        value = Decimal(text)
        return value if value else value.copy_abs()  # Java knows no negative zero here
    raise ValueError(f'Character array is missing "exponent" mark or is no number: "{text}"')


def parse_boolean(text: str) -> bool:
    """`Boolean.parseBoolean`: everything but "true" is false."""
    return text.lower() == "true"


def plain(value: Decimal) -> str:
    """`BigDecimal.toPlainString`: no exponent.

    >>> plain(Decimal("1E-8"))
    '0.00000001'
    """
    return format(value, "f")


def fit_decimal(value: Decimal, precision: int, scale: int) -> Decimal:
    """The value with that scale.

    Raises:
        ValueError: it has more digits than DECIMAL(precision, scale).
    """
    digits = precision - scale
    if abs(value) >= Decimal(10) ** digits:
        raise ValueError(
            f"Numeric field overflow: A field with precision {precision} and scale {scale} must round to an absolute "
            f"value less than 10^{digits}. Got {plain(value)}"
        )
    fitted = _EXACT.quantize(value, Decimal(1).scaleb(-scale))
    if fitted != value:
        numbers = value.as_tuple()
        own_scale = -int(numbers.exponent)
        raise ValueError(
            f"Cannot fit decimal '{plain(value)}' into DECIMAL({precision}, {scale}) without rounding. "
            f"(Requires {len(numbers.digits)},{own_scale})"
        )
    return fitted if fitted else fitted.copy_abs()


def double_to_text(value: float) -> str:
    """`Double.toString`.

    >>> [double_to_text(number) for number in (1.0, 1e7, 0.0001, 1.25e-7)]
    ['1.0', '1.0E7', '1.0E-4', '1.25E-7']
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    numbers = Decimal(repr(value)).normalize(_EXACT).as_tuple()
    first, *rest = map(str, numbers.digits)
    sign = "-" if numbers.sign else ""
    return f"{sign}{first}.{''.join(rest) or '0'}E{int(numbers.exponent) + len(rest)}"
