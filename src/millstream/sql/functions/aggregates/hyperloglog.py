"""Counting distinct values in little room: HyperLogLog with 2^14 registers.

A register has five bits, six registers share a word; the words are the aggregate. Words, hashes and estimate are those
of ksqlDB, so that its aggregates and these are the same.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

_REGISTERS_LOG2 = 14
_REGISTERS = 1 << _REGISTERS_LOG2
_PER_WORD = 6
_WORDS = _REGISTERS // _PER_WORD + 1
_BITS = 5
_LOW = 0x1F
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS) * _REGISTERS * _REGISTERS
_MASK = 0xFFFFFFFF
_FACTOR = 0x5BD1E995
_SEED = 0xE17A1465
# The last word has registers that are not used; they are always empty.
_UNUSED = _WORDS * _PER_WORD - _REGISTERS
_INVERSES = 0.5 ** np.arange(_LOW + 1)


def empty() -> list[int]:
    """The aggregate of nothing."""
    return [0] * _WORDS


def add(words: list[int], value: Any) -> list[int]:
    """The aggregate with one more value; the same one when that tells nothing new."""
    if value is None:
        return words
    hashed = _hash(value)
    register = hashed >> (32 - _REGISTERS_LOG2)
    # The place of the first bit that is set behind those of the register, counted from 1; a bit at the end stops it.
    rest = (hashed << _REGISTERS_LOG2 & _MASK) | (1 << (_REGISTERS_LOG2 - 1)) + 1
    rank = 33 - rest.bit_length()
    word, place = divmod(register, _PER_WORD)
    shift = place * _BITS
    kept = words[word]
    if (kept >> shift & _LOW) >= rank:
        return words
    changed = words.copy()
    changed[word] = kept & ~(_LOW << shift) | rank << shift
    return changed


def merge(one: list[int], other: list[int]) -> list[int]:
    """The aggregate of the values of both."""
    return [
        left if not right else right if not left else _larger(left, right)
        for left, right in zip(one, other, strict=True)
    ]


def _larger(left: int, right: int) -> int:
    word = 0
    for place in range(_PER_WORD):
        mask = _LOW << place * _BITS
        word |= max(left & mask, right & mask)
    return word


def cardinality(words: list[int]) -> int:
    """How many distinct values there were.

    >>> words = empty()
    >>> for value in ("a", "b", "a"):
    ...     words = add(words, value)
    >>> cardinality(words)
    2
    """
    used = np.array([word for word in words if word], dtype=np.int64)
    counts = np.zeros(_LOW + 1, dtype=np.int64)
    for place in range(_PER_WORD):
        counts += np.bincount(used >> place * _BITS & _LOW, minlength=_LOW + 1)
    counts[0] += (len(words) - len(used)) * _PER_WORD - _UNUSED
    zeros = int(counts[0])
    estimate = _ALPHA / float(counts @ _INVERSES)
    if estimate <= 2.5 * _REGISTERS and zeros:
        estimate = _REGISTERS * math.log(_REGISTERS / zeros)
    return math.floor(estimate + 0.5)


def _hash(value: Any) -> int:
    """MurmurHash 2, of numbers by their bits and of all else by its text."""
    if isinstance(value, bool):
        return _hash_bytes(b"true" if value else b"false")
    if isinstance(value, int):
        return _hash_long(value)
    if isinstance(value, float):
        return _hash_long(struct.unpack(">q", struct.pack(">d", value))[0])
    if isinstance(value, bytes):
        return _hash_bytes(value)
    return _hash_bytes(str(value).encode("utf-8", "surrogatepass"))


def _hash_long(value: int) -> int:
    low = value * _FACTOR & _MASK
    low ^= low >> 24
    mixed = low * _FACTOR & _MASK
    high = (value >> 32) * _FACTOR & _MASK
    high ^= high >> 24
    mixed = mixed * _FACTOR & _MASK
    mixed ^= high * _FACTOR & _MASK
    return _finish(mixed)


def _hash_bytes(data: bytes) -> int:
    length = len(data)
    mixed = _SEED ^ length
    whole = length & ~3
    for (chunk,) in struct.iter_unpack("<I", data[:whole]):
        part = chunk * _FACTOR & _MASK
        part ^= part >> 24
        part = part * _FACTOR & _MASK
        mixed = mixed * _FACTOR & _MASK ^ part
    left = length - whole
    if left:
        # Signed, the last byte lowest: as the library behind ksqlDB has it.
        for place in range(min(left, 3), 0, -1):
            byte = data[length - place]
            signed = byte - 256 if byte > 127 else byte
            mixed ^= signed << 8 * (place - 1) & _MASK
        mixed = mixed * _FACTOR & _MASK
    return _finish(mixed)


def _finish(mixed: int) -> int:
    mixed ^= mixed >> 13
    mixed = mixed * _FACTOR & _MASK
    return mixed ^ mixed >> 15
