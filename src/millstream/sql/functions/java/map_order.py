"""The order in which ksqlDB goes through a MAP: that of Java's hash tables."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from millstream.sql.functions.java.utf16 import units


def ordered(entries: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """The entries of a map in ksqlDB's order; keys that are no strings keep theirs.

    >>> ordered({"one": 1, "two": 2, "three": 3})
    [('two', 2), ('three', 3), ('one', 1)]
    """
    items = list(entries.items())
    if len(items) < 2 or not all(isinstance(key, str) for key in entries):
        return items
    mask = _capacity(len(items)) - 1
    items.sort(key=lambda item: _hash(item[0]) & mask)
    return items


def _capacity(size: int) -> int:
    """How many buckets a table has that was made for so many entries: a power of two, at most three quarters full."""
    capacity = 1 << (size - 1).bit_length()
    return capacity if size <= capacity * 3 // 4 else capacity * 2


@lru_cache(maxsize=65_536)
def _hash(key: str) -> int:
    hashed = 0
    for unit in units(key):
        hashed = 31 * hashed + ord(unit) & 0xFFFFFFFF
    return hashed ^ hashed >> 16
