"""JSON texts as Jackson reads and writes them: what follows the first value is ignored, numbers stay exact."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

from millstream.sql.errors import FunctionError

#: A text without any value.
MISSING: Final = object()

_BLANK = re.compile(r"[ \t\n\r]*")
_AFTER_NUMBER = re.compile(r"[ \t\n\r]|\Z")
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_ESCAPES = {chr(code): f"\\u{code:04X}" for code in range(0x20)} | {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_number)


def parse_json(text: str) -> Any:
    """The first value in a text; `MISSING` when there is none.

    Raises:
        FunctionError: the text does not begin with JSON.
    """
    start = _skip_blanks(text, 0)
    if start == len(text):
        return MISSING
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError as error:
        raise FunctionError(f"Invalid JSON format:{text}", detail=str(error)) from None
    if text[end - 1] not in '}]"' and _AFTER_NUMBER.match(text, end) is None:
        raise FunctionError(f"Invalid JSON format:{text}", detail="Expected space separating root-level values")
    return value


def elements(text: str) -> Iterator[Any]:
    """The elements of an array, one by one: those before a mistake are found.

    Raises:
        ValueError: no array begins, or something is wrong behind the last element that was found.
    """
    position = _skip_blanks(text, 0)
    if text[position : position + 1] != "[":
        raise ValueError("no array")
    position = _skip_blanks(text, position + 1)
    if text[position : position + 1] == "]":
        return
    while True:
        value, position = _DECODER.raw_decode(text, position)
        yield value
        position = _skip_blanks(text, position)
        mark = text[position : position + 1]
        if mark == "]":
            return
        if mark != ",":
            raise ValueError("an element must be followed by another or by the end")
        position = _skip_blanks(text, position + 1)


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return position if match is None else match.end()


def quoted(text: str) -> str:
    r"""A text as JSON.

    >>> print(quoted('say "a"'))
    "say \"a\""
    """
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES[match[0]]


def plain_number(value: Decimal) -> str:
    """A number without an exponent."""
    return format(value, "f")


def write_json(value: Any, number: Callable[[Decimal], str] = str) -> str:
    """A value as text, without blanks; `number` writes numbers with a point.

    >>> write_json({"a": [1, Decimal("2.50"), None, True]})
    '{"a":[1,2.50,null,true]}'
    """
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return number(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(key)}:{write_json(item, number)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(write_json(item, number) for item in value) + "]"
    return str(value)
