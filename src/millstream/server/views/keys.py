"""Keys as text: what a URL or a command line says, as the object that the store's serde takes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec

from millstream.errors import KeyRefused
from millstream.serdes.json import TypedJsonSerde
from millstream.serdes.serde import AnySerde, shorten


def key_of(text: str, serde: AnySerde) -> Any:
    """The key that a text means.

    Strings are themselves, numbers are decimal, `true` and `false` are booleans, bytes are base64, and keys of any
    other serde are JSON.

    Raises:
        KeyRefused: it means none.

    >>> from millstream import Serdes
    >>> key_of("42", Serdes.string), key_of("42", Serdes.long), key_of('{"id": 42}', Serdes.json)
    ('42', 42, {'id': 42})
    """
    read, form = _READERS.get(serde.constant or "", (None, "JSON"))
    try:
        if read is not None:
            return read(text)
        if isinstance(serde, TypedJsonSerde):
            return serde.deserialize(text.encode())
        return msgspec.json.decode(text)
    except (ValueError, msgspec.MsgspecError, OverflowError) as error:
        raise KeyRefused(
            f"{shorten(text)} is no key of this store",
            detail=f"its keys are of the {serde.name} serde: {error}",
            hint=f"write the key as {form}",
        ) from error


def prefix_of(text: str, serde: AnySerde) -> bytes:
    """The bytes that keys begin with.

    Raises:
        KeyRefused: the serialised keys of this store do not begin alike when their texts do.
    """
    if serde.constant == "string":
        return text.encode()
    if serde.constant == "bytes":
        prefix: bytes = key_of(text, serde)
        return prefix
    raise KeyRefused(
        "only keys that are strings or bytes can be asked for by a prefix",
        detail=f"those of this store are of the {serde.name} serde",
        hint="ask for a range",
    )


def bytes_of_base64(text: str) -> bytes:
    r"""Bytes of their base64, of either alphabet, padded or not.

    >>> bytes_of_base64("-_8"), bytes_of_base64("+/8=")
    (b'\xfb\xff', b'\xfb\xff')
    """
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _integer(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or not text.isascii():
        raise ValueError("it is no whole number")
    if len(text) > _DIGITS:
        raise ValueError("it is too large")
    return int(text)


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("it is neither true nor false")
    return text == "true"


#: More than a 64-bit integer has.
_DIGITS = 20
_NUMBER: tuple[Callable[[str], Any], str] = (_integer, "a whole number")
_DECIMAL: tuple[Callable[[str], Any], str] = (float, "a number")
_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "string": (str, "text"),
    "long": _NUMBER,
    "integer": _NUMBER,
    "short": _NUMBER,
    "double": _DECIMAL,
    "float": _DECIMAL,
    "boolean": (_boolean, "true or false"),
    "uuid": (UUID, "a UUID: 8-4-4-4-12 hexadecimal digits"),
    "bytes": (bytes_of_base64, "base64"),
}
