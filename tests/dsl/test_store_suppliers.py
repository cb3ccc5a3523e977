"""`DslStoreSuppliers`: who chooses the stores of operators that are given none."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    ArgumentError,
    Consumed,
    DslKeyValueParams,
    DslSessionParams,
    DslStoreSuppliers,
    DslWindowParams,
    EmitStrategy,
    JoinWindows,
    Materialized,
    Serdes,
    SessionWindows,
    SlidingWindows,
    Stores,
    StoreSupplier,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.state.backends.maps import MemoryMap
from millstream.testing import TopologyTestDriver

TEXT = (Serdes.string, Serdes.string)
TEN = timedelta(milliseconds=10)


class Noting(DslStoreSuppliers):
    """Stores in memory; what was asked for is noted."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def key_value_store(self, params: DslKeyValueParams) -> StoreSupplier:
        self.asked.append(params)
        return Stores.in_memory_key_value(params.name)

    def window_store(self, params: DslWindowParams) -> StoreSupplier:
        self.asked.append(params)
        retention, size = (timedelta(milliseconds=ms) for ms in (params.retention_ms, params.window_size_ms))
        return Stores.in_memory_window(params.name, retention, size, params.retain_duplicates)

    def session_store(self, params: DslSessionParams) -> StoreSupplier:
        self.asked.append(params)
        return Stores.in_memory_session(params.name, timedelta(milliseconds=params.retention_ms))


def every_kind(builder: StreamsBuilder) -> None:
    words = builder.stream("words", Consumed(*TEXT))
    builder.table("users", Consumed(*TEXT), Materialized("users"))
    grouped = words.group_by_key()
    grouped.windowed_by(TimeWindows.of_size(TEN, grace=TEN)).count(Materialized("times"))
    sliding = grouped.windowed_by(SlidingWindows.of_time_difference(TEN))
    sliding.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count(Materialized("slides"))
    grouped.windowed_by(SessionWindows.of_inactivity_gap(TEN)).count(Materialized("sessions"))
    others = builder.stream("others", Consumed(*TEXT))
    windows = JoinWindows.of_time_difference(TEN)
    words.join(others, lambda one, other: one, windows, StreamJoined(name="j", store_name="j"))


def in_memory(topology: Topology) -> dict[str, bool]:
    return {name: not store.supplier.persistent for name, store in topology.stores.items()}  # type: ignore[attr-defined]


def test_a_configuration_asks_for_every_store() -> None:
    suppliers = Noting()
    builder = StreamsBuilder(StreamsConfig(dsl_store=suppliers))
    every_kind(builder)
    assert suppliers.asked == [
        DslKeyValueParams("users"),
        DslWindowParams("times", 20, 10),
        DslWindowParams("slides", 20, 10, emit_strategy=EmitStrategy.ON_WINDOW_CLOSE, is_sliding_window=True),
        DslSessionParams("sessions", 10),
        DslWindowParams("j-this-join-store", 20, 20, retain_duplicates=True),
        DslWindowParams("j-other-join-store", 20, 20, retain_duplicates=True),
    ]
    assert set(in_memory(builder.build()).values()) == {True}


def test_what_it_leaves_open_is_as_rocksdb_has_it() -> None:
    builder, plain = StreamsBuilder(StreamsConfig(dsl_store=DslStoreSuppliers())), StreamsBuilder()
    for each in (builder, plain):
        every_kind(each)
    chosen, built_in = builder.build().stores, plain.build().stores
    for name, store in built_in.items():
        assert chosen[name].supplier == store.supplier  # type: ignore[attr-defined]


def test_one_operator_can_have_its_own() -> None:
    builder = StreamsBuilder()
    builder.table("users", Consumed(*TEXT), Materialized("users", dsl_store=Noting()))
    builder.table("orders", Consumed(*TEXT), Materialized("orders"))
    words, others = (builder.stream(topic, Consumed(*TEXT)) for topic in ("words", "others"))
    options = StreamJoined(store_name="j", dsl_store=Noting())
    words.join(others, lambda one, other: one, JoinWindows.of_time_difference(TEN), options)
    assert in_memory(builder.build()) == {
        "users": True, "orders": False, "j-this-join-store": True, "j-other-join-store": True
    }  # fmt: skip


def test_a_table_may_get_versions() -> None:
    class Versions(DslStoreSuppliers):
        def key_value_store(self, params: DslKeyValueParams) -> StoreSupplier:
            return Stores.persistent_versioned_key_value(params.name, TEN)

    builder = StreamsBuilder(StreamsConfig(dsl_store=Versions()))
    builder.table("users", Consumed(*TEXT), Materialized("users"))
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("users", *TEXT).pipe("a", "x", timestamp=5)
        found = driver.versioned_key_value_store("users").get("a")
        assert found is not None
        assert found.value == "x"


class Recorded(MemoryMap):
    """A map of the user's own."""

    opened: list[str | None] = []  # noqa: RUF012  # of the test

    def __init__(self, directory: str | None) -> None:
        super().__init__()
        self.opened.append(directory)

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        return ((key, value.upper()) for key, value in super().range(low, high, reverse))


def test_rows_can_be_in_a_map_of_ones_own() -> None:
    class Own(DslStoreSuppliers):
        def key_value_store(self, params: DslKeyValueParams) -> StoreSupplier:
            return StoreSupplier(params.name, open_map=Recorded)

    builder = StreamsBuilder(StreamsConfig(dsl_store=Own()))
    builder.table("users", Consumed(*TEXT), Materialized("users"))
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("users", *TEXT).pipe("a", "ann", timestamp=5)
        assert list(driver.key_value_store("users").all()) == [("a", "ANN")]
    assert Recorded.opened == [None]


class Misnamed(DslStoreSuppliers):
    def key_value_store(self, params: DslKeyValueParams) -> StoreSupplier:
        return Stores.in_memory_key_value("other")


class WrongKind(DslStoreSuppliers):
    def key_value_store(self, params: DslKeyValueParams) -> StoreSupplier:
        return Stores.in_memory_session(params.name, TEN)


@pytest.mark.parametrize(
    ("suppliers", "message"), [(Misnamed(), "called 'users'"), (WrongKind(), "is a session store")]
)
def test_a_store_that_does_not_fit_is_refused(suppliers: DslStoreSuppliers, message: str) -> None:
    builder = StreamsBuilder(StreamsConfig(dsl_store=suppliers))
    with pytest.raises(ArgumentError, match=message):
        builder.table("users", Consumed(*TEXT), Materialized("users"))


@pytest.mark.parametrize("make", [StreamsConfig, Materialized, StreamJoined])
def test_only_suppliers_are_taken(make: Any) -> None:
    with pytest.raises(ArgumentError, match="dsl_store"):
        make(dsl_store=Noting)


def test_a_given_store_and_suppliers_contradict_each_other() -> None:
    with pytest.raises(ArgumentError, match="cannot be chosen for a given store"):
        Materialized(store=Stores.in_memory_key_value("users"), dsl_store=Noting())
