"""Functions of texts that are JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

import orjson

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations, ScalarContext
from millstream.sql.functions.text.json_tree import MISSING, elements, parse_json, plain_number, write_json
from millstream.sql.functions.text.json_writers import writer
from millstream.sql.schema.types import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN, BaseType

FUNCTIONS = Declarations("JSON")

#: `.name`, `[name]` or `["name"]`; letters and digits are Unicode's.
_STEP = re.compile(r'\.((?:[:@]|\w)+)|\[(\w+)\]|\["((?:[^"\\]|\\["\\])*)"\]')
_INDEX = re.compile(r"[+-]?[0-9]{1,10}")


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[str, ...]:
    """The names in a JSON path."""
    position = 1
    steps: list[str] = []
    match = _STEP.match(path, position)
    while match is not None:
        name, subscript, quoted = match.groups()
        steps.append(re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else name or subscript)
        position = match.end()
        match = _STEP.match(path, position)
    if not path.startswith("$") or position < len(path):
        raise FunctionError(f"Invalid JSON path: '{path}'")
    return tuple(steps)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else write_json(value)


@FUNCTIONS.scalar("extractjsonfield", "(STRING input, STRING path) -> STRING")
def extract_field(text: str, path: str) -> str | None:
    """What a text of JSON has at a path."""
    steps = _steps(path)
    try:
        found = _walk(orjson.loads(text), steps)
    except ValueError:
        return _extract_exactly(text, steps)
    if isinstance(found, str):
        return found
    if found is MISSING:
        return None
    # What has numbers with a point must be read again: those were rounded.
    return str(found) if type(found) is int else _extract_exactly(text, steps)


def _extract_exactly(text: str, steps: tuple[str, ...]) -> str | None:
    value = parse_json(text)
    found = _walk(value, steps)
    if found is MISSING:
        return "" if value is MISSING and not steps else None
    return _as_text(found)


def _walk(value: Any, steps: tuple[str, ...]) -> Any:
    """What is behind some steps; `MISSING` when nothing is there."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and _INDEX.fullmatch(step):
            index = int(step)
            value = value[index] if 0 <= index < len(value) else MISSING
        else:
            return MISSING
    return value


@FUNCTIONS.scalar("IS_JSON_STRING", "(STRING input) -> BOOLEAN", pass_null=True)
def is_json(text: str | None) -> bool:
    """Whether a text is JSON."""
    if text is None:
        return False
    try:
        return parse_json(text) is not MISSING
    except FunctionError:
        return False


@FUNCTIONS.scalar("JSON_ARRAY_LENGTH", "(STRING jsonArray) -> INTEGER")
def array_length(text: str) -> int | None:
    """How many elements an array in JSON has."""
    value = parse_json(text)
    return len(value) if isinstance(value, list) else None


@FUNCTIONS.scalar("JSON_KEYS", "(STRING jsonObj) -> ARRAY<STRING>")
def keys(text: str) -> list[str] | None:
    """The names of the fields of an object in JSON."""
    value = parse_json(text)
    return list(value) if isinstance(value, dict) else None


@FUNCTIONS.scalar("JSON_RECORDS", "(STRING jsonObj) -> MAP<STRING, STRING>")
def records(text: str) -> dict[str, str] | None:
    """The fields of an object in JSON, their values as texts."""
    value = parse_json(text)
    return {key: _as_text(item) for key, item in value.items()} if isinstance(value, dict) else None


@FUNCTIONS.scalar("JSON_ITEMS", "(STRING jsonItems) -> ARRAY<STRING>")
def items(text: str) -> list[str] | None:
    """The elements of an array in JSON, each as JSON."""
    value = parse_json(text)
    if value is None:
        return None
    if not isinstance(value, list):
        raise FunctionError(f"Invalid JSON format:{text}")
    return [write_json(item) for item in value]


@FUNCTIONS.scalar("JSON_CONCAT", "(STRING... jsonStrings) -> STRING", pass_null=True)
def concatenate(*texts: str | None) -> str | None:
    """Objects in JSON merged, or arrays appended; what is no array counts as one of one element."""
    values: list[Any] = []
    for text in texts:
        value = MISSING if text is None else parse_json(text)
        if value is MISSING:
            return None
        values.append(value)
    if all(isinstance(value, dict) for value in values):
        merged: Any = {key: item for value in values for key, item in value.items()}
    elif len(values) == 1:
        merged = values[0]
    else:
        merged = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return write_json(merged, plain_number)


def _is_whole(low: int, high: int, element: Any, value: int) -> bool:
    if not isinstance(element, int) or isinstance(element, bool):
        return False
    if not low <= element <= high:
        raise ValueError("a number that is too large ends the search")
    return element == value


def _is_double(element: Any, value: float) -> bool:
    return isinstance(element, Decimal) and float(element) == value


def _is_text(element: Any, value: str) -> bool:
    return isinstance(element, str) and element == value


def _is_boolean(element: Any, value: bool) -> bool:
    return element is value


def _never(element: Any, value: Any) -> bool:
    return False


_EQUALITY: dict[BaseType, Callable[[Any, Any], bool]] = {
    BaseType.INTEGER: partial(_is_whole, INT_MIN, INT_MAX),
    BaseType.BIGINT: partial(_is_whole, BIGINT_MIN, BIGINT_MAX),
    BaseType.DOUBLE: _is_double,
    BaseType.STRING: _is_text,
    BaseType.BOOLEAN: _is_boolean,
}


@FUNCTIONS.scalar_factory("JSON_ARRAY_CONTAINS", "(STRING jsonArray, T val) -> BOOLEAN", pass_null=True)
def array_contains(context: ScalarContext) -> Callable[[str | None, Any], bool | None]:
    """Whether an array in JSON has a value among its elements."""
    type_ = context.arguments[1]
    return partial(_contains, _never if type_ is None else _EQUALITY.get(type_.base, _never))


def _contains(equal: Callable[[Any, Any], bool], text: str | None, value: Any) -> bool | None:
    if text is None:
        return None
    try:
        if value is None:
            return any(element is None for element in elements(text))
        return any(equal(element, value) for element in elements(text))
    except ValueError:
        return False


@FUNCTIONS.scalar_factory("TO_JSON_STRING", "(T input) -> STRING", pass_null=True)
def to_json(context: ScalarContext) -> Callable[[Any], str]:
    """A value as JSON."""
    type_ = context.arguments[0]
    return write_json if type_ is None else writer(type_)
