"""Errors that end a task say where they come from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millstream.errors import (
    DeserializationError,
    ProcessingError,
    ProductionError,
    SerdeError,
    StateStoreError,
    StreamsError,
)
from millstream.processors.api import Processor
from millstream.processors.operator import Operator
from millstream.serdes import Serdes
from millstream.task.errors.failures import user_function
from millstream.topology.topology import Topology


def boom(value: str) -> str:
    if value == "bad":
        raise ValueError("boom")
    return value


def test_a_processing_error_names_node_place_and_function(
    source: Any, harness: Any, do: Any, tap: Any, process: Any
) -> None:
    topology = (
        source().add_operator("first", lambda: tap([]), "source").add_operator("second", lambda: do(boom), "first")
    )
    runs = harness(topology)
    runs.add("in", ("k", "good", 0), ("k", "bad", 1), ("k", "good", 2))

    with pytest.raises(ProcessingError) as raised:
        process(runs.task)
    error = raised.value
    assert error.primary == "exception caught in process"
    assert error.detail is not None
    assert "node 'second' of task 0_0, at topic 'in', partition 0, offset 1" in error.detail
    assert f"raised by boom at test_failures.py:{boom.__code__.co_firstlineno + 2}: ValueError: boom" in error.detail
    assert isinstance(error.__cause__, ValueError)
    assert runs.task.metrics.processed_records == 1


def test_the_users_function_is_named_rather_than_a_library_it_calls(source: Any, harness: Any, do: Any) -> None:
    runs = harness(source().add_operator("parse", lambda: do(lambda value: json.loads(value)), "source"))
    runs.add("in", ("k", "{", 0))

    with pytest.raises(ProcessingError, match=r"raised by <lambda> at test_failures.py:\d+: JSONDecodeError"):
        runs.task.process_all()


def test_an_engine_error_inside_a_node_is_the_cause(source: Any, harness: Any) -> None:
    class Full(Operator):
        def process(self, key: Any, value: Any, timestamp: int, headers: Any) -> None:
            raise StreamsError("buffer exceeded its max capacity", hint="make it larger")

    runs = harness(source().add_operator("suppress", Full, "source"))
    runs.add("in", ("k", "v", 0))

    with pytest.raises(ProcessingError, match="buffer exceeded its max capacity") as raised:
        runs.task.process_all()
    assert raised.value.hint == "make it larger"
    assert type(raised.value.__cause__) is StreamsError


def test_input_that_cannot_be_read(source: Any, harness: Any, process: Any) -> None:
    runs = harness(source())
    runs.add("in", ("k", "v", 0), (b"k", b"\xff", 1))

    with pytest.raises(DeserializationError, match="source 'source', topic 'in', partition 0, offset 1") as raised:
        process(runs.task)
    assert isinstance(raised.value.__cause__, UnicodeDecodeError)


def test_output_that_cannot_be_written(source: Any, sink: Any, harness: Any, do: Any, process: Any) -> None:
    runs = harness(sink(source().add_operator("number", lambda: do(len), "source"), "number"))
    runs.add("in", ("k", "v", 0))

    with pytest.raises(ProductionError, match="the value of an output record could not be written") as raised:
        process(runs.task)
    assert "sink 'sink', topic 'out'" in str(raised.value)
    assert raised.value.__cause__ is not None


@pytest.mark.parametrize("part", ["key", "value"])
def test_a_missing_serde_is_found_when_the_task_is_made(harness: Any, part: str) -> None:
    given: dict[str, Any] = {"key": Serdes.string, "value": Serdes.string}
    del given[part]
    with pytest.raises(SerdeError, match=f"source 'orders' has no {part} serde") as raised:
        harness(Topology().add_source("orders", "orders-topic", **given))
    assert "orders-topic" in str(raised.value)
    assert f"default_{part}_serde" in str(raised.value)


def test_a_sinks_missing_serde_is_found_too(source: Any, harness: Any) -> None:
    with pytest.raises(SerdeError, match="sink 'out' has no key serde"):
        harness(source().add_sink("out", "o", "source"))


def test_default_serdes_fill_in(harness: Any) -> None:
    topology = Topology().add_source("s", "in").add_sink("out", "o", "s")
    runs = harness(topology, default_key_serde=Serdes.string, default_value_serde=Serdes.string)
    runs.add("in", ("k", "v", 0))
    runs.task.process_all()
    assert runs.values() == ["v"]


def test_an_exception_in_init_names_the_processor(source: Any, harness: Any) -> None:
    class Broken(Processor[Any, Any, Any, Any]):
        def init(self, context: Any) -> None:
            raise KeyError("setting")

    with pytest.raises(ProcessingError, match="failed to initialize processor broken"):
        harness(source().add_processor("broken", Broken, "source"))


def test_a_store_that_is_not_connected(source: Any, harness: Any) -> None:
    class Greedy(Processor[Any, Any, Any, Any]):
        def init(self, context: Any) -> None:
            context.state_store("counts")

    with pytest.raises(StateStoreError, match="processor 'greedy' has no state store 'counts'"):
        harness(source().add_processor("greedy", Greedy, "source"))


def test_what_millstream_raises_itself_is_no_function_of_the_users() -> None:
    with pytest.raises(SerdeError) as raised:
        Serdes.long.serialize("text")  # type: ignore[arg-type]
    own = user_function(raised.value)
    assert own is not None  # this test: the frames of the serde are not the user's
    assert own.startswith("test_what_millstream_raises_itself_is_no_function_of_the_users at test_failures.py:")
