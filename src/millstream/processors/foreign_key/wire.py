"""What the two sides of a foreign-key join send each other, and its binary forms (those of Kafka Streams).

    subscription   version (1) | instruction (1) | hash (16) | primary key | partition (4)
    response       version (1) | hash (16) | foreign value
    combined key   length of the foreign key (4) | foreign key | primary key

The hash is the Murmur3 hash (128 bits) of the left row. It goes to the right side and comes back, and tells whether the
row is still the one that was asked for. There is none for a deletion: the version then has its highest bit set. A
response without a foreign value ends after the hash, and so does one whose value has no bytes: it is read as None, as
in Kafka Streams.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from mmh3 import hash64

from millstream.errors import SerdeError
from millstream.serdes import AnySerde, Serde

_SEED = 104729
_LENGTH = struct.Struct(">i")
_HASH = struct.Struct(">qq")
_HASH_SIZE = 16
_NO_HASH = 0x80
_SUBSCRIPTION_VERSION = 1
_RESPONSE_VERSION = 0


class Instruction(IntEnum):
    """What a subscription asks of the right side."""

    #: Forget the subscription; no response.
    DELETE_NO_PROPAGATE = 0
    #: Forget the subscription and respond with no value.
    DELETE_AND_PROPAGATE = 1
    #: Keep the subscription and respond, with the foreign value or without one.
    PROPAGATE_NULL_IF_ABSENT = 2
    #: Keep the subscription and respond if there is a foreign value.
    PROPAGATE_ONLY_IF_PRESENT = 3


_INSTRUCTIONS = tuple(Instruction)


class SubscriptionWrapper(NamedTuple):
    """A left row's wish to know about a foreign key; it travels under that key."""

    hash: bytes | None
    instruction: Instruction
    primary_key: Any
    primary_partition: int | None


class ResponseWrapper(NamedTuple):
    """The answer; it travels under the primary key, to the left row's partition (which is not written)."""

    hash: bytes | None
    foreign_value: Any
    primary_partition: int | None = None


class CombinedKey(NamedTuple):
    """The key of a subscription, from its receipt to its join. The foreign key is None for rows without one."""

    foreign_key: Any
    primary_key: Any


def value_hash(data: bytes) -> bytes:
    """The hash of a serialised row.

    >>> value_hash(b"").hex()
    '9d2764a018e329428c3cf3b035938518'
    """
    return _HASH.pack(*hash64(data, _SEED, True))


def combined_prefix(foreign_key: bytes) -> bytes:
    r"""What the combined keys of a foreign key begin with.

    >>> combined_prefix(b"fk") + b"pk"
    b'\x00\x00\x00\x02fkpk'
    """
    return _LENGTH.pack(len(foreign_key)) + foreign_key


class SubscriptionWrapperSerde(Serde[SubscriptionWrapper]):
    """Subscriptions.

    Args:
        primary_key: the left table's key serde.
        primary_key_topic: the topic in whose name the primary key is written (serdes with a schema registry ask).
    """

    def __init__(self, primary_key: AnySerde, primary_key_topic: str) -> None:
        self._primary_key = primary_key.for_topic(primary_key_topic, True)
        self._topic = primary_key_topic
        super().__init__(self._write, self._read, immutable=primary_key.immutable, name="foreign-key subscription")

    def for_topic(self, topic: str, is_key: bool) -> Serde[SubscriptionWrapper]:
        """The subscriptions with the key serde of a topic that nobody sees, as Kafka Streams calls it."""
        key = self._primary_key.for_topic(f"{topic}-pk", True)
        return self if key is self._primary_key else SubscriptionWrapperSerde(key, f"{topic}-pk")

    def configured(self, settings: Mapping[str, object]) -> Serde[SubscriptionWrapper]:
        """The subscriptions with the key serde as it is under these settings."""
        key = self._primary_key.configured(settings)
        return self if key is self._primary_key else SubscriptionWrapperSerde(key, self._topic)

    def _write(self, subscription: SubscriptionWrapper) -> bytes:
        row_hash, instruction, primary_key, partition = subscription
        if row_hash is None:
            head = bytes((_SUBSCRIPTION_VERSION | _NO_HASH, instruction))
        else:
            head = bytes((_SUBSCRIPTION_VERSION, instruction)) + row_hash
        return head + self._primary_key.serialize(primary_key) + _LENGTH.pack(-1 if partition is None else partition)

    def _read(self, data: bytes) -> SubscriptionWrapper:
        version = data[0] & ~_NO_HASH
        if version > _SUBSCRIPTION_VERSION:
            raise _incompatible("subscription", version)
        instruction = _INSTRUCTIONS[data[1]]
        row_hash, at = (None, 2) if data[0] & _NO_HASH else (data[2 : 2 + _HASH_SIZE], 2 + _HASH_SIZE)
        if version == 0:  # written before 3.4: without a partition
            return SubscriptionWrapper(row_hash, instruction, self._primary_key.deserialize(data[at:]), None)
        primary_key = self._primary_key.deserialize(data[at:-4])
        return SubscriptionWrapper(row_hash, instruction, primary_key, _LENGTH.unpack_from(data, len(data) - 4)[0])


class ResponseWrapperSerde(Serde[ResponseWrapper]):
    """Responses, around the right table's values."""

    def __init__(self, value: AnySerde) -> None:
        self._value = value
        super().__init__(
            self._write, self._read, immutable=value.immutable, name=f"foreign-key response of {value.name}"
        )

    def for_topic(self, topic: str, is_key: bool) -> Serde[ResponseWrapper]:
        """The responses with the value serde of that topic."""
        value = self._value.for_topic(topic, is_key)
        return self if value is self._value else ResponseWrapperSerde(value)

    def configured(self, settings: Mapping[str, object]) -> Serde[ResponseWrapper]:
        """The responses with the value serde as it is under these settings."""
        value = self._value.configured(settings)
        return self if value is self._value else ResponseWrapperSerde(value)

    def _write(self, response: ResponseWrapper) -> bytes:
        row_hash, foreign_value, _ = response
        head = bytes((_RESPONSE_VERSION | _NO_HASH,)) if row_hash is None else bytes((_RESPONSE_VERSION,)) + row_hash
        return head if foreign_value is None else head + self._value.serialize(foreign_value)

    def _read(self, data: bytes) -> ResponseWrapper:
        version = data[0] & ~_NO_HASH
        if version != _RESPONSE_VERSION:
            raise _incompatible("response", version)
        row_hash, at = (None, 1) if data[0] & _NO_HASH else (data[1 : 1 + _HASH_SIZE], 1 + _HASH_SIZE)
        return ResponseWrapper(row_hash, self._value.deserialize(data[at:]) if len(data) > at else None)


def _incompatible(what: str, version: int) -> SerdeError:
    return SerdeError(
        f"a foreign-key {what} is of an incompatible version",
        detail=f"it has version {version}",
        hint="it was written by a newer release: upgrade this one",
    )
