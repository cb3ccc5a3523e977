"""The store of unmatched records of stream-stream joins."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millstream.processors.joins import OuterJoinStore, OuterJoinStoreBuilder
from millstream.serdes import Serdes


def make(logging: bool = True) -> OuterJoinStore:
    return OuterJoinStoreBuilder("s", Serdes.string, Serdes.string, Serdes.long, logging).build()


def content(store: OuterJoinStore) -> list[tuple[int, bool, Any, list[Any]]]:
    return [(entry.timestamp, entry.left, entry.key, list(store.values(entry))) for entry in store.scan()]


def test_entries_are_ordered_by_time_then_right_before_left_then_key() -> None:
    store = make()
    store.add(5, True, "b", "x")
    store.add(5, True, "a", "x")
    store.add(5, False, "z", 1)
    store.add(5, False, "z", 2)
    store.add(1, True, "z", "y")
    assert content(store) == [
        (1, True, "z", ["y"]),
        (5, False, "z", [1, 2]),
        (5, True, "a", ["x"]),
        (5, True, "b", ["x"]),
    ]


def test_the_log_has_the_layout_of_kafka_streams() -> None:
    store = make()
    store.add(1, True, "k", "a")
    store.add(1, True, "k", "b")
    store.add(2, False, "k", 7)
    store.add(3, False, "k", 8)
    store.discard(3, False, b"k")
    store.discard(4, False, b"k")
    assert store.take_changes() == {
        b"\0\0\0\0\0\0\0\x01\x01k": b"\x01\0\0\0\x02" + b"\0\0\0\x02\x01a" + b"\0\0\0\x02\x01b",
        b"\0\0\0\0\0\0\0\x02\x00k": b"\x01\0\0\0\x01" + b"\0\0\0\x09\x00" + (7).to_bytes(8, "big"),
        b"\0\0\0\0\0\0\0\x03\x00k": None,
    }
    assert store.take_changes() == {}


def test_an_unlogged_store_keeps_no_changes() -> None:
    store = make(logging=False)
    store.add(1, True, "k", "a")
    store.discard(1, True, b"k")
    assert not store.logged
    assert store.take_changes() == {}


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.sampled_from("ab"), st.booleans())), st.integers())
def test_any_mix_of_writes_reads_like_a_sorted_dict_and_can_be_rebuilt(
    steps: list[tuple[int, bool, str, bool]], seed: int
) -> None:
    shuffle = random.Random(seed)
    store, rebuilt = make(), make()
    expected: dict[tuple[int, bool, str], list[Any]] = {}
    for number, (time, left, key, add) in enumerate(steps):
        if add:
            value: Any = str(number) if left else number
            store.add(time, left, key, value)
            expected.setdefault((time, left, key), []).append(value)
        else:
            store.discard(time, left, key.encode())
            expected.pop((time, left, key), None)
        if shuffle.random() < 0.3:
            store._trimmed_order()
            rebuilt.apply_changes(store.take_changes().items())
    rows = [(*row, values) for row, values in sorted(expected.items())]
    assert content(store) == rows
    rebuilt.apply_changes(store.take_changes().items())
    assert content(rebuilt) == rows
    from_snapshot = make()
    from_snapshot.apply_changes(store.snapshot())
    assert content(from_snapshot) == rows


def test_many_entries_that_come_and_go_do_not_stay_in_the_order() -> None:
    store = make()
    store.add(0, True, "stays", "x")
    for time in range(10_000):
        store.add(time, True, "k", "x")
        store.discard(time, True, b"k")
        if time % 100 == 0:
            assert len(content(store)) == 1
    assert len(store._order) < 500
