"""Keys go where Kafka's clients send them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from millstream.kafka import partitioner
from millstream.kafka.partitioner import murmur2, partition_for, partition_many


@pytest.mark.parametrize(
    ("data", "expected"),
    [  # those of Kafka's own test
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected % 2**32


def test_many_at_once_and_one_by_one_agree() -> None:
    keys = [random.randbytes(random.randrange(20)) for _ in range(3000)] + [b"x" * 1000, b"y" * 1001]
    expected = [(murmur2(key) & 0x7FFFFFFF) % 7 for key in keys]
    assert partition_many(keys, 7) == expected
    assert partition_many(keys, 7) == expected
    assert [partition_for(key, 7) for key in keys] == expected
    assert partition_many([], 7) == []
    assert partition_many([None, keys[0], None], 7) == [0, expected[0], 0]


def test_the_memo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioner, "_MEMO_KEYS", 100)
    memo: dict[Any, Any] = {}
    monkeypatch.setattr(partitioner, "_memo", memo)
    for start in range(0, 1000, 30):
        keys = [b"%d" % number for number in range(start, start + 60)]
        assert partition_many(keys, 5) == [(murmur2(key) & 0x7FFFFFFF) % 5 for key in keys]
        partition_for(b"k%d" % start, 5)
        assert 0 < len(memo) <= 100
    assert partition_many([b"%d" % number for number in range(200)], 5)[21] == partition_for(b"21", 5)
    assert len(memo) <= 100
    partition_for(b"z" * 1000, 5)
    assert b"z" * 1000 not in memo


def test_as_librdkafka(
    make_topic: Callable[..., str], produce: Callable[..., None], consume: Callable[..., Any]
) -> None:
    keys = {random.randbytes(length) for length in range(1, 40) for _ in range(20)}
    keys |= {b"user-%d" % number for number in range(200)}
    topic = make_topic(7)
    produce(topic, [(key, b"") for key in keys])
    records = consume(topic)
    assert {record.key() for record in records} == keys
    assert [record.partition() for record in records] == partition_many([record.key() for record in records], 7)
