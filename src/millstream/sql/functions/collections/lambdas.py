"""Functions that take lambdas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.java.map_order import ordered

FUNCTIONS = Declarations("LAMBDA")


@FUNCTIONS.scalar("transform", "(ARRAY<T> array, LAMBDA (T) -> R function) -> ARRAY<R>")
def transform_array(array: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    """Applies a function to each element of an array."""
    return [function(item) for item in array]


@FUNCTIONS.scalar(
    "transform",
    "(MAP<K, V> map, LAMBDA (K, V) -> R biFunction1, LAMBDA (K, V) -> T biFunction2) -> MAP<R, T>",
)
def transform_map(
    entries: dict[Any, Any], key_function: Callable[[Any, Any], Any], value_function: Callable[[Any, Any], Any]
) -> dict[Any, Any]:
    """Applies a function to each key and another to each value of a map."""
    result: dict[Any, Any] = {}
    for key, value in entries.items():
        new_key, new_value = key_function(key, value), value_function(key, value)
        if new_key in result:
            raise FunctionError(f"Duplicate key {new_key}")
        if new_value is None:
            raise FunctionError(f"No value for key {new_key}")
        result[new_key] = new_value
    return result


@FUNCTIONS.scalar("filter", "(ARRAY<T> array, LAMBDA (T) -> BOOLEAN function) -> ARRAY<T>")
def filter_array(array: list[Any], function: Callable[[Any], bool | None]) -> list[Any]:
    """Keeps the elements of an array for which a function is true."""
    return [item for item in array if _is_true(function(item))]


@FUNCTIONS.scalar("filter", "(MAP<K, V> map, LAMBDA (K, V) -> BOOLEAN biFunction) -> MAP<K, V>")
def filter_map(entries: dict[Any, Any], function: Callable[[Any, Any], bool | None]) -> dict[Any, Any]:
    """Keeps the entries of a map for which a function is true."""
    kept = {key: value for key, value in entries.items() if _is_true(function(key, value))}
    if None in kept.values():
        raise FunctionError("FILTER cannot keep entries of a map without value")
    return kept


def _is_true(value: bool | None) -> bool:
    if value is None:
        raise FunctionError("The lambda of FILTER gave NULL")
    return value


@FUNCTIONS.scalar("reduce", "(ARRAY<T> list, S initialState, LAMBDA (S, T) -> S biFunction) -> S", pass_null=True)
def reduce_array(array: list[Any] | None, state: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Reduces an array to one value: the function makes each next state from the state and an element."""
    if state is None or array is None:
        return state
    for item in array:
        state = function(state, item)
    return state


@FUNCTIONS.scalar("reduce", "(MAP<K, V> map, S initialState, LAMBDA (S, K, V) -> S triFunction) -> S", pass_null=True)
def reduce_map(entries: dict[Any, Any] | None, state: Any, function: Callable[[Any, Any, Any], Any]) -> Any:
    """Reduces a map to one value: the function makes each next state from the state, a key and its value."""
    if state is None or entries is None:
        return state
    for key, value in ordered(entries):
        state = function(state, key, value)
    return state
