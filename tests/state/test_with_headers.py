"""Stores that keep headers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    AggregationWithHeaders,
    Consumed,
    EmitStrategy,
    Headers,
    Materialized,
    Processor,
    Produced,
    Record,
    Serdes,
    SessionWindows,
    SlidingWindows,
    StateStoreError,
    StoreBuilder,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    ValueTimestampHeaders,
    Window,
    Windowed,
)
from millstream.changelogs import Changelog
from millstream.hosting.task_changes import change_records, redo
from millstream.processors.context import TaskContext
from millstream.testing import TopologyTestDriver

TEXT = (Serdes.string, Serdes.string)
MINUTE, TEN = timedelta(minutes=1), timedelta(milliseconds=10)
TRACE = Headers([("trace", b"1"), ("empty", None)])


def key_value(name: str = "store") -> StoreBuilder:
    return Stores.timestamped_key_value_store_with_headers(Stores.persistent_key_value_with_headers(name), *TEXT)


def window(name: str = "store") -> StoreBuilder:
    supplier = Stores.persistent_window_with_headers(name, MINUTE, MINUTE)
    return Stores.timestamped_window_store_with_headers(supplier, *TEXT)


def session(name: str = "store") -> StoreBuilder:
    return Stores.session_store_with_headers(Stores.persistent_session_with_headers(name, MINUTE), *TEXT)


def opened(builder: StoreBuilder) -> Any:
    store: Any = builder.build()
    store.init(TaskContext(cache_max_bytes=10_000 if builder.caching else 0))
    return store


@pytest.mark.parametrize("caching", [False, True])
def test_key_values(caching: bool) -> None:
    store = opened(key_value().with_caching() if caching else key_value())
    headers = TRACE.copy()
    store.put("a", ValueTimestampHeaders("x", 5, headers))
    headers.add("later", b"")  # what becomes of a record's headers is not what was written
    store.put("b", ValueTimestampHeaders("y", 6, Headers()))
    for _ in range(2):
        assert store.get("a") == ValueTimestampHeaders("x", 5, TRACE)
        assert store.get("b").headers == Headers()
        assert [key for key, _ in store.all()] == ["a", "b"]
        assert list(store.range("a", "a")) == [("a", ValueTimestampHeaders("x", 5, TRACE))]
        store.flush()
    assert store.put_if_absent("a", ValueTimestampHeaders("z", 7, Headers())).value == "x"
    assert store.delete("a") == ValueTimestampHeaders("x", 5, TRACE)
    assert store.get("a") is None


@pytest.mark.parametrize("caching", [False, True])
def test_windows(caching: bool) -> None:
    store = opened(window().with_caching() if caching else window())
    store.put("a", ValueTimestampHeaders("x", 5, TRACE), 0)
    store.put("a", ValueTimestampHeaders("y", 6, Headers()), 1000)
    for _ in range(2):
        assert store.fetch("a", 0) == ValueTimestampHeaders("x", 5, TRACE)
        assert [(start, found.headers) for start, found in store.fetch_range("a", 0, 5000)] == [
            (0, TRACE), (1000, Headers())
        ]  # fmt: skip
        assert next(store.all()) == (Windowed("a", Window(0, 60_000)), ValueTimestampHeaders("x", 5, TRACE))
        store.flush()


@pytest.mark.parametrize("caching", [False, True])
def test_sessions(caching: bool) -> None:
    store = opened(session().with_caching() if caching else session())
    store.put(Windowed("a", Window(5, 9)), AggregationWithHeaders("x", TRACE))
    for _ in range(2):
        assert store.fetch_session("a", 5, 9) == AggregationWithHeaders("x", TRACE)
        assert list(store.fetch("a")) == [(Windowed("a", Window(5, 9)), AggregationWithHeaders("x", TRACE))]
        store.flush()
    store.remove(Windowed("a", Window(5, 9)))
    assert store.fetch_session("a", 5, 9) is None


def written() -> Iterator[tuple[StoreBuilder, StoreBuilder, Any]]:
    """Stores with something in them, and what a store without headers would be."""
    for builder, plain in (
        (key_value(), Stores.timestamped_key_value_store(Stores.persistent_key_value("store"), *TEXT)),
        (window(), Stores.timestamped_window_store(Stores.persistent_window("store", MINUTE, MINUTE), *TEXT)),
        (session(), Stores.session_store(Stores.persistent_session("store", MINUTE), *TEXT)),
    ):
        store = opened(builder)
        if builder.kind.without_headers is plain.kind and builder.name == "store":
            if builder.supplier.window_size_ms is not None:
                store.put("a", ValueTimestampHeaders("x", 5, TRACE), 3)
            elif builder.supplier.retention_ms is not None:
                store.put(Windowed("a", Window(3, 5)), AggregationWithHeaders("x", TRACE))
            else:
                store.put("a", ValueTimestampHeaders("x", 5, TRACE))
        yield builder, plain, store


def shown(store: Any) -> list[Any]:
    return list(store.fetch_keys() if hasattr(store, "find_sessions") else store.all())


def test_a_changelog_has_headers_as_headers_and_is_else_as_without() -> None:
    for builder, plain, store in written():
        changes = {"store": store.take_changes()}
        logs = {"store": Changelog("store", "log", is_source=False, sub_topology=0)}
        (record,) = change_records(logs, 7, {"store": store}, changes, 5)
        topic, partition, key, value, timestamp, headers = record
        assert (topic, partition, value, timestamp) == ("log", 7, b"x", 5)
        assert headers == [("trace", b"1"), ("empty", None)]
        again, other = opened(builder), opened(plain)
        for restored in (again, other):
            redo(restored, [(key, value, timestamp, headers, 0), (None, b"no row", 0, None, 1)])
        assert shown(again) == shown(store)
        ((_, found),) = shown(other)
        assert (found if isinstance(found, str) else found.value) == "x"


def test_a_log_without_headers_is_read() -> None:
    for builder, _, store in written():
        records = store.log_records(store.take_changes(), 5)
        again = opened(builder)
        again.apply_records(records)
        ((_, found),) = shown(again)
        assert found.headers == Headers()


def test_state_files_keep_headers() -> None:
    for builder, _, store in written():
        again = opened(builder)
        again.apply_changes(store.snapshot())
        assert shown(again) == shown(store)


class Keep(Processor[str, str, str, str]):
    def stores(self) -> list[StoreBuilder]:
        return [key_value("kept"), window("windows"), session("sessions")]

    def process(self, record: Record[str, str]) -> None:
        kept = ValueTimestampHeaders(record.value, record.timestamp, record.headers)
        self.context.state_store("kept").put(record.key, kept)
        self.context.state_store("windows").put(record.key, kept, 0)
        found = AggregationWithHeaders(record.value, record.headers)
        self.context.state_store("sessions").put(Windowed(record.key, Window(0, 1)), found)


def test_the_driver_shows_them() -> None:
    builder = StreamsBuilder()
    builder.stream("in", Consumed(*TEXT)).process(Keep)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", *TEXT).pipe("a", "x", timestamp=5, headers=TRACE)
        assert driver.timestamped_key_value_store_with_headers("kept").get("a") == ValueTimestampHeaders("x", 5, TRACE)
        found = driver.timestamped_window_store_with_headers("windows").fetch("a", 0)
        assert found is not None
        assert found.headers == TRACE
        session = driver.session_store_with_headers("sessions").fetch_session("a", 0, 1)
        assert session == AggregationWithHeaders("x", TRACE)
        assert driver.session_store("sessions").fetch_session("a", 0, 1) == "x"
        plain = driver.key_value_store("kept")
        plain.put("b", "y")
        assert list(plain.all()) == [("a", "x"), ("b", "y")]
        assert driver.window_store("windows").fetch("a", 0) == "x"
        with pytest.raises(StateStoreError, match="is not a"):
            driver.timestamped_key_value_store("kept")


@pytest.mark.parametrize("cache", [0, 1_000_000])
def test_tables_keep_headers_if_told(cache: int) -> None:
    config = StreamsConfig(dsl_store_format="headers", statestore_cache_max_bytes=cache)
    builder = StreamsBuilder(config)
    users = builder.table("users", Consumed(*TEXT), Materialized("users"))
    users.map_values(str.upper, Materialized("upper", value=Serdes.string)).to_stream().to("out")
    builder.stream("words", Consumed(*TEXT)).group_by_key().count(Materialized("counts"))
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("users", *TEXT).pipe("a", "ann", timestamp=5, headers=TRACE)
        for name, value in (("users", "ann"), ("upper", "ANN")):
            found = driver.timestamped_key_value_store_with_headers(name).get("a")
            assert found == ValueTimestampHeaders(value, 5, TRACE)
        assert driver.output_topic("out", *TEXT).read_record().headers == TRACE
        words = driver.input_topic("words", *TEXT)
        words.pipe("w", "", timestamp=7)
        words.pipe("w", "", timestamp=3, headers=TRACE)
        assert driver.timestamped_key_value_store_with_headers("counts").get("w") == ValueTimestampHeaders(2, 7, TRACE)


def test_one_table_keeps_headers_if_its_store_does() -> None:
    builder = StreamsBuilder()
    builder.table("users", Consumed(*TEXT), Materialized(store=Stores.persistent_key_value_with_headers("users")))
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("users", *TEXT).pipe("a", "ann", timestamp=5, headers=TRACE)
        assert driver.timestamped_key_value_store_with_headers("users").get("a") == ValueTimestampHeaders(
            "ann", 5, TRACE
        )


@pytest.mark.parametrize("cache", [0, 1_000_000])
@pytest.mark.parametrize("on_close", [False, True])
@pytest.mark.parametrize(
    "windows",
    [TimeWindows.of_size(TEN), SlidingWindows.of_time_difference(TEN), SessionWindows.of_inactivity_gap(TEN)],
)
def test_windowed_aggregations_give_the_same_with_headers(cache: int, on_close: bool, windows: Any) -> None:
    results = []
    for format_ in ("default", "headers"):
        config = StreamsConfig(dsl_store_format=format_, statestore_cache_max_bytes=cache)
        builder = StreamsBuilder(config)
        windowed = builder.stream("in", Consumed(*TEXT)).group_by_key().windowed_by(windows)
        if on_close:
            windowed = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        counts = windowed.count(Materialized("counts")).to_stream()
        counts.map(lambda key, count: (str(key), count)).to("out", Produced(Serdes.string, Serdes.long))
        with TopologyTestDriver(builder.build(), config) as driver:
            topic = driver.input_topic("in", *TEXT)
            for timestamp in (0, 5, 3, 12, 40):
                topic.pipe("a", "", timestamp=timestamp, headers=Headers([("at", str(timestamp).encode())]))
            read = driver.output_topic("out", Serdes.string, Serdes.long).read_records()
            results.append([(one.key, one.value, one.timestamp, one.headers) for one in read])
            if format_ == "headers" and isinstance(windows, TimeWindows):
                last = driver.timestamped_window_store_with_headers("counts").fetch("a", 40)
                assert last is not None
                assert last.headers.last("at") == b"40"
            if format_ == "headers" and isinstance(windows, SessionWindows):
                *_, (_, found) = driver.session_store_with_headers("counts").fetch("a")
                assert found.headers.last("at") == b"40"
    assert results[0]
    assert results[0] == results[1]
