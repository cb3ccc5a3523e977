"""How the suppress buffer logs a held-back update.

The log key is the serialised table key. The log value, all numbers big-endian:

    version         1 byte    1
    buffer time     8 bytes   the update's place in the buffer
    timestamp       8 bytes   of the latest update, like all that follows
    offset          8 bytes
    partition       4 bytes
    topic           block     UTF-8; absent for a record that a punctuation made
    header count    4 bytes
    headers         two blocks each: the name in UTF-8, the value
    prior value     block     what the table held before the first held-back update
    old value       block     length -2: the same as the prior value
    new value       block

A block is a length of 4 bytes and that many bytes; length -1: there is none.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from millstream.errors import StateStoreError
from millstream.records import Headers

_VERSION = 1
_HEAD = struct.Struct(">Bqqqi")
_LENGTH = struct.Struct(">i")
_ABSENT = -1
_SAME_AS_PRIOR = -2


class LoggedUpdate(NamedTuple):
    """A held-back update as the log has it: values are serialised."""

    buffer_time: int
    timestamp: int
    offset: int
    partition: int
    topic: str | None
    headers: Headers | None
    prior: bytes | None
    old: bytes | None
    new: bytes | None


def encode(update: LoggedUpdate) -> bytes:
    """The log value of an update."""
    parts = [_HEAD.pack(_VERSION, update.buffer_time, update.timestamp, update.offset, update.partition)]
    _put(parts, None if update.topic is None else update.topic.encode())
    headers = update.headers or ()
    parts.append(_LENGTH.pack(len(headers)))
    for name, value in headers:
        _put(parts, name.encode())
        _put(parts, value)
    _put(parts, update.prior)
    if update.old is not None and update.old == update.prior:
        parts.append(_LENGTH.pack(_SAME_AS_PRIOR))
    else:
        _put(parts, update.old)
    _put(parts, update.new)
    return b"".join(parts)


def decode(data: bytes) -> LoggedUpdate:
    """The update of a log value."""
    version, buffer_time, timestamp, offset, partition = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise StateStoreError(
            "a suppress buffer's log has an unknown layout",
            detail=f"version {version}; this release reads {_VERSION}",
            hint="it was written by a later release of Millstream",
        )
    topic, position = _take(data, _HEAD.size)
    (count,) = _LENGTH.unpack_from(data, position)
    position += _LENGTH.size
    headers = []
    for _ in range(count):
        name, position = _take(data, position)
        value, position = _take(data, position)
        headers.append(((name or b"").decode(), value))
    prior, position = _take(data, position)
    if _LENGTH.unpack_from(data, position)[0] == _SAME_AS_PRIOR:
        old = prior
        position += _LENGTH.size
    else:
        old, position = _take(data, position)
    new, _ = _take(data, position)
    return LoggedUpdate(
        buffer_time,
        timestamp,
        offset,
        partition,
        None if topic is None else topic.decode(),
        Headers(headers) if headers else None,
        prior,
        old,
        new,
    )


def _put(parts: list[bytes], block: bytes | None) -> None:
    if block is None:
        parts.append(_LENGTH.pack(_ABSENT))
    else:
        parts.append(_LENGTH.pack(len(block)))
        parts.append(block)


def _take(data: bytes, position: int) -> tuple[bytes | None, int]:
    (length,) = _LENGTH.unpack_from(data, position)
    position += _LENGTH.size
    if length == _ABSENT:
        return None, position
    return data[position : position + length], position + length
