"""Key-value stores, against a plain model and in their corners."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.errors import ArgumentError, SerdeError
from millstream.records import Headers, ValueAndTimestamp
from millstream.serdes import Serde, Serdes
from millstream.state import LATEST, StoreBuilder, StoreKind, Stores, StoreSupplier

# Strings that are told apart by their bytes only: keys for which the cache cannot use the objects.
BY_BYTES = Serde(str.encode, lambda data: data.decode(), immutable=True)
KEYS = st.text("ab\x00", max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.none() | st.integers(0, 5)),
        st.tuples(st.just("put_if_absent"), KEYS, st.none() | st.integers(0, 5)),
        st.tuples(st.just("delete"), KEYS),
        st.tuples(st.just("get"), KEYS),
        st.tuples(st.just("range"), st.none() | KEYS, st.none() | KEYS, st.booleans()),
        st.tuples(st.just("prefix"), KEYS),
        st.tuples(st.just("flush")),
    ),
    max_size=25,
)
VARIANTS = [
    (backend, cache, timestamped, key)
    for backend in ("memory", "rocksdb", "tiered")
    for cache in (0, 1024, 1 << 20)
    for timestamped in (False, True)
    for key in (Serdes.string, BY_BYTES)
    if key is Serdes.string or cache
]


def builder(kind: StoreKind, key: Any = Serdes.string, *, caching: bool = True, **options: Any) -> StoreBuilder:
    return StoreBuilder("kv", kind, StoreSupplier("kv", **options), key, Serdes.long, caching=caching)


class Model:
    """A dict, and what a flush has to tell."""

    def __init__(self) -> None:
        self.now: dict[str, Any] = {}
        self.flushed: dict[str, Any] = {}
        self.dirty: dict[str, Any] = {}

    def put(self, key: str, value: Any) -> None:
        self.now.pop(key, None)
        if value is not None:
            self.now[key] = value
        self.dirty.pop(key, None)
        self.dirty[key] = value

    def flush(self) -> list[Any]:
        told = []
        for key, value in self.dirty.items():
            old = self.flushed.pop(key, None)
            if value is not None:
                self.flushed[key] = value
            if value is not None or old is not None:
                told.append((key, value, old))
        self.dirty.clear()
        return told


def run(store: Any, steps: list[Any], timestamped: bool) -> None:
    model = Model()
    told: list[Any] = []
    store.set_flush_listener(lambda key, new, old, timestamp, headers: told.append((key, new, old)), True)
    wrap = (
        (lambda value: None if value is None else ValueAndTimestamp(value, 7)) if timestamped else lambda value: value
    )

    def matching(test: Any) -> list[Any]:
        return [(key, wrap(value)) for key, value in sorted(model.now.items()) if test(key)]

    for step in steps:
        match step:
            case "put", key, value:
                store.put(key, wrap(value))
                model.put(key, value)
            case "put_if_absent", key, value:
                assert store.put_if_absent(key, wrap(value)) == wrap(model.now.get(key))
                if key not in model.now:
                    model.put(key, value)
            case "delete", key:
                assert store.delete(key) == wrap(model.now.get(key))
                model.put(key, None)
            case "get", key:
                assert store.get(key) == wrap(model.now.get(key))
            case "range", low, high, reverse:
                found = matching(lambda key: (low is None or low <= key) and (high is None or key <= high))
                if reverse:
                    assert list(store.reverse_range(low, high)) == found[::-1]
                else:
                    assert list(store.range(low, high)) == found
            case "prefix", prefix:
                assert list(store.prefix_scan(prefix, str.encode)) == matching(lambda key: key.startswith(prefix))
            case ("flush",):
                store.flush()
                if store._context.cache_max_bytes == 1 << 20:
                    assert told == model.flush()
                told.clear()
    assert list(store.all()) == matching(lambda key: True)
    assert list(store.reverse_all()) == matching(lambda key: True)[::-1]


@pytest.mark.parametrize(("backend", "cache", "timestamped", "key"), VARIANTS)
def test_a_store_is_a_sorted_dict(harness: Any, backend: str, cache: int, timestamped: bool, key: Any) -> None:
    kind = StoreKind.TIMESTAMPED_KEY_VALUE if timestamped else StoreKind.KEY_VALUE

    @given(STEPS)
    @settings(max_examples=8 if backend == "rocksdb" else 15 if backend == "tiered" else 60, deadline=None)
    def check(steps: list[Any]) -> None:
        with harness.opened(builder(kind, key), backend, cache) as store:
            assert store.cached == (cache > 0)
            run(store, steps, timestamped)

    check()


def test_read_and_write(harness: Any) -> None:
    for cache in (0, 1 << 20):
        store = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE), cache)
        assert store.write("a", 1, 5) == LATEST
        assert store.read("a") == (1, 5)
        assert store.get("a") == ValueAndTimestamp(1, 5)
        store.write("a", None, 6)
        assert store.read("a") is None


def test_the_cache_needs_both_builder_and_task(harness: Any) -> None:
    assert not harness.open(builder(StoreKind.KEY_VALUE), 0).cached
    assert not harness.open(builder(StoreKind.KEY_VALUE, caching=False), 1024).cached
    assert harness.open(builder(StoreKind.KEY_VALUE), 1024).cached


def test_a_flush_tells_in_the_order_of_last_writes(harness: Any) -> None:
    store = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE), 1 << 20)
    context = store._context
    told: list[Any] = []

    def listener(*call: Any) -> None:
        told.append((*call, context.topic, context.offset, context.timestamp))

    store.set_flush_listener(listener, False)
    one, two = Headers([("n", b"1")]), Headers([("n", b"2")])
    for offset, (key, value, timestamp, headers) in enumerate(
        [("a", 1, 10, None), ("b", 2, 11, one), ("a", 3, 12, two), ("gone", None, 13, None)]
    ):
        context.offset = offset
        store.write(key, value, timestamp, headers)
    context.topic, context.offset, context.timestamp = "later", 99, 99
    store.flush()
    assert told == [("b", 2, None, 11, one, "in", 1, 11), ("a", 3, None, 12, two, "in", 2, 12)]
    assert (context.topic, context.offset, context.timestamp) == ("later", 99, 99)
    store.write("a", None, 14, one)
    store.flush()
    assert told[2:] == [("a", None, None, 14, one, "later", 99, 14)]
    store.flush()
    assert len(told) == 3


def test_old_values_are_those_of_the_last_flush(harness: Any) -> None:
    store = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE), 1 << 20)
    told: list[Any] = []
    store.set_flush_listener(lambda *call: told.append(call[:4]), True)
    store.write("a", 1, 1)
    store.write("a", 2, 2)
    store.flush()
    store.write("a", 3, 3)
    store.write("a", 4, 4)
    store.flush()
    store.write("a", None, 9)
    store.flush()
    assert told == [("a", 2, None, 2), ("a", 4, 2, 4), ("a", None, 4, 9)]


def test_what_a_listener_writes_waits_for_the_next_flush(harness: Any) -> None:
    store = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE), 1 << 20)
    told: list[Any] = []

    def listener(key: str, new: Any, *_: Any) -> None:
        told.append((key, new))
        if new == 1:
            store.write("b", 20, 5)

    store.set_flush_listener(listener, False)
    store.write("a", 1, 1)
    store.write("b", 2, 1)
    store.flush()
    assert told == [("a", 1), ("b", 2)]
    assert store.read("b") == (20, 5)
    store.flush()
    assert told[2:] == [("b", 20)]


def test_a_flush_has_the_context_of_the_last_writes(harness: Any) -> None:
    store = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE), 1 << 20)
    context, told = store._context, []
    store.set_flush_listener(
        lambda key, new, old, timestamp, headers: told.append(
            (key, new, timestamp, headers, context.topic, context.partition, context.offset)
        ),
        False,
    )
    fold = store.folding(lambda: 0, lambda key, value, total: total + value)
    headers = Headers([("h", b"1")])
    writes = [("a", "x", 0, None), ("b", "x", 0, headers), ("c", "y", 1, headers), ("a", "y", 0, None)]
    for offset, (key, context.topic, context.partition, carried) in enumerate(writes):
        context.offset = offset
        fold(key, 1, 10 - offset, carried)
    context.offset = 4
    store.write("b", 7, 3)
    store.flush()
    assert told == [
        ("c", 1, 8, headers, "y", 1, 2),
        ("a", 2, 10, None, "y", 0, 3),
        ("b", 7, 3, None, "y", 0, 4),
    ]


def test_what_is_iterated_is_as_it_is_when_its_turn_comes(harness: Any) -> None:
    store = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE), 1 << 20)
    for key in "abcd":
        store.write(key, 1, 1)
    found = store.all()
    assert next(found) == ("a", (1, 1))
    store.write("b", None, 2)
    store.flush()
    store.write("e", 5, 5)  # where "b" was
    store.write("c", 3, 3)
    assert list(found) == [("c", (3, 3)), ("d", (1, 1))]


def test_mutable_values_are_copied_on_the_way_out(harness: Any) -> None:
    store = harness.open(
        Stores.timestamped_key_value_store(Stores.in_memory_key_value("kv"), Serdes.string, Serdes.json).with_caching(),
        1 << 20,
    )
    told: list[Any] = []
    store.set_flush_listener(lambda key, new, *_: told.append(new), False)
    value = [1]
    store.write("a", value, 1)
    store.flush()
    value.append(2)
    assert told == [[1]]


def test_more_dirty_entries_than_fit_are_flushed(harness: Any) -> None:
    store = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE), 2048)
    told: list[Any] = []
    store.set_flush_listener(lambda key, *_: told.append(key), False)
    for number in range(4):
        store.write(f"k{number}", number, 1)
    assert told == []
    store.write("k4", 4, 1)
    assert told == ["k0", "k1", "k2", "k3", "k4"]
    assert [store.read(f"k{number}") for number in range(5)] == [(number, 1) for number in range(5)]
    for number in range(100):
        store.write(f"n{number}", 1, 1)
        store.read(f"k{number % 5}")
    assert len(store._cache._slots) <= 2 * 2048 // 256


def test_an_lru_map_logs_what_made_room(harness: Any) -> None:
    store = harness.open(Stores.key_value_store(Stores.lru_map("lru", 2), Serdes.string, Serdes.string))
    for key in "abc":
        store.put(key, key)
    assert store.take_changes() == {b"a": None, b"b": b"b", b"c": b"c"}
    assert [key for key, _ in store.all()] == ["b", "c"]
    again = harness.open(Stores.key_value_store(Stores.lru_map("lru", 2), Serdes.string, Serdes.string))
    again.apply_changes([(b"x", b"1"), (b"y", b"2"), (b"z", b"3")])
    assert again.take_changes() == {}
    assert list(again.snapshot()) == [(b"y", b"2"), (b"z", b"3")]


def test_changes(harness: Any) -> None:
    store = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE), 1 << 20)
    store.write("a", 1, 2)
    assert store.take_changes() == {}
    store.write("b", 1, 2)
    store.write("a", 3, 4)
    store.write("unknown", None, 4)
    store.flush()
    assert list(store.take_changes().items()) == [
        (b"b", bytes([0] * 7 + [2] + [0] * 7 + [1])),
        (b"a", bytes([0] * 7 + [4] + [0] * 7 + [3])),
        (b"unknown", None),
    ]
    assert store.take_changes() == {}
    silent = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE).without_logging())
    silent.write("a", 1, 2)
    assert silent.take_changes() == {}


def test_errors_name_what_is_wrong(harness: Any) -> None:
    for cache in (0, 1024):
        store = harness.open(builder(StoreKind.TIMESTAMPED_KEY_VALUE), cache)
        with pytest.raises(ArgumentError):
            store.get(None)
        with pytest.raises(SerdeError):  # noqa: PT012 - one or the other raises
            store.write("a", "no number", 1)
            store.flush()


def test_an_upside_down_range_is_empty(harness: Any, caplog: pytest.LogCaptureFixture) -> None:
    store = harness.open(builder(StoreKind.KEY_VALUE))
    store.put("a", 1)
    assert list(store.range("b", "a")) == []
    assert "upside down" in caplog.text
