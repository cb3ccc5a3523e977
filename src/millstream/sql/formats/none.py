"""NONE: no columns, no bytes."""

from __future__ import annotations

from millstream.sql.errors import SqlError
from millstream.sql.formats.format import Codec, Format, Row, Target, show_columns
from millstream.sql.schema.types import SqlType


class NoneFormat(Format):
    """The format of keys that are not there."""

    name = "NONE"
    supports_multiple_columns = False

    def supports_key_type(self, kind: SqlType) -> bool:
        return False

    def check(self, target: Target) -> None:
        if target.columns:
            raise SqlError(
                f"The 'NONE' format can only be used when no columns are defined. Got: {show_columns(target.columns)}"
            )

    def codec(self, target: Target) -> Codec:
        return VOID


def _serialize(row: Row) -> None:
    return None


def _deserialize(data: bytes) -> Row:
    return ()


#: Without columns there is nothing to write, and what is there is not looked at.
VOID = Codec(_serialize, _deserialize)
