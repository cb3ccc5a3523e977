"""How Java orders and tells apart values of a SQL type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.utf16 import sort_key
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType

#: A value to what Python compares in Java's order, or hashes; None: the value itself.
Key = Callable[[Any], Any] | None

_SIGNED = bytes(byte ^ 0x80 for byte in range(256))


def order_key(type_: SqlType) -> Key:
    """What values of a type are sorted by.

    Raises:
        FunctionError: they have no order.
    """
    match type_.base:
        case BaseType.STRING:
            return sort_key
        case BaseType.DOUBLE:
            return double_order
        case BaseType.BYTES:
            return _signed
        case BaseType.ARRAY | BaseType.MAP | BaseType.STRUCT:
            raise FunctionError(f"Values of type {type_} cannot be compared")
    return None


def double_order(value: float) -> tuple[bool, float, float]:
    """The order of DOUBLEs: -0.0 is before 0.0, and NaN is behind everything.

    >>> sorted([math.nan, 0.0, -0.0, -1.0], key=double_order)
    [-1.0, -0.0, 0.0, nan]
    """
    return value != value, 0.0 if value != value else value, math.copysign(1.0, value)


def _signed(value: bytes) -> bytes:
    """Java's bytes have signs."""
    return value.translate(_SIGNED)


def identity_key(type_: SqlType) -> Key:
    """What values of a type are the same by, to be kept in sets."""
    if type_.base is BaseType.DOUBLE:
        return double_order
    if isinstance(type_, (SqlArray, SqlMap, SqlStruct)):
        return frozen
    return None


def frozen(value: Any) -> Any:
    """A value that can be hashed, equal when the values are.

    >>> frozen([1, {"a": 2}]) == frozen([1, {"a": 2}])
    True
    """
    if isinstance(value, (list, tuple)):
        return tuple(map(frozen, value))
    if isinstance(value, dict):
        return frozenset((key, frozen(item)) for key, item in value.items())
    return double_order(value) if isinstance(value, float) else value
