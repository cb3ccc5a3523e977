"""Kafka's default partitioner: which partition a record with a key belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from struct import unpack_from

import numpy as np

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C
_MEMO_KEYS = 100_000
_MEMO_KEY_BYTES = 256  # longer keys are not remembered, so that the memo's size is bounded
_VECTOR_KEYS = 32  # from this many new keys of one length on, numpy is faster

_memo: dict[bytes | None, int] = {}


def murmur2(data: bytes) -> int:
    """Kafka's murmur2, as an unsigned number of 32 bits.

    >>> hex(murmur2(b"21"))
    '0xc5f2f8ec'
    """
    length = len(data)
    h = _SEED ^ length
    blocks = length >> 2
    for k in unpack_from(f"<{blocks}I", data):
        k = k * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    tail = data[blocks << 2 :]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_for(key: bytes, partitions: int) -> int:
    """The partition of a key.

    >>> partition_for(b"alice", 4)
    1
    """
    found = _memo.get(key)
    if found is None:
        found = murmur2(key) & 0x7FFFFFFF
        _remember({key: found})
    return found % partitions


def partition_many(keys: Sequence[bytes | None], partitions: int) -> list[int]:
    """The partitions of many keys, in their order; 0 for those that are None.

    >>> partition_many([b"alice", b"bob"], 4)
    [1, 2]
    """
    memo = _memo
    try:
        return [memo[key] % partitions for key in keys]
    except KeyError:
        pass
    new = _hashed({key for key in keys if key is not None and key not in memo})
    known: dict[bytes | None, int] = {None: 0}
    known.update((key, memo[key]) for key in keys if key in memo)
    known.update(new.items())
    _remember(new)
    return [known[key] % partitions for key in keys]


def _remember(new: dict[bytes, int]) -> None:
    if len(_memo) + len(new) > _MEMO_KEYS:
        _memo.clear()  # what is used often is soon back
        if len(new) > _MEMO_KEYS:
            return
    _memo.update((key, value) for key, value in new.items() if len(key) <= _MEMO_KEY_BYTES)


def _hashed(keys: set[bytes]) -> dict[bytes, int]:
    by_length: dict[int, list[bytes]] = {}
    for key in keys:
        by_length.setdefault(len(key), []).append(key)
    found: dict[bytes, int] = {}
    for length, group in by_length.items():
        if len(group) < _VECTOR_KEYS:
            found.update((key, murmur2(key) & 0x7FFFFFFF) for key in group)
        else:
            found.update(zip(group, _hash_columns(group, length), strict=True))
    return found


def _hash_columns(keys: list[bytes], length: int) -> list[int]:
    """The hashes of keys that are equally long: one block of all keys at a time, in numbers that wrap by themselves."""
    table = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), length)
    blocks = length >> 2
    words = np.ascontiguousarray(table[:, : blocks << 2]).view("<u4")
    m = np.uint32(_M)
    h = np.full(len(keys), _SEED ^ length, np.uint32)
    for column in range(blocks):
        k = words[:, column] * m
        k ^= k >> 24
        k *= m
        h *= m
        h ^= k
    if length & 3:
        for position in range(blocks << 2, length):
            h ^= table[:, position].astype(np.uint32) << (8 * (position & 3))
        h *= m
    h ^= h >> 13
    h *= m
    h ^= h >> 15
    h &= 0x7FFFFFFF
    result: list[int] = h.tolist()
    return result
