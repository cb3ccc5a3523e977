"""The binary forms of a foreign-key join, and its subscription store."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import SerdeError
from millstream.processors.context import TaskContext
from millstream.processors.foreign_key import (
    Instruction,
    ResponseWrapper,
    ResponseWrapperSerde,
    SubscriptionStore,
    SubscriptionStoreBuilder,
    SubscriptionWrapper,
    SubscriptionWrapperSerde,
)
from millstream.processors.foreign_key.wire import value_hash
from millstream.serdes import Serdes

HASH = bytes(range(16))
SUBSCRIPTIONS = SubscriptionWrapperSerde(Serdes.string, "pk")
RESPONSES = ResponseWrapperSerde(Serdes.string)

_MASK = 2**64 - 1


def _rotate(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & _MASK


def _finish(h: int) -> int:
    h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD & _MASK
    h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53 & _MASK
    return h ^ (h >> 33)


def murmur3(data: bytes, seed: int) -> bytes:
    """Murmur3, 128 bits for 64-bit machines, written from its definition."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = seed
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", data, at)
        h1 = ((_rotate(h1 ^ _rotate(k1 * c1 & _MASK, 31) * c2 & _MASK, 27) + h2) * 5 + 0x52DCE729) & _MASK
        h2 = ((_rotate(h2 ^ _rotate(k2 * c2 & _MASK, 33) * c1 & _MASK, 31) + h1) * 5 + 0x38495AB5) & _MASK
    k1 = int.from_bytes(data[whole : whole + 8], "little")
    k2 = int.from_bytes(data[whole + 8 :], "little")
    h2 ^= _rotate(k2 * c2 & _MASK, 33) * c1 & _MASK
    h1 ^= _rotate(k1 * c1 & _MASK, 31) * c2 & _MASK
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    h1, h2 = _finish(h1), _finish(h2)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    return struct.pack(">QQ", h1, h2)


@pytest.mark.parametrize("length", range(40))
def test_the_hash_is_murmur3_with_the_seed_of_kafka_streams(length: int) -> None:
    data = bytes((7 * i + length) % 256 for i in range(length))
    assert value_hash(data) == murmur3(data, 104729)


@pytest.mark.parametrize(
    ("subscription", "data"),
    [
        (
            SubscriptionWrapper(HASH, Instruction.PROPAGATE_ONLY_IF_PRESENT, "pk", 5),
            b"\x01\x03" + HASH + b"pk\0\0\0\x05",
        ),
        (SubscriptionWrapper(None, Instruction.DELETE_AND_PROPAGATE, "pk", 0), b"\x81\x01pk\0\0\0\0"),
    ],
)
def test_subscriptions_have_the_layout_of_kafka_streams(subscription: SubscriptionWrapper, data: bytes) -> None:
    assert SUBSCRIPTIONS.serialize(subscription) == data
    assert SUBSCRIPTIONS.deserialize(data) == subscription


def test_subscriptions_of_the_first_version_have_no_partition() -> None:
    expected = SubscriptionWrapper(None, Instruction.DELETE_NO_PROPAGATE, "pk", None)
    assert SUBSCRIPTIONS.deserialize(b"\x80\x00pk") == expected


@pytest.mark.parametrize(
    ("response", "data"),
    [
        (ResponseWrapper(HASH, "value", 5), b"\x00" + HASH + b"value"),
        (ResponseWrapper(None, None, 5), b"\x80"),
        (ResponseWrapper(HASH, None, 5), b"\x00" + HASH),
    ],
)
def test_responses_have_the_layout_of_kafka_streams(response: ResponseWrapper, data: bytes) -> None:
    assert RESPONSES.serialize(response) == data
    assert RESPONSES.deserialize(data) == response._replace(primary_partition=None)


def test_a_foreign_value_of_no_bytes_arrives_as_none() -> None:
    assert RESPONSES.deserialize(RESPONSES.serialize(ResponseWrapper(HASH, ""))).foreign_value is None


@pytest.mark.parametrize(("serde", "data"), [(SUBSCRIPTIONS, b"\x02\x00"), (RESPONSES, b"\x01")])
def test_newer_versions_are_refused(serde: Any, data: bytes) -> None:
    with pytest.raises(SerdeError, match="incompatible version"):
        serde.deserialize(data)


def open_store(directory: Path | None, logging: bool = True) -> SubscriptionStore:
    store = SubscriptionStoreBuilder("s", Serdes.string, Serdes.long, logging).build()
    store.init(TaskContext(state_directory=directory))
    return store


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_subscription_store_lists_subscribers_by_primary_key(tmp_path: Path, on_disk: bool) -> None:
    store = open_store(tmp_path if on_disk else None)
    subscriptions = {
        key: SubscriptionWrapper(HASH, Instruction.PROPAGATE_NULL_IF_ABSENT, key, 0) for key in (2, 300, 1)
    }
    for key, subscription in subscriptions.items():
        store.put("fk", key, subscription, key)
        store.put("f", key, subscription, key)
    store.delete("fk", 2)
    store.delete("fk", 4)
    assert [each.primary_key for each in store.subscribers("fk")] == [1, 300]
    assert [each.primary_key for each in store.subscribers("f")] == [1, 2, 300]
    assert list(store.subscribers("none")) == []
    assert store.get("fk", 300) == (subscriptions[300], 300)
    assert store.get("fk", 2) is None
    store.flush()
    store.close()


def test_a_subscription_store_can_be_rebuilt_from_its_log_and_from_a_snapshot() -> None:
    store, rebuilt, copied = open_store(None), open_store(None), open_store(None)
    subscription = SubscriptionWrapper(HASH, Instruction.PROPAGATE_NULL_IF_ABSENT, 1, 0)
    store.put("fk", 1, subscription, 9)
    store.delete("fk", 2)
    changes = store.take_changes()
    key = b"\0\0\0\x02fk" + b"\0" * 7
    value = (9).to_bytes(8, "big") + b"\x01\x02" + HASH + (1).to_bytes(8, "big") + b"\0\0\0\0"
    assert changes == {key + b"\x01": value, key + b"\x02": None}
    assert store.take_changes() == {}
    rebuilt.apply_changes(changes.items())
    copied.apply_changes(store.snapshot())
    assert list(rebuilt.subscribers("fk")) == list(copied.subscribers("fk")) == [subscription]


def test_an_unlogged_subscription_store_keeps_no_changes() -> None:
    store = open_store(None, logging=False)
    store.put("fk", 1, SubscriptionWrapper(HASH, Instruction.PROPAGATE_NULL_IF_ABSENT, 1, 0), 9)
    store.delete("fk", 1)
    assert store.take_changes() == {}
