"""Change segments: the changes of a store as one piece of bytes.

    magic      4  "MSSG"
    version    1  2
    flags      1  0
    reserved   2  0
    count      4  number of entries
    keys       4  bytes of all keys
    values     8  bytes of all values
    lengths of the keys      4 * count
    lengths of the values    4 * count, 0xFFFFFFFF: no value, the key is deleted
    the keys, then the values

Numbers are little-endian. Entries are in the order in which the keys were first written; a key is there once. There is
no checksum here: whoever stores a segment has one over all that is stored (`millstream.spark.state.stateformat`).
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from struct import Struct
from struct import error as StructError

from millstream.errors import StateStoreError
from millstream.state.store import LogEntry

_MAGIC = b"MSSG"
_VERSION = 2
_HEADER = Struct("<4sBBHIIQ")
_DELETED = 0xFFFFFFFF
_LENGTH = "I"


def encode(changes: Mapping[bytes, bytes | None] | Iterable[LogEntry]) -> bytes:
    """Changes as a segment.

    >>> decode(encode({b"a": b"1", b"b": None}))
    [(b'a', b'1'), (b'b', None)]
    """
    if not isinstance(changes, Mapping):
        changes = dict(changes)
    keys = b"".join(changes)
    key_lengths = array(_LENGTH, map(len, changes))
    value_lengths = array(_LENGTH, [_DELETED if value is None else len(value) for value in changes.values()])
    values = b"".join([value for value in changes.values() if value is not None])
    if sys.byteorder == "big":
        key_lengths.byteswap()
        value_lengths.byteswap()
    header = _HEADER.pack(_MAGIC, _VERSION, 0, 0, len(key_lengths), len(keys), len(values))
    return b"".join((header, key_lengths.tobytes(), value_lengths.tobytes(), keys, values))


def decode(segment: bytes) -> list[LogEntry]:
    """The changes in a segment.

    Raises:
        StateStoreError: it is not a segment, of another version, or not whole.
    """
    try:
        magic, version, _, _, count, key_bytes, value_bytes = _HEADER.unpack_from(segment)
    except StructError:
        raise _damaged("it is too short") from None
    if magic != _MAGIC:
        raise _damaged("it does not begin as a segment does")
    if version != _VERSION:
        raise StateStoreError(
            "a change segment has a version that is not known here",
            detail=f"version {version}; this Millstream reads {_VERSION}",
            hint="the state was written by another Millstream: use that one",
        )
    body = memoryview(segment)[_HEADER.size :]
    if len(body) != 8 * count + key_bytes + value_bytes:
        raise _damaged("its length does not fit")
    key_lengths, value_lengths = array(_LENGTH), array(_LENGTH)
    key_lengths.frombytes(body[: 4 * count])
    value_lengths.frombytes(body[4 * count : 8 * count])
    if sys.byteorder == "big":
        key_lengths.byteswap()
        value_lengths.byteswap()
    keys = bytes(body[8 * count : 8 * count + key_bytes])
    values = bytes(body[8 * count + key_bytes :])
    return list(zip(_cut(keys, key_lengths), _cut_values(values, value_lengths), strict=True))


def _cut(data: bytes, lengths: array[int]) -> Iterator[bytes]:
    start = 0
    for end in accumulate(lengths):
        yield data[start:end]
        start = end


def _cut_values(data: bytes, lengths: array[int]) -> Iterator[bytes | None]:
    start = 0
    for length in lengths:
        if length == _DELETED:
            yield None
        else:
            end = start + length
            yield data[start:end]
            start = end


def merge(segments: Iterable[bytes], *, base: bool = False) -> bytes:
    """Several segments as one, the oldest first: the last write of a key counts.

    Deletions are kept, as older segments may have the key.

    Args:
        segments: the segments, from a base (if there is one) on, without a gap.
        base: the first segment is a base, with nothing before it: deletions are left out.
    """
    merged: dict[bytes, bytes | None] = {}
    for segment in segments:
        merged.update(decode(segment))
    if base:
        return encode({key: value for key, value in merged.items() if value is not None})
    return encode(merged)


def _damaged(why: str) -> StateStoreError:
    return StateStoreError(
        "a change segment is damaged",
        detail=why,
        hint="restore the checkpoint it belongs to from a copy, or reset the application",
    )
