"""Functions of MAP."""

from __future__ import annotations

from typing import Any, TypeAlias

from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.map_order import ordered
from millstream.sql.functions.java.utf16 import sort_key

FUNCTIONS = Declarations("MAP")

Entries: TypeAlias = dict[Any, Any]


@FUNCTIONS.scalar("AS_MAP", "(ARRAY<STRING> keys, ARRAY<T> values) -> MAP<STRING, T>")
def as_map(keys: list[str], values: list[Any]) -> Entries:
    """Constructs a map from an array of keys and an array of values; keys without a value have NULL."""
    missing = [None] * (len(keys) - len(values))
    return dict(zip(keys, values + missing, strict=False))


@FUNCTIONS.scalar("map_keys", "(MAP<STRING, T> input) -> ARRAY<STRING>")
def map_keys(entries: Entries) -> list[str]:
    """Returns an array of all the keys of a map."""
    return [key for key, _ in ordered(entries)]


@FUNCTIONS.scalar("map_values", "(MAP<STRING, T> input) -> ARRAY<T>")
def map_values(entries: Entries) -> list[Any]:
    """Returns an array of all the values of a map."""
    return [value for _, value in ordered(entries)]


@FUNCTIONS.scalar("map_union", "(MAP<STRING, T> map1, MAP<STRING, T> map2) -> MAP<STRING, T>", pass_null=True)
def map_union(first: Entries | None, second: Entries | None) -> Entries | None:
    """Returns a map of the entries of both maps; a key that both have keeps the value of the second."""
    if first is None or second is None:
        return first if second is None else second
    return first | second


@FUNCTIONS.scalar(
    "ENTRIES",
    "(MAP<STRING, INTEGER> map, BOOLEAN sorted) -> ARRAY<STRUCT<K STRING, V INTEGER>>",
    "(MAP<STRING, BIGINT> map, BOOLEAN sorted) -> ARRAY<STRUCT<K STRING, V BIGINT>>",
    "(MAP<STRING, DOUBLE> map, BOOLEAN sorted) -> ARRAY<STRUCT<K STRING, V DOUBLE>>",
    "(MAP<STRING, BOOLEAN> map, BOOLEAN sorted) -> ARRAY<STRUCT<K STRING, V BOOLEAN>>",
    "(MAP<STRING, STRING> map, BOOLEAN sorted) -> ARRAY<STRUCT<K STRING, V STRING>>",
)
def entries_of(entries: Entries, is_sorted: bool) -> list[tuple[str, Any]]:
    """Constructs an array of the entries of a map, sorted by the keys if asked for."""
    return [(key, entries[key]) for key in sorted(entries, key=sort_key)] if is_sorted else ordered(entries)
