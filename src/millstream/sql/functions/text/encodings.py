"""Texts and bytes in hex, UTF-8, ASCII and base64; digests and identifiers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import uuid
from collections.abc import Callable

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations

FUNCTIONS = Declarations("STRING")

_NOT_BASE64 = re.compile("[^A-Za-z0-9+/]")


def _from_ascii(value: bytes) -> str:
    return value.decode("ascii", "replace")


def _from_utf8(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _from_base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _to_ascii(text: str) -> bytes:
    return text.encode("ascii", "replace")


def _to_utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _to_hex(text: str) -> bytes:
    """The bytes of hexadecimal digits, which may be written `0x41` or `X'41'`."""
    if text.startswith("0x"):
        text = text[2:]
        text = "0" * (len(text) % 2) + text
    elif text[:2] in {"x'", "X'"} and text.endswith("'") and len(text) > 2:
        text = text[2:-1]
    return _hex_digits(text)


def _hex_digits(text: str) -> bytes:
    try:
        return binascii.unhexlify(text)
    except ValueError as error:
        raise FunctionError(f"No hexadecimal digits: {error}") from None


def _to_base64(text: str) -> bytes:
    """The bytes of base64 in either alphabet; whatever is in none is skipped."""
    digits = _NOT_BASE64.sub("", text.partition("=")[0].replace("-", "+").replace("_", "/"))
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


_DECODERS: dict[str, Callable[[str], bytes]] = {
    "hex": _to_hex,
    "utf8": _to_utf8,
    "ascii": _to_ascii,
    "base64": _to_base64,
}
_ENCODERS: dict[str, Callable[[bytes], str]] = {
    "hex": bytes.hex,
    "utf8": _from_utf8,
    "ascii": _from_ascii,
    "base64": _from_base64,
}


@FUNCTIONS.scalar("encode", "(STRING str, STRING inputEncoding, STRING outputEncoding) -> STRING")
def encode(text: str, source: str, target: str) -> str:
    """The text in another encoding: hex, utf8, ascii or base64."""
    decoder, encoder = _DECODERS.get(source.lower()), _ENCODERS.get(target.lower())
    if decoder is None or encoder is None or source.lower() == target.lower():
        raise FunctionError("Supported input and output encodings are: hex, utf8, ascii and base64")
    return encoder(decoder(text))


def _strict_base64(text: str) -> bytes:
    padded = text if "=" in text else text + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded, validate=True)
    except ValueError as error:
        raise FunctionError(f"Illegal base64: {error}") from None


def _upper_hex(value: bytes) -> str:
    return value.hex().upper()


_BYTES_DECODERS = {**_DECODERS, "hex": _hex_digits, "base64": _strict_base64}
_BYTES_ENCODERS = {**_ENCODERS, "hex": _upper_hex}


def _unknown(encoding: str) -> FunctionError:
    return FunctionError(
        f"Unknown encoding type '{encoding}'. Supported formats are 'hex', 'utf8', 'ascii', and 'base64'."
    )


@FUNCTIONS.scalar("to_bytes", "(STRING value, STRING encoding) -> BYTES")
def to_bytes(text: str, encoding: str) -> bytes:
    """The bytes that a text in hex, utf8, ascii or base64 stands for."""
    decoder = _BYTES_DECODERS.get(encoding.lower())
    if decoder is None:
        raise _unknown(encoding)
    return decoder(text)


@FUNCTIONS.scalar("from_bytes", "(BYTES value, STRING encoding) -> STRING")
def from_bytes(value: bytes, encoding: str) -> str:
    """Bytes as text in hex, utf8, ascii or base64."""
    encoder = _BYTES_ENCODERS.get(encoding.lower())
    if encoder is None:
        raise _unknown(encoding)
    return encoder(value)


@FUNCTIONS.scalar("md5", "(STRING s) -> STRING")
def md5(text: str) -> str:
    """The MD5 digest of a text, in hex."""
    return hashlib.md5(_to_utf8(text), usedforsecurity=False).hexdigest()


@FUNCTIONS.scalar("UUID", "() -> STRING")
def random_uuid() -> str:
    """A random UUID."""
    return str(uuid.uuid4())


@FUNCTIONS.scalar("UUID", "(BYTES bytes) -> STRING")
def uuid_of_bytes(value: bytes) -> str | None:
    """The UUID that 16 bytes encode; NULL if there are not 16."""
    return str(uuid.UUID(bytes=value)) if len(value) == 16 else None
