"""SQL types, and how values of them look in Python.

========== ======================================================
BOOLEAN    bool
INTEGER    int, 32 bits
BIGINT     int, 64 bits
DOUBLE     float
DECIMAL    decimal.Decimal, always with the type's scale
STRING     str
BYTES      bytes
DATE       int, days since 1970-01-01
TIME       int, milliseconds of the day
TIMESTAMP  int, milliseconds since 1970-01-01T00:00:00Z
ARRAY      list
MAP        dict
STRUCT     tuple, one entry per field, in the order of the type
========== ======================================================

NULL is None everywhere. Values are never changed in place once made.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class BaseType(enum.Enum):
    """What a type is before its parameters; in the order in which numbers widen."""

    BOOLEAN = "BOOLEAN"
    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    DECIMAL = "DECIMAL"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    ARRAY = "ARRAY"
    MAP = "MAP"
    STRUCT = "STRUCT"
    TIME = "TIME"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    BYTES = "BYTES"

    @property
    def is_number(self) -> bool:
        return self in _NUMBERS

    @property
    def is_time(self) -> bool:
        return self in _TIMES

    def widens_to(self, other: BaseType) -> bool:
        """Whether values become `other` by themselves: INTEGER < BIGINT < DECIMAL < DOUBLE."""
        return self is other or (self in _NUMBERS and other in _NUMBERS and _NUMBERS[self] <= _NUMBERS[other])


_NUMBERS = {BaseType.INTEGER: 0, BaseType.BIGINT: 1, BaseType.DECIMAL: 2, BaseType.DOUBLE: 3}
_TIMES = {BaseType.TIME, BaseType.DATE, BaseType.TIMESTAMP}


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type without parameters, and the root of those with."""

    base: BaseType

    def __str__(self) -> str:
        return self.base.value


@dataclass(frozen=True, slots=True)
class SqlDecimal(SqlType):
    """DECIMAL(precision, scale)."""

    precision: int
    scale: int

    def __init__(self, precision: int, scale: int) -> None:
        object.__setattr__(self, "base", BaseType.DECIMAL)
        object.__setattr__(self, "precision", precision)
        object.__setattr__(self, "scale", scale)

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class SqlArray(SqlType):
    """ARRAY<item>."""

    item: SqlType

    def __init__(self, item: SqlType) -> None:
        object.__setattr__(self, "base", BaseType.ARRAY)
        object.__setattr__(self, "item", item)

    def __str__(self) -> str:
        return f"ARRAY<{self.item}>"


@dataclass(frozen=True, slots=True)
class SqlMap(SqlType):
    """MAP<key, value>."""

    key: SqlType
    value: SqlType

    def __init__(self, key: SqlType, value: SqlType) -> None:
        object.__setattr__(self, "base", BaseType.MAP)
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "value", value)

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{quote(self.name)} {self.type}"


@dataclass(frozen=True, slots=True)
class SqlStruct(SqlType):
    """STRUCT<name type, ...>."""

    fields: tuple[Field, ...]

    def __init__(self, fields: tuple[Field, ...]) -> None:
        object.__setattr__(self, "base", BaseType.STRUCT)
        object.__setattr__(self, "fields", fields)

    def index(self, name: str) -> int | None:
        """Where the field of that name is."""
        for index, field in enumerate(self.fields):
            if field.name == name:
                return index
        return None

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(map(str, self.fields))}>" if self.fields else "STRUCT< >"


BOOLEAN = SqlType(BaseType.BOOLEAN)
INTEGER = SqlType(BaseType.INTEGER)
BIGINT = SqlType(BaseType.BIGINT)
DOUBLE = SqlType(BaseType.DOUBLE)
STRING = SqlType(BaseType.STRING)
BYTES = SqlType(BaseType.BYTES)
DATE = SqlType(BaseType.DATE)
TIME = SqlType(BaseType.TIME)
TIMESTAMP = SqlType(BaseType.TIMESTAMP)

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
BIGINT_MIN, BIGINT_MAX = -(2**63), 2**63 - 1


def quote(name: str) -> str:
    """A name as schemas show it: always in backticks.

    >>> quote("ID")
    '`ID`'
    """
    return "`" + name.replace("`", "``") + "`"
