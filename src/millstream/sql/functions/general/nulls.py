"""Functions about NULL, and of keys."""

from __future__ import annotations

from typing import Any

from millstream.sql.functions.declare import Declarations

FUNCTIONS = Declarations("CONDITIONAL")


@FUNCTIONS.scalar("COALESCE", "(T first, T... others) -> T", pass_null=True)
def coalesce(*values: Any) -> Any:
    """Returns the first value that is not NULL."""
    for value in values:
        if value is not None:
            return value
    return None


@FUNCTIONS.scalar("IFNULL", "(T expression, T altValue) -> T", pass_null=True)
def if_null(value: Any, alternative: Any) -> Any:
    """Returns the value, or the alternative if it is NULL."""
    return alternative if value is None else value


@FUNCTIONS.scalar("NULLIF", "(T expr1, T expr2) -> T", pass_null=True)
def null_if(first: Any, second: Any) -> Any:
    """Returns NULL if both values are equal, else the first."""
    return None if first == second else first


@FUNCTIONS.scalar("AS_VALUE", "(T keyColumn) -> T", pass_null=True)
def as_value(key: Any) -> Any:
    """Copies a key column into the value."""
    return key
