"""Windowed keys in Kafka's layouts.

    time windows:     key | start (8)
    session windows:  key | end (8) | start (8)

A time window's end is not stored: it is the start plus the size the serde was given, or unknown.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeVar

from millstream.errors import SerdeError
from millstream.records import MAX_TIMESTAMP, Window, Windowed
from millstream.serdes.serde import Serde, shorten

T = TypeVar("T")

_ONE = struct.Struct(">q")
_TWO = struct.Struct(">qq")


class WindowedSerde(Serde[Windowed[T]]):
    """A windowed key; `inner` is the serde of the key alone, by whose bytes sinks choose the partition."""

    def __init__(
        self,
        inner: Serde[T],
        serialize: Callable[[Windowed[T]], bytes],
        deserialize: Callable[[bytes], Windowed[T]],
        *,
        hashable: bool,
        name: str,
    ) -> None:
        super().__init__(serialize, deserialize, hashable=hashable, immutable=inner.immutable, name=name)
        self.inner = inner

    def serialization_error(self, data: object, cause: BaseException) -> SerdeError:
        """What to raise after `serialize(data)` raised `cause`: is it the key, or is there no window?"""
        if isinstance(data, Windowed):
            return self.inner.serialization_error(data.key, cause)
        return SerdeError(
            f"the {self.name} serde cannot write a value of type {type(data).__name__}",
            detail=f"it takes a windowed key; this is {shorten(data)}",
            hint="give the serde of the plain key, or do not take the window off the key",
        )


class TimeWindowedSerde(WindowedSerde[T]):
    """A key in a time window of `size_ms`; None: the size is unknown, and every window ends at the end of time."""

    def __init__(self, inner: Serde[T], size_ms: int | None = None) -> None:
        pack, unpack_from = _ONE.pack, _ONE.unpack_from
        serialize_key, deserialize_key = inner.serialize, inner.deserialize
        span = MAX_TIMESTAMP if size_ms is None else size_ms

        def serialize(windowed: Windowed[T]) -> bytes:
            try:
                key, window = windowed
                return serialize_key(key) + pack(window[0])
            except (TypeError, ValueError, IndexError, AttributeError, struct.error) as error:
                raise self.serialization_error(windowed, error) from error

        def deserialize(data: bytes) -> Windowed[T]:
            try:
                (start,) = unpack_from(data, len(data) - 8)
            except struct.error:
                raise _too_short(self, data, 8) from None
            end = start + span
            return Windowed(deserialize_key(data[:-8]), Window(start, end if end < MAX_TIMESTAMP else MAX_TIMESTAMP))

        # Not hashable: the end is part of the object, not of the bytes.
        super().__init__(inner, serialize, deserialize, hashable=False, name=f"time_windowed({inner.name})")
        self.size_ms = size_ms

    def for_topic(self, topic: str, is_key: bool) -> Serde[Windowed[T]]:
        """The same with the inner serde for that topic."""
        inner = self.inner.for_topic(topic, is_key)
        return self if inner is self.inner else TimeWindowedSerde(inner, self.size_ms)

    def configured(self, settings: Mapping[str, object]) -> Serde[Windowed[T]]:
        """The same with the inner serde as it is under these settings."""
        inner = self.inner.configured(settings)
        return self if inner is self.inner else TimeWindowedSerde(inner, self.size_ms)


class SessionWindowedSerde(WindowedSerde[T]):
    """A key in a session."""

    def __init__(self, inner: Serde[T]) -> None:
        pack, unpack_from = _TWO.pack, _TWO.unpack_from
        serialize_key, deserialize_key = inner.serialize, inner.deserialize

        def serialize(windowed: Windowed[T]) -> bytes:
            try:
                key, (start, end) = windowed
                return serialize_key(key) + pack(end, start)
            except (TypeError, ValueError, AttributeError, struct.error) as error:
                raise self.serialization_error(windowed, error) from error

        def deserialize(data: bytes) -> Windowed[T]:
            try:
                end, start = unpack_from(data, len(data) - 16)
            except struct.error:
                raise _too_short(self, data, 16) from None
            return Windowed(deserialize_key(data[:-16]), Window(start, end))

        super().__init__(inner, serialize, deserialize, hashable=inner.hashable, name=f"session_windowed({inner.name})")

    def for_topic(self, topic: str, is_key: bool) -> Serde[Windowed[T]]:
        """The same with the inner serde for that topic."""
        inner = self.inner.for_topic(topic, is_key)
        return self if inner is self.inner else SessionWindowedSerde(inner)

    def configured(self, settings: Mapping[str, object]) -> Serde[Windowed[T]]:
        """The same with the inner serde as it is under these settings."""
        inner = self.inner.configured(settings)
        return self if inner is self.inner else SessionWindowedSerde(inner)


def _too_short(serde: WindowedSerde[T], data: bytes, least: int) -> SerdeError:
    return SerdeError(
        f"the {serde.name} serde cannot read {len(data)} bytes",
        detail=f"the window alone has {least}; these are {shorten(data)}",
        hint="give the serde of a plain key if the keys have no window",
    )
