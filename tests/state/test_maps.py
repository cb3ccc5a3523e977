"""Ordered maps of bytes, against a sorted dict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.state.backends.maps import LruMap, MemoryMap, OrderedMap
from millstream.state.backends.rocksdb import RocksMap
from millstream.state.layout import after, after_prefix

KEYS = st.binary(max_size=2).map(lambda key: bytes(b % 4 * 85 for b in key))
BOUNDS = st.none() | KEYS
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.binary(max_size=3)),
        st.tuples(st.just("delete"), KEYS),
        st.tuples(st.just("get"), KEYS),
        st.tuples(st.just("range"), BOUNDS, BOUNDS, st.booleans()),
        st.tuples(st.just("sync")),
        st.tuples(st.just("write"), st.dictionaries(KEYS, st.none() | st.binary(max_size=2), max_size=4)),
    ),
    max_size=25,
)


def check(subject: OrderedMap, steps: list[Any]) -> None:
    model: dict[bytes, bytes] = {}
    for step in steps:
        match step:
            case "put", key, value:
                subject.put(key, value)
                model[key] = value
            case "delete", key:
                subject.delete(key)
                model.pop(key, None)
            case "get", key:
                assert subject.get(key) == model.get(key)
            case "range", low, high, reverse:
                expected = [
                    item
                    for item in sorted(model.items(), reverse=reverse)
                    if (low is None or low <= item[0]) and (high is None or item[0] < high)
                ]
                assert list(subject.range(low, high, reverse)) == expected
            case ("sync",):
                subject.sync()
            case "write", entries:
                subject.write(entries.items())
                model.update(entries)
                model = {key: value for key, value in model.items() if value is not None}
    assert list(subject.range(None, None)) == sorted(model.items())


@given(STEPS)
@settings(max_examples=150, deadline=None)
def test_a_memory_map_is_a_sorted_dict(steps: list[Any]) -> None:
    check(MemoryMap(), steps)


@given(STEPS)
@settings(max_examples=100, deadline=None)
def test_a_roomy_lru_map_is_one_too(steps: list[Any]) -> None:
    check(LruMap(1000, lambda key: None), steps)


def test_a_rocksdb_map_is_one_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    subject = RocksMap(str(tmp_path_factory.mktemp("map")))

    @given(STEPS)
    @settings(max_examples=100, deadline=None)
    def run(steps: list[Any]) -> None:
        subject.write([(key, None) for key, _ in subject.range(None, None)])
        check(subject, steps)

    run()
    subject.close()


def test_what_was_written_is_there_after_reopening(tmp_path: Any) -> None:
    subject = RocksMap(str(tmp_path / "store"))
    subject.put(b"a", b"1")
    subject.close()
    again = RocksMap(str(tmp_path / "store"))
    assert again.get(b"a") == b"1"
    assert len(again) == 1
    again.close()


def test_writing_while_iterating() -> None:
    subject = MemoryMap()
    subject.write([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])
    seen = []
    for key, _ in subject.range(None, None):
        seen.append(key)
        subject.delete(b"b")
        subject.put(b"d", b"4")
    assert seen == [b"a", b"c"]


def test_the_least_recently_used_makes_room() -> None:
    evicted: list[bytes] = []
    subject = LruMap(2, evicted.append)
    subject.put(b"a", b"1")
    subject.put(b"b", b"2")
    subject.get(b"a")
    subject.put(b"c", b"3")
    assert evicted == [b"b"]
    subject.put(b"a", b"4")
    subject.put(b"d", b"5")
    assert evicted == [b"b", b"c"]
    assert list(subject.recency()) == [(b"a", b"4"), (b"d", b"5")]


@given(st.binary(max_size=4), st.binary(max_size=4))
def test_key_bounds(prefix: bytes, key: bytes) -> None:
    end = after_prefix(prefix)
    assert key.startswith(prefix) == (prefix <= key and (end is None or key < end))
    assert (key < after(prefix)) == (key <= prefix)
