"""Types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lark import Token

from millstream.sql.errors import Location
from millstream.sql.parser.builders.base import TreeBuilder
from millstream.sql.parser.names import Name, PrepareError, Source
from millstream.sql.parser.numbers import parse_integer
from millstream.sql.schema.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)

_PRIMITIVES = {
    "BOOLEAN": BOOLEAN,
    "INT": INTEGER,
    "INTEGER": INTEGER,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "VARCHAR": STRING,
    "STRING": STRING,
    "BYTES": BYTES,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": TIMESTAMP,
}


class TypeBuilder(TreeBuilder):
    """Builds types.

    Args:
        source: the text that was parsed.
        types: the types users have given names.
    """

    def __init__(self, source: Source, types: Mapping[str, SqlType]) -> None:
        super().__init__(source)
        self.types = types

    def number(self, at: Location, minus: Token | None, digits: Token) -> tuple[Token, bool]:
        """A number that is not yet one: what it may be depends on where it stands."""
        return digits, minus is not None

    def array_type(self, at: Location, item: SqlType) -> SqlType:
        return SqlArray(item)

    def map_type(self, at: Location, key: SqlType, value: SqlType) -> SqlType:
        return SqlMap(key, value)

    def struct_type(self, at: Location, *parts: Any) -> SqlType:
        given = [part for part in parts if part is not None]
        fields: dict[str, Field] = {}
        for name, kind in zip(given[::2], given[1::2], strict=True):
            field = Field(name.text, kind)
            if name.text in fields:
                raise PrepareError(
                    f"Duplicate field names found in STRUCT: '{fields[name.text]}' and '{field}'", name.at
                )
            fields[name.text] = field
        return SqlStruct(tuple(fields.values()))

    def decimal_type(self, at: Location, precision: tuple[Token, bool], scale: tuple[Token, bool]) -> SqlType:
        digits = parse_integer(precision[0], at, negative=precision[1], use="DECIMAL(PRECISION)")
        decimals = parse_integer(scale[0], at, negative=scale[1], use="DECIMAL(SCALE)")
        if digits < 1:
            raise PrepareError(f"DECIMAL precision must be >= 1: DECIMAL({digits},{decimals})", at)
        if decimals < 0:
            raise PrepareError(f"DECIMAL scale must be >= 0: DECIMAL({digits},{decimals})", at)
        if digits < decimals:
            raise PrepareError(f"DECIMAL precision must be >= scale: DECIMAL({digits},{decimals})", at)
        return SqlDecimal(digits, decimals)

    def named_type(self, at: Location, name: Name, *parameters: Any) -> SqlType:
        # Parameters, as in VARCHAR(10), are allowed and mean nothing.
        primitive = _PRIMITIVES.get(name.text.upper())
        if primitive is not None:
            return primitive
        custom = self.types.get(name.text)
        if custom is None:
            raise PrepareError(f"Cannot resolve unknown type: {name.text}", name.at)
        return custom
