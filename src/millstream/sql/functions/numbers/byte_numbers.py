"""Numbers from their bytes."""

from __future__ import annotations

import struct

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations

FUNCTIONS = Declarations("CONVERSIONS")

_ORDERS = {"BIG_ENDIAN": ">", "LITTLE_ENDIAN": "<"}


def _unpack(value: bytes, order: str, format_: str) -> int | float:
    sign = _ORDERS.get(order.upper())
    if sign is None:
        raise FunctionError(f"Byte order must be BIG_ENDIAN or LITTLE_ENDIAN. Unknown byte order '{order}'.")
    size = struct.calcsize(sign + format_)
    if len(value) != size:
        raise FunctionError(f"Number of bytes must be equal to {size}, but found {len(value)}")
    number: int | float = struct.unpack(sign + format_, value)[0]
    return number


@FUNCTIONS.scalar("int_from_bytes", "(BYTES value) -> INTEGER", "(BYTES value, STRING byteOrder) -> INTEGER")
def integer_from_bytes(value: bytes, order: str = "BIG_ENDIAN") -> int | float:
    """The INTEGER that 4 bytes encode."""
    return _unpack(value, order, "i")


@FUNCTIONS.scalar("bigint_from_bytes", "(BYTES value) -> BIGINT", "(BYTES value, STRING byteOrder) -> BIGINT")
def bigint_from_bytes(value: bytes, order: str = "BIG_ENDIAN") -> int | float:
    """The BIGINT that 8 bytes encode."""
    return _unpack(value, order, "q")


@FUNCTIONS.scalar("double_from_bytes", "(BYTES value) -> DOUBLE", "(BYTES value, STRING byteOrder) -> DOUBLE")
def double_from_bytes(value: bytes, order: str = "BIG_ENDIAN") -> int | float:
    """The DOUBLE that 8 bytes encode."""
    return _unpack(value, order, "d")
