"""What generated code calls."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from millstream.sql.errors import FunctionError, SqlError

#: What LIKE's wildcards do not match.
_NO_LINE_END = r"[^\n\r\x85\u2028\u2029]"


def required(value: Any) -> Any:
    """A value that must not be NULL: a condition.

    Raises:
        FunctionError: it is NULL.
    """
    if value is None:
        raise FunctionError("a condition is NULL")
    return value


def fail(message: str) -> Any:
    """Raises what was wrong already when the expression was compiled, but is only to be told for a record."""
    raise FunctionError(message)


def element(array: list[Any] | None, index: int) -> Any:
    """An element of an array, counted from 1, or from the end with -1; NULL where there is none.

    >>> element([5, 6], 1), element([5, 6], -1), element([5, 6], 3)
    (5, 6, None)
    """
    if array is None:
        return None
    if 0 < index <= len(array):
        return array[index - 1]
    return array[index] if -len(array) <= index < 0 else None


@lru_cache(maxsize=1024)
def like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """The regular expression of a pattern of LIKE.

    >>> bool(like_pattern("a%_", None).fullmatch("abc")), bool(like_pattern("a!%", "!").fullmatch("ab"))
    (True, False)

    Raises:
        SqlError: the pattern ends with the escape character.
    """
    parts = []
    escaped = False
    for character in pattern:
        if escaped:
            parts.append(re.escape(character))
            escaped = False
        elif character == escape:
            escaped = True
        elif character == "%":
            parts.append(f"{_NO_LINE_END}*")
        elif character == "_":
            parts.append(_NO_LINE_END)
        else:
            parts.append(re.escape(character))
    if escaped:
        raise SqlError("LIKE pattern must not end with escape character")
    return re.compile("".join(parts))


def like(value: str, pattern: str, escape: str | None) -> bool:
    """`value LIKE pattern`, for patterns that differ from record to record."""
    return like_pattern(pattern, escape).fullmatch(value) is not None
