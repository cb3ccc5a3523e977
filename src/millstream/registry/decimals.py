"""Decimals as Avro and Protobuf keep them: their digits as a number, in bytes."""

from __future__ import annotations

from decimal import Decimal


def bytes_to_decimal(data: bytes, scale: int) -> Decimal:
    """A decimal from its digits.

    >>> bytes_to_decimal(bytes([25, 121]), 2)
    Decimal('65.21')
    """
    return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale)


def decimal_to_bytes(value: Decimal) -> bytes:
    """A decimal's digits, in as few bytes as hold them and a sign.

    >>> list(decimal_to_bytes(Decimal("65.21")))
    [25, 121]
    """
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits)))
    if sign:
        number = -number
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)
