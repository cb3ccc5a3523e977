"""Keys and values as people write and read them in a terminal."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from millstream.cli.avro import avro_shower
from millstream.errors import SerdeError
from millstream.serdes import Serde, Serdes
from millstream.serdes.windowed import TimeWindowedSerde


class Format(StrEnum):
    """How bytes are shown and read."""

    STRING = "string"
    JSON = "json"
    LONG = "long"
    INTEGER = "integer"
    SHORT = "short"
    DOUBLE = "double"
    FLOAT = "float"
    BYTES = "bytes"
    AVRO = "avro"


class WindowKind(StrEnum):
    """What stands behind a windowed key."""

    TIME = "time"
    SESSION = "session"


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
    Format.SHORT: _Form(Serdes.short, int, str),
    Format.FLOAT: _Form(Serdes.float, float, str),
    Format.DOUBLE: _Form(Serdes.double, float, str),
    Format.BYTES: _Form(
        Serdes.bytes, lambda text: base64.b64decode(text, validate=True), lambda data: base64.b64encode(data).decode()
    ),
}


#: Shows bytes as text.
Shower = Callable[[bytes], str]


def parse(text: str, form: Format) -> bytes:
    """Text as bytes; bytes are written in base64."""
    if form is Format.AVRO:
        raise SerdeError("avro can be read, not written", hint="write it with `INSERT INTO` in `millstream sql`")
    found = _FORMS[form]
    try:
        return found.serde.serialize(found.parse(text))
    except (ValueError, SerdeError) as error:
        raise SerdeError(f"{text!r} is no {form}", detail=str(error)) from error


def shower(
    form: Format, *, windowed: WindowKind | None = None, registry: str | None = None
) -> Callable[[bytes | None], str]:
    """A function that shows bytes as text.

    Args:
        form: what they are.
        windowed: the window behind a key, shown as Kafka Streams does: `[key@start/end]`, in milliseconds. Of a time
            window only the start is known.
        registry: the URL of the schema registry, for Avro.
    """
    plain = avro_shower(registry) if form is Format.AVRO else _shower(form)
    show = plain if windowed is None else _windowed(plain, windowed)

    def checked(data: bytes | None) -> str:
        if data is None:
            return "null"
        try:
            return show(data)
        except (ValueError, SerdeError) as error:
            what = form if windowed is None else f"{form} in a {windowed} window"
            raise SerdeError(f"{data[:80]!r} is no {what}", detail=str(error), hint="give --key or --value") from error

    return checked


def _shower(form: Format) -> Shower:
    found = _FORMS[form]
    deserialize, show = found.serde.deserialize, found.show
    return lambda data: show(deserialize(data))


def _windowed(show_key: Shower, kind: WindowKind) -> Shower:
    def show(data: bytes) -> str:
        if kind is WindowKind.TIME:
            key, window = TimeWindowedSerde(Serdes.bytes).deserialize(data)
            return f"[{show_key(key)}@{window.start}]"
        key, window = Serdes.session_windowed(Serdes.bytes).deserialize(data)
        return f"[{show_key(key)}@{window.start}/{window.end}]"

    return show
