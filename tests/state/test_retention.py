"""What expires when: the corners that results depend on."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.records import MAX_TIMESTAMP, Window
from millstream.serdes import Serdes
from millstream.state import StoreBuilder, StoreKind, StoreSupplier


def windows(**options: Any) -> StoreBuilder:
    supplier = StoreSupplier("w", **{"retention_ms": 10, "window_size_ms": 5, **options})
    return StoreBuilder("w", StoreKind.TIMESTAMPED_WINDOW, supplier, Serdes.string, Serdes.long, caching=True)


def sessions(**options: Any) -> StoreBuilder:
    supplier = StoreSupplier("s", **{"retention_ms": 10, **options})
    return StoreBuilder("s", StoreKind.SESSION, supplier, Serdes.string, Serdes.long, caching=True)


def starts(store: Any) -> list[int]:
    return [key.window.start for key, _ in store.all()]


def test_in_memory_an_expired_write_is_refused(harness: Any) -> None:
    store = harness.open(windows(persistent=False))
    store.write("a", 10, 1, 10)
    store.write("a", 20, 1, 20)
    assert starts(store) == [20]
    store.write("a", 10, 1, 10)
    assert len(store._context.dropped) == 1
    store.write("a", 11, 1, 11)
    assert starts(store) == [11, 20]


def test_persistent_it_is_refused_when_its_segment_is_gone(harness: Any) -> None:
    store = harness.open(windows())
    store.write("a", 120_000, 1, 120_000)
    store.write("a", 60_000, 1, 60_000)
    assert store._context.dropped == []
    assert starts(store) == [120_000]
    assert store.read("a", 60_000) is None
    store.write("a", 59_999, 1, 59_999)
    assert len(store._context.dropped) == 1


def test_a_time_ordered_store_still_shows_what_expires_now(harness: Any) -> None:
    store = harness.open(windows(time_ordered=True))
    store.write("a", 10, 1, 10)
    store.write("a", 20, 1, 20)
    assert starts(store) == [10, 20]
    assert store.read("a", 10) == (1, 10)
    store.write("a", 21, 1, 21)
    assert starts(store) == [20, 21]


@pytest.mark.parametrize("options", [{}, {"persistent": False}])
def test_without_retention_nothing_is_ever_seen(harness: Any, options: dict[str, Any]) -> None:
    store = harness.open(windows(retention_ms=0, window_size_ms=0, **options))
    store.write("a", 10, 1, 10)
    assert starts(store) == []
    assert store.read("a", 10) is None
    assert list(store.read_range("a", 0, 99)) == []


def test_the_cache_shows_what_the_store_has_forgotten(harness: Any) -> None:
    store = harness.open(windows(time_ordered=True), 1 << 20)
    store.write("a", 0, 1, 0)
    store.write("b", 100, 1, 100)
    store.flush()
    assert starts(store) == [0, 100]
    assert store.read("a", 0) == (1, 0)
    assert [key.window.start for key, _ in store.fetch_all(0, 50)] == [0]


def test_emission_of_persistent_sessions_ignores_the_retention(harness: Any) -> None:
    for persistent, found in ((True, [10, 20]), (False, [20])):
        store = harness.open(sessions(persistent=persistent))
        store.write("a", 10, 10, 1)
        store.write("b", 20, 20, 1)
        assert [key.window.end for key, _ in store.find_sessions_ending(0, 99)] == found
        assert [key.window.end for key, _ in store.fetch_keys()] == [20]
        assert list(store.find_sessions("a", 0, 99)) == []


def test_a_growing_session_leaves_nothing_behind_in_the_cache(harness: Any) -> None:
    store = harness.open(sessions(retention_ms=1000), 1 << 20)
    told: list[Any] = []
    store.set_flush_listener(lambda *call: told.append(call[:5]), False)
    for end in range(1, 100):
        for key, _ in list(store.find_sessions("a", end - 5, end + 5)):
            store.remove(key)
        store.write("a", 0, end, end)
    assert store._cache._count == 1
    store.flush()
    assert told == [("a", 0, 99, 99, None)]
    store.write("a", 0, 99, None)
    store.write("a", 0, 99, 7)
    store.flush()
    assert told[1:] == [("a", 0, 99, 7, None)]


def test_windows_without_end(harness: Any) -> None:
    store = harness.open(windows(retention_ms=MAX_TIMESTAMP, window_size_ms=MAX_TIMESTAMP))
    store.write("a", 5, 1, 9)
    assert [key.window for key, _ in store.all()] == [Window(5, MAX_TIMESTAMP)]


def test_an_overfull_window_cache_is_flushed_and_trimmed(harness: Any) -> None:
    store = harness.open(windows(retention_ms=10_000), 2048)
    told: list[Any] = []
    store.set_flush_listener(lambda key, start, *_: told.append(start), False)
    for start in range(4):
        store.write("a", start, 1, start)
    list(store.fetch_all(0, 99))
    assert told == []
    for start in range(4, 60):
        store.write("a", start, 1, start)
    store.flush()
    assert told == list(range(60))
    assert store._cache._count <= 2048 // 256
    assert starts(store) == list(range(60))
    assert [start for start, _ in store.read_range("a", 10, 40, reverse=True)] == list(range(40, 9, -1))


def test_a_refused_write_is_logged_as_kafka_streams_does(harness: Any) -> None:
    store = harness.open(windows(persistent=False))
    store.write("a", 50, 1, 50)
    store.write("a", 1, 1, 1)
    assert [key[:-12] for key in store.take_changes()] == [b"a", b"a"]


def test_the_clock_is_logged_where_rows_do_not_tell_it(harness: Any) -> None:
    store = harness.open(windows())
    store.write("a", 50, 1, 50)
    assert b"clock" not in store.take_changes()
    store.write("a", 50, None, 50)
    assert b"clock" in store.take_changes()


def test_a_flushed_deletion_leaves_the_cache(harness: Any) -> None:
    store = harness.open(windows(), 1 << 20)
    store.set_flush_listener(lambda *call: None, False)
    store.write("a", 5, 1, 5)
    store.flush()
    store.write("a", 5, None, 6)
    store.write("b", 5, None, 6)
    store.flush()
    assert store._cache._count == 0
    assert store._cache._slots == {}
