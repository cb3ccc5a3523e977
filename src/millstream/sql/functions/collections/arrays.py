"""Functions of ARRAY."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from millstream.sql.errors import FunctionError
from millstream.sql.formats.numbers import double_to_text
from millstream.sql.functions.declare import Declarations, ScalarContext
from millstream.sql.functions.java.ordering import Key, identity_key, order_key
from millstream.sql.schema.types import BaseType, SqlArray, SqlType

FUNCTIONS = Declarations("ARRAY")

Items: TypeAlias = list[Any]

_INT_LIMIT = 2**31


def _item_type(context: ScalarContext) -> SqlType | None:
    """The type of the items of the first argument that is an array."""
    return next((argument.item for argument in context.arguments if isinstance(argument, SqlArray)), None)


def _identity(context: ScalarContext) -> Key:
    item = _item_type(context)
    return None if item is None else identity_key(item)


def _unique(items: Iterable[Any], key: Key) -> dict[Any, Any]:
    """The items by their identity, each as it came first."""
    found: dict[Any, Any] = {}
    for item in items:
        found.setdefault(item if key is None or item is None else key(item), item)
    return found


@FUNCTIONS.scalar("ARRAY_LENGTH", "(ARRAY<T> array) -> INTEGER")
def array_length(array: Items) -> int:
    """Returns the length of an array."""
    return len(array)


@FUNCTIONS.scalar("ARRAY_CONTAINS", "(ARRAY<T> array, T val) -> BOOLEAN", pass_null=True)
def array_contains(array: Items | None, value: Any) -> bool:
    """Returns true if the array is non-null and contains the supplied value."""
    return array is not None and value in array


@FUNCTIONS.scalar_factory("array_distinct", "(ARRAY<T> input) -> ARRAY<T>")
def array_distinct(context: ScalarContext) -> Callable[[Items], Items]:
    """Returns an array of all the distinct values of the input array, in the order they first occur."""
    key = _identity(context)
    return lambda array: list(_unique(array, key).values())


@FUNCTIONS.scalar("array_concat", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>", pass_null=True)
def array_concat(left: Items | None, right: Items | None) -> Items | None:
    """Concatenates two arrays; if one is NULL the result is the other."""
    if left is None or right is None:
        return left if right is None else right
    return left + right


@FUNCTIONS.scalar_factory("array_union", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>")
def array_union(context: ScalarContext) -> Callable[[Items, Items], Items]:
    """Returns an array of all the distinct elements of both arrays, in the order they first occur."""
    key = _identity(context)
    return lambda left, right: list(_unique((*left, *right), key).values())


@FUNCTIONS.scalar_factory("array_intersect", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>")
def array_intersect(context: ScalarContext) -> Callable[[Items, Items], Items]:
    """Returns an array of all the distinct elements that both arrays have, in the order of the first."""
    key = _identity(context)

    def intersect(left: Items, right: Items) -> Items:
        others = _unique(right, key)
        return [item for identity, item in _unique(left, key).items() if identity in others]

    return intersect


@FUNCTIONS.scalar_factory("array_except", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>")
def array_except(context: ScalarContext) -> Callable[[Items, Items], Items]:
    """Returns an array of all the distinct elements of the first array that the second does not have."""
    key = _identity(context)

    def except_(left: Items, right: Items) -> Items:
        others = _unique(right, key)
        return [item for identity, item in _unique(left, key).items() if identity not in others]

    return except_


@FUNCTIONS.scalar("array_remove", "(ARRAY<T> array, T victim) -> ARRAY<T>", pass_null=True)
def array_remove(array: Items | None, victim: Any) -> Items | None:
    """Removes all the elements equal to a specific value from an array."""
    if array is None:
        return None
    if victim is None:
        return [item for item in array if item is not None]
    return [item for item in array if item != victim]


_TEXTS: dict[BaseType, Callable[[Any], str]] = {
    BaseType.BOOLEAN: lambda value: "true" if value else "false",
    BaseType.INTEGER: str,
    BaseType.BIGINT: str,
    BaseType.DOUBLE: double_to_text,
    BaseType.DECIMAL: str,
    BaseType.STRING: str,
}


@FUNCTIONS.scalar_factory(
    "ARRAY_JOIN", "(ARRAY<T> array) -> STRING", "(ARRAY<T> array, STRING delimiter) -> STRING", pass_null=True
)
def array_join(context: ScalarContext) -> Callable[..., str | None]:
    """Joins the elements of an array into one string, with a comma or the given delimiter between them."""
    item = _item_type(context)
    text = str if item is None else _TEXTS.get(item.base)

    def join(array: Items | None, delimiter: str | None = ",") -> str | None:
        if array is None:
            return None
        if text is None and any(value is not None for value in array):
            raise FunctionError(f"error: hit element of type {item} which is currently not supported")
        return (delimiter or "").join(["null" if value is None or text is None else text(value) for value in array])

    return join


def _present(array: Items) -> Items:
    return [item for item in array if item is not None]


@FUNCTIONS.scalar_factory("array_max", "(ARRAY<T> input) -> T")
def array_max(context: ScalarContext) -> Callable[[Items], Any]:
    """Returns the maximum value of an array of primitive values; NULL if there is none."""
    key = _order(context)
    return lambda array: max(_present(array), key=key, default=None)


@FUNCTIONS.scalar_factory("array_min", "(ARRAY<T> input) -> T")
def array_min(context: ScalarContext) -> Callable[[Items], Any]:
    """Returns the minimum value of an array of primitive values; NULL if there is none."""
    key = _order(context)
    return lambda array: min(_present(array), key=key, default=None)


def _order(context: ScalarContext) -> Key:
    item = _item_type(context)
    if item is None:
        return None
    try:
        return order_key(item)
    except FunctionError as error:
        # It is the records that fail, not the statement.
        return _Refuse(str(error))


class _Refuse:
    def __init__(self, message: str) -> None:
        self.message = message

    def __call__(self, value: Any) -> Any:
        raise FunctionError(self.message)


@FUNCTIONS.scalar_factory(
    "array_sort", "(ARRAY<T> input) -> ARRAY<T>", "(ARRAY<T> input, STRING direction) -> ARRAY<T>"
)
def array_sort(context: ScalarContext) -> Callable[..., Items | None]:
    """Sorts an array of primitive values, ascending or descending; NULLs are placed at the end."""
    key = _order(context)

    def sort(array: Items, direction: str = "ASC") -> Items | None:
        way = direction.upper()
        if way not in ("ASC", "ASCENDING", "DESC", "DESCENDING"):
            return None
        present = _present(array)
        nulls = len(array) - len(present)
        present.sort(key=key, reverse=way.startswith("DESC"))
        return present + [None] * nulls

    return sort


@FUNCTIONS.scalar("slice", "(ARRAY<T> in, INTEGER from, INTEGER to) -> ARRAY<T>", pass_null=True)
def slice_(array: Items | None, start: int | None, end: int | None) -> Items | None:
    """Returns the part of an array from one index to another, both included; the first index is 1."""
    if array is None:
        return None
    first = 0 if start is None else start - 1
    last = len(array) if end is None else end
    if first < 0 or last > len(array) or first > last:
        return None
    return array[first:last]


@FUNCTIONS.scalar(
    "GENERATE_SERIES",
    "(INTEGER start, INTEGER end) -> ARRAY<INTEGER>",
    "(BIGINT start, BIGINT end) -> ARRAY<BIGINT>",
)
def generate_series(start: int, end: int) -> Items:
    """Constructs an array of all the values from one to another, both included."""
    return list(_series(start, end, 1 if end > start else -1))


@FUNCTIONS.scalar(
    "GENERATE_SERIES",
    "(INTEGER start, INTEGER end, INTEGER step) -> ARRAY<INTEGER>",
    "(BIGINT start, BIGINT end, INTEGER step) -> ARRAY<BIGINT>",
)
def generate_series_by(start: int, end: int, step: int) -> Items:
    """Constructs an array of the values from one to another that are a step apart."""
    if step == 0:
        raise FunctionError("GENERATE_SERIES step cannot be zero")
    if (end > start and step < 0) or (end < start and step > 0):
        raise FunctionError("GENERATE_SERIES step has wrong sign")
    return list(_series(start, end, step))


def _series(start: int, end: int, step: int) -> range:
    series = range(start, end + (1 if step > 0 else -1), step)
    if len(series) >= _INT_LIMIT:
        raise FunctionError(f"GENERATE_SERIES of {len(series)} values is too long")
    return series
