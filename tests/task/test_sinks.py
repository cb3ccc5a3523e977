"""Where records are sent."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import ProductionError
from millstream.serdes import Serdes
from millstream.topology.topology import Topology


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
