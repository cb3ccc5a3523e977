"""Where records are sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream import Consumed, StreamsBuilder
from millstream.config import StreamsConfig
from millstream.errors import ProductionError
from millstream.processors.operator import Operator
from millstream.processors.user_context import HostContext
from millstream.records import Window, Windowed
from millstream.serdes import Serdes
from millstream.task.context import host_context
from millstream.task.task import Task
from millstream.topology.topology import Topology

TWO_KEYS = [(b"a", b"1"), (b"a", b"2"), (b"b", b"last")]


def test_nulls_stay_null(source: Any, sink: Any, harness: Any, process: Any) -> None:
    runs = harness(sink(source(), "source"))
    runs.add("in", (None, None, 3))
    process(runs.task)
    assert runs.task.take_outputs() == [("out", None, None, None, 3, None)]


def test_a_function_can_choose_the_topic(source: Any, sink: Any, harness: Any) -> None:
    def choose(key: str, value: str, context: Any) -> str:
        return f"{value}-{context.topic}-{context.offset}-{context.timestamp}"

    runs = harness(sink(source(), "source", topic=choose))
    runs.add("in", ("k", "eu", 3), ("k", "us", 4))
    runs.task.process_all()
    assert [topic for topic, *_ in runs.task.take_outputs()] == ["eu-in-0-3", "us-in-1-4"]


def test_a_function_that_chooses_the_topic_sees_the_input_as_it_was_read(source: Any, sink: Any, harness: Any) -> None:
    seen: list[Any] = []

    def choose(key: str, value: str, context: Any) -> str:
        seen.append((context.source_raw_key, context.source_raw_value))
        return "out"

    runs = harness(sink(source(), "source", topic=choose))
    runs.add("in", ("a", "x", 3), ("b", "y", 4), (None, None, 5))
    runs.task.process_all()
    assert seen == [(b"a", b"x"), (b"b", b"y"), (None, None)]


def test_what_a_cache_forwards_later_comes_with_no_other_input() -> None:
    seen: dict[str, Any] = {}

    def choose(key: str, count: int, context: Any) -> str:
        seen[key] = (context.offset, context.source_raw_value)
        return "out"

    builder = StreamsBuilder()
    counts = builder.stream("in", Consumed(Serdes.string, Serdes.string)).group_by_key().count()
    counts.to_stream().to(choose)
    task = Task(builder.build(), StreamsConfig())
    task.add_records("in", 0, [(key, value, 5, None, offset) for offset, (key, value) in enumerate(TWO_KEYS)])
    task.process_all()
    task.commit()
    assert seen == {"a": (1, None), "b": (2, b"last")}


def test_the_chosen_topic_must_be_a_name(source: Any, sink: Any, harness: Any) -> None:
    runs = harness(sink(source(), "source", topic=lambda *_: None))
    runs.add("in", ("k", "v", 0))
    with pytest.raises(ProductionError, match="sink 'sink' has no topic for a record"):
        runs.task.process_all()


@pytest.mark.parametrize(("answer", "partitions"), [(2, [2]), ({0, 1}, [0, 1]), (None, [None]), ((), [])])
def test_a_partitioner_chooses_none_one_or_several(
    source: Any, sink: Any, harness: Any, answer: Any, partitions: list[int | None]
) -> None:
    asked: list[Any] = []

    def partitioner(*arguments: Any) -> Any:
        asked.append(arguments)
        return answer

    runs = harness(sink(source(), "source", partitioner=partitioner))
    runs.add("in", ("k", "v", 0))
    runs.task.process_all()

    assert [partition for _, partition, *_ in runs.task.take_outputs()] == partitions
    assert asked == [("out", "k", "v", 1)]
    assert runs.task.metrics.dropped_records == (0 if partitions else 1)


def test_internal_topics_have_the_applications_prefix(source: Any, harness: Any) -> None:
    topology: Topology = source()
    topology.add_internal_topic("x-repartition")
    topology.add_sink("sink", "x-repartition", "source", key=Serdes.string, value=Serdes.string)
    runs = harness(topology, application_id="shop")
    runs.add("in", ("k", "v", 0))
    runs.task.process_all()
    assert [topic for topic, *_ in runs.task.take_outputs()] == ["shop-x-repartition"]


class Hashing(HostContext):
    """A host that chooses partitions by the length of the key."""

    def default_partition(self, topic: str, key: bytes) -> int | None:
        return None if topic == "unknown" else len(key)


@pytest.mark.parametrize("topic", ["out", lambda key, value, context: "out", "unknown"])
@pytest.mark.parametrize("windowed", [True, False])
def test_the_window_is_no_part_of_what_chooses_the_partition(
    source: Any, sink: Any, topic: Any, windowed: bool
) -> None:
    config = StreamsConfig(application_id="app")
    serde = Serdes.session_windowed(Serdes.string) if windowed else Serdes.string
    topology: Topology = source().add_operator(
        "window", lambda: Rekey(lambda key: Windowed(key, Window(1, 2)) if windowed and key else key), "source"
    )
    sink(topology, "window", topic=topic, key=serde)
    task = Task(topology, config, context=host_context(config, "0_0", Hashing))
    task.add_records("in", 0, [(b"abc", b"v", 0, None, 0), (None, b"v", 0, None, 1)])
    task.process_all()
    found = [output[1] for output in task.take_outputs()]
    assert found == [3 if windowed and topic != "unknown" else None, None]


def test_a_partitioner_goes_before_the_host(source: Any, sink: Any) -> None:
    config = StreamsConfig(application_id="app")
    topology = source().add_operator("window", lambda: Rekey(lambda key: Windowed(key, Window(1, 2))), "source")
    sink(topology, "window", key=Serdes.windowed_string, partitioner=lambda *_: 7)
    task = Task(topology, config, context=host_context(config, "0_0", Hashing))
    task.add_records("in", 0, [(b"abc", b"v", 0, None, 0)])
    task.process_all()
    assert [output[1] for output in task.take_outputs()] == [7]


class Rekey(Operator):
    """Gives every record another key."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def process(self, key: Any, value: Any, timestamp: int, headers: Any) -> None:
        self.forward(self._function(key), value, timestamp, headers)
