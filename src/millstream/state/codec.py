"""How stores turn what they hold into bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from millstream.records import AggregationWithHeaders, Headers
from millstream.serdes import Serde
from millstream.state.layout import LONG, join_headers, split_headers

T = TypeVar("T")
V = TypeVar("V")


class Codec(Generic[T]):
    """Bytes of what a store holds: plain values, or pairs of value and timestamp.

    Args:
        encode: an object as bytes.
        decode: and back.
        serde: the serde of the values, for what it knows of them and for its errors.
    """

    def __init__(self, encode: Callable[[T], bytes], decode: Callable[[bytes], T], serde: Serde[V]) -> None:
        self.encode = encode
        self.decode = decode
        self.serde = serde
        #: What is forwarded must not be the object the store keeps.
        self.copies = not serde.immutable


def compact(data: bytes) -> bytes:
    """The same bytes in no more memory than they need: those that orjson makes take kilobytes as long as they live."""
    return bytes(memoryview(data)) if type(data) is bytes else data


def plain(serde: Serde[V]) -> Codec[V]:
    """Values alone."""
    serialize = serde.serialize
    return Codec(lambda value: compact(serialize(value)), serde.deserialize, serde)


def timestamped(serde: Serde[V]) -> Codec[tuple[V, int]]:
    """Values with their timestamps: eight bytes, then the value."""
    serialize, deserialize = serde.serialize, serde.deserialize
    pack, unpack = LONG.pack, LONG.unpack_from

    def encode(pair: tuple[V, int]) -> bytes:
        return pack(pair[1]) + serialize(pair[0])

    def decode(data: bytes) -> tuple[V, int]:
        return deserialize(data[8:]), unpack(data)[0]

    return Codec(encode, decode, serde)


def with_headers(serde: Serde[V]) -> Codec[tuple[V, int, Headers | None]]:
    """Values with their timestamps and headers: the headers, then as `timestamped`."""
    inner = timestamped(serde)

    def encode(item: tuple[V, int, Headers | None]) -> bytes:
        return join_headers(inner.encode(item[:2]), item[2]) or b""

    def decode(data: bytes) -> tuple[V, int, Headers | None]:
        plain, headers = split_headers(data)
        value, timestamp = inner.decode(plain or b"")
        return value, timestamp, None if headers is None else Headers(headers)

    return Codec(encode, decode, serde)


def aggregation_with_headers(serde: Serde[V]) -> Codec[AggregationWithHeaders[V]]:
    """Values with headers: the headers, then the value."""

    def encode(item: AggregationWithHeaders[V]) -> bytes:
        return join_headers(serde.serialize(item.aggregation), item.headers) or b""

    def decode(data: bytes) -> AggregationWithHeaders[V]:
        plain, headers = split_headers(data)
        return AggregationWithHeaders(serde.deserialize(plain or b""), Headers(headers or ()))

    return Codec(encode, decode, serde)
