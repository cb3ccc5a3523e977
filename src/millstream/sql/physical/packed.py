"""How rows are kept in stores and repartition topics: packed, with all that SQL's types can hold."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec

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
        types = tuple(column.type for column in columns)
        kind: Any = tuple[tuple(_python(one) for one in types)] if types else tuple[()]  # type: ignore[misc]
        super().__init__(
            msgspec.msgpack.Encoder().encode,
            msgspec.msgpack.Decoder(kind).decode,
            immutable=True,  # lists and dicts too: see `sql.schema.types`, values are never changed in place
            name=name,
        )


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
