"""`ProcessorWrapper`: what it is asked about, and what it can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    ArgumentError,
    Consumed,
    FixedKeyProcessor,
    Grouped,
    JoinWindows,
    Materialized,
    Processor,
    ProcessorSupplier,
    ProcessorWrapper,
    Produced,
    Record,
    Serdes,
    StoreBuilder,
    Stores,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    TopologyError,
)
from millstream.testing import TopologyTestDriver

TEXT = (Serdes.string, Serdes.string)
AnyProcessor = Processor[Any, Any, Any, Any]


@dataclass
class Noting(ProcessorWrapper):
    """Wraps nothing, and notes what it was asked about: node, kind, names of stores."""

    asked: list[tuple[str, str, list[str]]] = field(default_factory=list)

    def wrap_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> Callable[[], Any]:
        self.asked.append((name, "processor", [builder.name for builder in supplier.stores]))
        return supplier

    def wrap_fixed_key_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> Callable[[], Any]:
        self.asked.append((name, "fixed key", [builder.name for builder in supplier.stores]))
        return supplier


class Keep(Processor[str, str, str, str]):
    def stores(self) -> list[StoreBuilder]:
        return [Stores.key_value_store(Stores.in_memory_key_value("kept"), *TEXT)]

    def process(self, record: Record[str, str]) -> None:
        self.context.state_store("kept").put(record.key, record.value)
        self.context.forward(record)


class Same(FixedKeyProcessor[str, str, str]):
    def process(self, record: Any) -> None:
        self.context.forward(record)


class Fill(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.state_store("cities").put(record.key, record.value)


def test_every_processor_of_the_dsl_is_wrapped_with_its_stores() -> None:
    wrapper = Noting()
    builder = StreamsBuilder(StreamsConfig(processor_wrapper=wrapper))
    words = builder.stream("words", Consumed(*TEXT))
    kept = words.filter(lambda key, word: True, name="filter").process(Keep, name="keep")
    same = kept.process_values(Same, name="same")
    same.group_by_key(Grouped(*TEXT, name="group")).count(Materialized("counts"), name="count")
    minute = JoinWindows.of_time_difference(timedelta(minutes=1))
    words.left_join(
        builder.stream("others", Consumed(*TEXT)), lambda one, two: one, minute, StreamJoined(name="j", store_name="s")
    )
    builder.global_table("rates", Consumed(*TEXT, name="rates"), Materialized("rates"))
    cities = Stores.key_value_store(Stores.in_memory_key_value("cities"), *TEXT).without_logging()
    builder.add_global_store(cities, "cities", Consumed(*TEXT), Fill)
    builder.build()
    asked = {name: (kind, stores) for name, kind, stores in wrapper.asked}
    assert len(asked) == len(wrapper.asked)
    assert asked["filter"] == ("processor", [])
    assert asked["keep"] == ("processor", ["kept"])
    assert asked["same"] == ("fixed key", [])
    assert asked["group-repartition-filter"] == ("processor", [])
    assert asked["count"] == ("processor", ["counts"])
    assert asked["j-this-windowed"] == ("processor", ["s-this-join-store"])
    assert asked["j-other-windowed"] == ("processor", ["s-outer-other-join-store"])
    assert asked["j-this-join"] == ("processor", ["s-left-shared-join-store"])
    assert asked["j-outer-other-join"] == ("processor", [])  # all of its stores came with other nodes
    assert asked["j-merge"] == ("processor", [])
    assert asked["rates"] == ("processor", ["rates"])
    filling = [entry for entry in wrapper.asked if entry[0].startswith("KTABLE-SOURCE")]
    assert [entry[1:] for entry in filling] == [("processor", [])]  # its store does not come with its supplier


class Around(Processor[Any, Any, Any, Any]):
    """Doubles what goes in, and tells what goes out."""

    def __init__(self, inner: AnyProcessor, out: list[Any]) -> None:
        self.inner = inner
        self._out = out

    def init(self, context: Any) -> None:
        listening: Any = Listening(context, self._out)
        self.inner.init(listening)

    def process(self, record: Record[Any, Any]) -> None:
        self.inner.process(record)
        self.inner.process(record)


class Listening:
    """A context that is not Millstream's own."""

    def __init__(self, context: Any, out: list[Any]) -> None:
        self._context = context
        self._out = out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        self._out.append((record.key, record.value))
        self._context.forward(record, child)


class Doubling(Noting):
    def __init__(self, node: str, out: list[Any]) -> None:
        super().__init__()
        self._node, self._out = node, out

    def wrap_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> Callable[[], Any]:
        return ProcessorSupplier(lambda: Around(supplier(), self._out)) if name == self._node else supplier


@pytest.mark.parametrize("cache", [0, 1_000_000])
def test_what_an_operator_forwards_leaves_by_the_wrappers_context(cache: int) -> None:
    out: list[Any] = []
    config = StreamsConfig(processor_wrapper=Doubling("count", out), statestore_cache_max_bytes=cache)
    builder = StreamsBuilder(config)
    counts = builder.stream("words", Consumed(*TEXT)).group_by_key().count(Materialized("counts"), name="count")
    counts.to_stream().to("out", Produced(value=Serdes.long))
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("words", *TEXT).pipe("a", "x")
        assert driver.output_topic("out", Serdes.string, Serdes.long).read_values() == ([2] if cache else [1, 2])
        assert driver.key_value_store("counts").get("a") == 2
    assert out == [("a", (count, None, True)) for count in ([2] if cache else [1, 2])]


def test_branches_are_reached_by_name() -> None:
    out: list[Any] = []
    config = StreamsConfig(processor_wrapper=Doubling("KSTREAM-BRANCH-0000000001", out))
    builder = StreamsBuilder(config)
    numbers = builder.stream("in", Consumed(*TEXT)).split().branch(lambda key, value: value == "a").default_branch()
    for name, branch in numbers.items():
        branch.to(name)
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("in", *TEXT).pipe_values(["a", "b"])
        read = {name: driver.output_topic(name, *TEXT).read_values() for name in numbers}
    assert list(read.values()) == [["a", "a"], ["b", "b"]]


@dataclass
class Storing(ProcessorWrapper):
    """Turns stores into stores in memory, and adds one to a node."""

    def wrap_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> Callable[[], Any]:
        stores = [replace(builder, supplier=Stores.in_memory_key_value(builder.name)) for builder in supplier.stores]
        if name == "extra":
            stores.append(Stores.key_value_store(Stores.in_memory_key_value("added"), *TEXT))
        return ProcessorSupplier(supplier.make, tuple(stores))


def test_stores_can_be_replaced_and_added() -> None:
    config = StreamsConfig(processor_wrapper=Storing())
    builder = StreamsBuilder(config)
    builder.table("users", Consumed(*TEXT), Materialized("users"))
    builder.global_table("rates", Consumed(*TEXT), Materialized("rates", logging=False))
    builder.stream("in", Consumed(*TEXT)).filter(lambda key, value: True, name="extra").process(Keep, name="keep")
    topology = builder.build()
    assert {name: store.supplier.persistent for name, store in topology.stores.items()} == {  # type: ignore[attr-defined]
        "users": False, "kept": False, "added": False
    }  # fmt: skip
    assert not topology.global_stores["rates"].builder.supplier.persistent  # type: ignore[attr-defined]
    assert topology.nodes["extra"].stores == ["added"]  # type: ignore[union-attr]
    with TopologyTestDriver(topology, config) as driver:
        driver.input_topic("in", *TEXT).pipe("a", "x")
        assert driver.key_value_store("kept").get("a") == "x"
        assert driver.key_value_store("added").get("a") is None


def test_a_topology_of_ones_own_is_wrapped_too() -> None:
    text: dict[str, Any] = {"key": Serdes.string, "value": Serdes.string}
    wrapper = Noting()
    topology = Topology(StreamsConfig(processor_wrapper=wrapper)).add_source("in", "in", **text)
    topology.add_processor("keep", Keep, "in").add_sink("out", "out", "keep", **text)
    cities = Stores.key_value_store(Stores.in_memory_key_value("cities"), *TEXT).without_logging()
    topology.add_global_store(cities, "cities-source", "cities", "fill", Fill, **text)
    assert wrapper.asked == [("keep", "processor", ["kept"]), ("fill", "processor", [])]


def test_state_of_wrapped_operators_moves_with_the_task() -> None:
    """The clock of a windowed aggregation is in no store."""
    from millstream import TimeWindows
    from millstream.task.task import Task

    config = StreamsConfig(processor_wrapper=Noting())
    builder = StreamsBuilder(config)
    windows = TimeWindows.of_size(timedelta(milliseconds=10))
    builder.stream("in", Consumed(*TEXT)).group_by_key().windowed_by(windows).count()
    topology = builder.build()
    first = Task(topology, config)
    first.add_records("in", 0, [(b"a", b"", 100, None, 0)])
    first.process_all()
    first.commit(until_clean=True)
    saved = first.save()
    second = Task(topology, config, restore=lambda stores: saved)
    second.add_records("in", 0, [(b"a", b"", 50, None, 1)])
    second.process_all()
    assert second.metrics.dropped_records == 1


def test_a_wrapper_that_the_topology_was_not_built_with_is_told() -> None:
    builder = StreamsBuilder()
    builder.stream("in", Consumed(*TEXT)).to("out")
    with pytest.raises(TopologyError, match="was not built with") as told:
        TopologyTestDriver(builder.build(), StreamsConfig(processor_wrapper=Noting()))
    assert "StreamsBuilder(config)" in (told.value.hint or "")


def test_a_wrapper_is_an_instance() -> None:
    with pytest.raises(ArgumentError, match="processor_wrapper"):
        StreamsConfig(processor_wrapper=Noting)  # type: ignore[arg-type]
