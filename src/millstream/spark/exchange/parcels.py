"""Records and reports on their way from one wave to the next, as bytes."""

from __future__ import annotations

from typing import Any

import msgspec

#: What lanes spend their time on, as they report it.
STAGES = ("read_s", "process_s", "save_s", "write_s")

_encode = msgspec.msgpack.Encoder().encode


class Bundle(msgspec.Struct, array_like=True):
    """Records of one task of one wave for one partition of a topic."""

    topic: str
    partition: int
    #: The wave and the place of the task that wrote them, as one number: bundles are merged in this order.
    origin: int
    records: list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]] | None, int]]


class Parcel(msgspec.Struct, array_like=True):
    """What one lane sends to another for a wave, or tells the driver (`wave` -1: statistics)."""

    wave: int
    batch: int
    now: int
    bundles: list[Bundle]
    statistics: dict[str, Any] = {}
    #: What the batch is, see `markers.content_of`.
    content: str = ""
    #: The membership of the application's owner, as the batch was given out.
    membership: bytes = b""


_parcel_decoder = msgspec.msgpack.Decoder(Parcel)


def pack(parcel: Parcel) -> bytes:
    """A parcel as bytes."""
    return _encode(parcel)


def unpack(data: bytes) -> Parcel:
    """A parcel from bytes."""
    return _parcel_decoder.decode(data)
