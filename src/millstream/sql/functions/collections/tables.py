"""Table functions: each result is a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.model import Argument
from millstream.sql.schema.types import SqlArray, SqlType

FUNCTIONS = Declarations("TABLE")


def _item(arguments: Sequence[Argument]) -> SqlType:
    array = arguments[0]
    if not isinstance(array, SqlArray):
        raise SqlError("explode should be provided with an ARRAY")
    return array.item


@FUNCTIONS.table_function("explode", "(ARRAY<DECIMAL> input) -> DECIMAL", returns=_item)
def explode_decimals(array: list[Any] | None) -> list[Any]:
    """Gives one row for each element of an array."""
    return array or []


@FUNCTIONS.table_function("explode", "(ARRAY<T> list) -> T")
def explode(array: list[Any] | None) -> list[Any]:
    """Gives one row for each element of an array."""
    return array or []


@FUNCTIONS.table_function("cube_explode", "(ARRAY<T> columns) -> ARRAY<T>")
def cube_explode(columns: list[Any] | None) -> list[list[Any]]:
    """Gives one row for each way to replace elements of an array by NULL."""
    rows: list[list[Any]] = [] if columns is None else [[]]
    for value in columns or ():
        choices = (None,) if value is None else (None, value)
        rows = [[*row, choice] for row in rows for choice in choices]
    return rows
