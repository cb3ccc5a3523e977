"""The bytes between processes: length-prefixed MessagePack frames on a socket, and records in an exchange."""

from __future__ import annotations

import socket
import struct
from itertools import accumulate
from typing import Any

import msgspec

from millstream.task.records import RawRecord

_LENGTH = struct.Struct(">Q")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


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


_parcel_decoder = msgspec.msgpack.Decoder(Parcel)


def pack(parcel: Parcel) -> bytes:
    """A parcel as bytes."""
    return _encode(parcel)


def unpack(data: bytes) -> Parcel:
    """A parcel from bytes."""
    return _parcel_decoder.decode(data)


def merged(parcels: list[Parcel]) -> dict[tuple[str, int], list[RawRecord]]:
    """The records of all parcels by topic and partition, in the same order however tasks were spread over lanes."""
    bundles: dict[tuple[str, int], list[Bundle]] = {}
    for parcel in parcels:
        for bundle in parcel.bundles:
            bundles.setdefault((bundle.topic, bundle.partition), []).append(bundle)
    # Sorted: in which order parcels arrive is chance, and tasks take partitions with equal times in this order.
    return {place: _by_time(bundles[place]) for place in sorted(bundles)}


def _by_time(bundles: list[Bundle]) -> list[RawRecord]:
    """One sequence of several: by time, so that no origin's records look late only because they came second.

    Each origin's records stay in their order; for that, a record counts as late as the latest before it.
    """
    if len(bundles) == 1:
        return bundles[0].records
    bundles.sort(key=lambda bundle: bundle.origin)
    records: list[RawRecord] = []
    times: list[int] = []
    for bundle in bundles:
        records += bundle.records
        times += accumulate((record[2] for record in bundle.records), max)
    return [records[index] for index in sorted(range(len(records)), key=times.__getitem__)]


def send(connection: socket.socket, message: Any) -> None:
    """Send one frame."""
    data = _encode(message)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> Any:
    """The next frame; None when the other side is gone."""
    header = _read(connection, _LENGTH.size)
    if header is None:
        return None
    body = _read(connection, _LENGTH.unpack(header)[0])
    return None if body is None else _decode(body)


def _read(connection: socket.socket, count: int) -> bytes | None:
    buffer = bytearray(count)
    view = memoryview(buffer)
    done = 0
    while done < count:
        got = connection.recv_into(view[done:])
        if got == 0:
            return None
        done += got
    return bytes(buffer)
