"""Answers as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from millstream.records import Windowed
from millstream.views.answers import (
    Answer,
    AnsweredBy,
    Instance,
    KeyMetadata,
    PartitionLag,
    Row,
    StoreDescription,
    StoreMetadata,
)


def encode(shown: Any) -> bytes:
    """As JSON: bytes as base64, dataclasses and structs as objects, times as ISO 8601, other objects as their text."""
    return _encoder.encode(shown)


def headers(body: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that is encoded."""
    return [
        (b"cache-control", b"no-store"),
        (b"content-length", str(len(body)).encode()),
        (b"content-type", b"application/json"),
    ]


def row(found: Row) -> dict[str, Any]:
    """One entry of a store; what its kind of store does not have is left out."""
    shown: dict[str, Any] = {"key": _plain(found.key), "value": _plain(found.value)}
    if found.timestamp is not None:
        shown["timestamp"] = found.timestamp
    if found.window is not None:
        shown["window"] = {"start": found.window.start, "end": found.window.end}
    if found.valid_to is not None:
        shown["valid_to"] = found.valid_to
    return shown


def standing(answer: Answer) -> dict[str, Any]:
    """How far and from where an answer is."""
    return {
        "position": answer.position.offsets,
        "lag": lags(answer.lags),
        "answered_by": {partition: _answered_by(by) for partition, by in answer.answered_by.items()},
    }


def of_one(partition: int, topic: str, lag: PartitionLag, by: AnsweredBy) -> dict[str, Any]:
    """The same, of an answer of one partition."""
    return {
        "position": {topic: {partition: lag.position}},
        "lag": {partition: _lag(lag)},
        "answered_by": {partition: _answered_by(by)},
    }


def lags(found: Mapping[int, PartitionLag]) -> dict[int, dict[str, Any]]:
    """How far copies of partitions are behind."""
    return {partition: _lag(lag) for partition, lag in found.items()}


def store(found: StoreDescription) -> dict[str, Any]:
    """A store that can be asked."""
    shown = {
        "name": found.name,
        "kind": found.kind.value,
        "topic": found.topic,
        "partitions": found.partitions,
        "global": found.is_global,
    }
    if found.window_size_ms is not None:
        shown["window_size_ms"] = found.window_size_ms
    return shown


def instance(found: Instance) -> dict[str, Any]:
    """An instance."""
    return {"id": found.id, "host": found.host, "port": found.port}


def key_metadata(found: KeyMetadata) -> dict[str, Any]:
    """Where a key is."""
    return {
        "partition": found.partition,
        "active": None if found.active is None else instance(found.active),
        "standbys": [instance(standby) for standby in found.standbys],
    }


def store_metadata(found: StoreMetadata) -> dict[str, Any]:
    """What an instance has of a store."""
    return {
        "instance": instance(found.instance),
        "partitions": sorted(found.partitions),
        "standby_partitions": sorted(found.standby_partitions),
    }


def _lag(found: PartitionLag) -> dict[str, Any]:
    return {"records": found.records, "position": found.position, "end": found.end, "stale_ms": found.stale_ms}


def _answered_by(found: AnsweredBy) -> dict[str, Any]:
    return {"instance": found.instance, "standby": found.is_standby}


def _plain(value: Any) -> Any:
    """A key or a value in a form that JSON has; most are as they are."""
    if isinstance(value, Windowed):
        return {"key": _plain(value.key), "start": value.window.start, "end": value.window.end}
    return value


_encoder = msgspec.json.Encoder(enc_hook=str)
