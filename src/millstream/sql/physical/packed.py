"""How rows are kept in stores and repartition topics: packed, with all that SQL's types can hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import astuple

from millstream.serdes import Serde
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType

_PYTHON: dict[BaseType, Any] = {
    BaseType.BOOLEAN: bool,
    BaseType.INTEGER: int,
    BaseType.BIGINT: int,
    BaseType.DOUBLE: float,
    BaseType.DECIMAL: Decimal,
    BaseType.STRING: str,
    BaseType.BYTES: bytes,
    BaseType.DATE: int,
    BaseType.TIME: int,
    BaseType.TIMESTAMP: int,
}


class PackedSerde(Serde[tuple[Any, ...]]):
    """Rows as packed arrays; nothing is lost, whatever the format of the topics around.

    Args:
        columns: of the row.
        name: of the format it stands in for.
    """

    def __init__(self, columns: Sequence[Column], name: str) -> None:
        types = tuple(_python(column.type) for column in columns)
        super().__init__(
            msgspec.msgpack.Encoder().encode,
            _reader(types),
            immutable=True,  # lists and dicts too: see `sql.schema.types`, values are never changed in place
            name=name,
        )


def _reader(types: tuple[Any, ...]) -> Callable[[bytes], tuple[Any, ...]]:
    """What reads rows. CREATE OR REPLACE may add columns: rows that were kept before end in NULLs."""
    kind: Any = tuple[types] if types else tuple[()]  # type: ignore[valid-type]
    decode = msgspec.msgpack.Decoder(kind).decode
    fields: Any = [(f"c{index}", one, None) for index, one in enumerate(types)]
    decode_short = msgspec.msgpack.Decoder(msgspec.defstruct("Short", fields, array_like=True)).decode

    def read(data: bytes) -> tuple[Any, ...]:
        try:
            row: tuple[Any, ...] = decode(data)
        except msgspec.ValidationError:
            row = astuple(decode_short(data))
        return row

    return read


def _python(kind: SqlType) -> Any:
    """The type whose values hold those of an SQL type, or NULL."""
    if isinstance(kind, SqlArray):
        return list[_python(kind.item)] | None  # type: ignore[misc]
    if isinstance(kind, SqlMap):
        return dict[_python(kind.key), _python(kind.value)] | None  # type: ignore[misc]
    if isinstance(kind, SqlStruct):
        fields = tuple(_python(field.type) for field in kind.fields)
        return (tuple[fields] if fields else tuple[()]) | None  # type: ignore[valid-type]
    return _PYTHON[kind.base] | None
