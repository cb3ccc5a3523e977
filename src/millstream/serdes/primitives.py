"""Serdes of single values, in Kafka's binary forms: numbers are big-endian and of fixed size.

Strings and bytes are plain C functions. The others are Python functions around one, because they have a length or a
range to check; their `try` costs nothing until it catches.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from millstream.errors import SerdeError
from millstream.serdes.serde import Serde, shorten

T = TypeVar("T")


class FixedSizeSerde(Serde[T]):
    """A serde whose bytes are always of the same number; lists of such values are stored without lengths."""

    def __init__(
        self,
        serialize: Callable[[T], bytes],
        deserialize: Callable[[bytes], T],
        *,
        size: int,
        hashable: bool,
        name: str,
    ) -> None:
        super().__init__(serialize, deserialize, hashable=hashable, immutable=True, name=name)
        self.size = size


def _number(code: str, name: str, kind: str, accepts: str, *, hashable: bool) -> FixedSizeSerde[T]:
    layout = struct.Struct(f">{code}")
    pack, unpack, size = layout.pack, layout.unpack, layout.size

    def serialize(value: T) -> bytes:
        try:
            return pack(value)
        except (struct.error, OverflowError) as error:
            raise SerdeError(
                f"the {name} serde cannot write {shorten(value)}",
                detail=f"it is of type {type(value).__name__}; {accepts}",
            ) from error

    def deserialize(data: bytes) -> T:
        try:
            return unpack(data)[0]  # type: ignore[no-any-return]  # the code in the layout decides
        except struct.error:
            raise SerdeError(
                f"the {name} serde cannot read {len(data)} bytes",
                detail=f"{kind} has {size}; these are {shorten(data)}",
                hint="give the serde that the data was written with",
            ) from None

    return FixedSizeSerde(serialize, deserialize, size=size, hashable=hashable, name=name)


def _integer(code: str, name: str, bits: int) -> FixedSizeSerde[int]:
    bound = 2 ** (bits - 1)
    accepts = f"it takes an int from {-bound} to {bound - 1}"
    return _number(code, name, f"a {bits}-bit integer", accepts, hashable=True)


LONG = _integer("q", "long", 64)
INTEGER = _integer("i", "integer", 32)
SHORT = _integer("h", "short", 16)

# Not hashable: 0.0 equals -0.0, and nan nothing, whatever their bytes.
DOUBLE: FixedSizeSerde[float] = _number("d", "double", "a double", "it takes a float or an int", hashable=False)
FLOAT: FixedSizeSerde[float] = _number(
    "f", "float", "a float", "it takes a float or an int of single precision range", hashable=False
)

# Strict both ways, where Java puts replacement characters: bytes that are no text are an error, not another key.
STRING: Serde[str] = Serde(str.encode, bytes.decode, hashable=True, immutable=True, name="string")

# `bytes.__bytes__` is the C function that returns its argument, and refuses what is not bytes.
BYTES: Serde[bytes] = Serde(bytes.__bytes__, bytes.__bytes__, hashable=True, immutable=True, name="bytes")


_BOOLEAN_BYTES = {True: b"\x01", False: b"\x00"}
_BOOLEANS = {b"\x01": True, b"\x00": False}


def _serialize_boolean(value: bool) -> bytes:
    try:
        return _BOOLEAN_BYTES[value]
    except (KeyError, TypeError):
        raise SerdeError(
            f"the boolean serde cannot write {shorten(value)}",
            detail=f"it is of type {type(value).__name__}; it takes True or False",
        ) from None


def _deserialize_boolean(data: bytes) -> bool:
    try:
        return _BOOLEANS[data]
    except KeyError:
        raise SerdeError(
            "the boolean serde cannot read these bytes", detail=f"{shorten(data)}; a boolean is one byte, 0 or 1"
        ) from None


BOOLEAN: Serde[bool] = Serde(_serialize_boolean, _deserialize_boolean, hashable=True, immutable=True, name="boolean")


def _serialize_uuid(value: UUID) -> bytes:
    if isinstance(value, UUID):
        return str(value).encode()
    raise SerdeError(
        f"the uuid serde cannot write {shorten(value)}", detail=f"it is of type {type(value).__name__}; it takes a UUID"
    )


def _deserialize_uuid(data: bytes) -> UUID:
    try:
        return UUID(data.decode())
    except ValueError:
        raise SerdeError(
            "the uuid serde cannot read these bytes", detail=f"{shorten(data)}; a UUID is stored as its text"
        ) from None


UUID_TEXT: FixedSizeSerde[UUID] = FixedSizeSerde(
    _serialize_uuid, _deserialize_uuid, size=36, hashable=True, name="uuid"
)


def _serialize_void(value: None) -> bytes:
    raise SerdeError(f"the void serde cannot write {shorten(value)}", detail="it takes nothing but None")


def _deserialize_void(data: bytes) -> None:
    raise SerdeError("the void serde cannot read bytes", detail=f"it was given {shorten(data)}")


VOID: Serde[None] = Serde(_serialize_void, _deserialize_void, hashable=True, immutable=True, name="void")
