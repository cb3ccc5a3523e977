"""Keys and values as people write and read them in a terminal."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from millstream.errors import SerdeError
from millstream.serdes import Serde, Serdes


class Format(StrEnum):
    """How bytes are shown and read."""

    STRING = "string"
    JSON = "json"
    LONG = "long"
    INTEGER = "integer"
    DOUBLE = "double"
    BYTES = "bytes"


@dataclass(frozen=True)
class _Form:
    serde: Serde[Any]
    parse: Callable[[str], Any]
    show: Callable[[Any], str]


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


_FORMS = {
    Format.STRING: _Form(Serdes.string, str, str),
    Format.JSON: _Form(Serdes.json, orjson.loads, _json),
    Format.LONG: _Form(Serdes.long, int, str),
    Format.INTEGER: _Form(Serdes.integer, int, str),
    Format.DOUBLE: _Form(Serdes.double, float, str),
    Format.BYTES: _Form(
        Serdes.bytes, lambda text: base64.b64decode(text, validate=True), lambda data: base64.b64encode(data).decode()
    ),
}


def parse(text: str, form: Format) -> bytes:
    """Text as bytes; bytes are written in base64."""
    found = _FORMS[form]
    try:
        return found.serde.serialize(found.parse(text))
    except (ValueError, SerdeError) as error:
        raise SerdeError(f"{text!r} is no {form}", detail=str(error)) from error


def show(data: bytes | None, form: Format) -> str:
    """Bytes as text."""
    if data is None:
        return "null"
    found = _FORMS[form]
    try:
        return found.show(found.serde.deserialize(data))
    except (ValueError, SerdeError) as error:
        raise SerdeError(f"{data[:80]!r} is no {form}", detail=str(error), hint="give --key or --value") from error
