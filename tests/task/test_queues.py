"""Which record is next, and when its timestamp is taken."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import StreamsError
from millstream.extractors import LogAndSkipOnInvalidTimestamp, UsePartitionTimeOnInvalidTimestamp
from millstream.serdes import Serdes
from millstream.topology.topology import Topology


def test_the_smallest_timestamp_of_all_heads_goes_first(source: Any, sink: Any, harness: Any, process: Any) -> None:
    runs = harness(sink(source("a", "b"), "source"))
    runs.add("a", ("k", "a1", 1), ("k", "a5", 5), ("k", "a2", 2), ("k", "a9", 9))
    runs.add("b", ("k", "b3", 3), ("k", "b4", 4), ("k", "b8", 8))
    assert process(runs.task) == 7

    assert runs.values() == ["a1", "b3", "b4", "a5", "a2", "b8", "a9"]
    assert runs.task.context.stream_time == 9


def test_two_queues_with_equal_timestamps_alternate(source: Any, sink: Any, harness: Any, process: Any) -> None:
    runs = harness(sink(source("a", "b"), "source"))
    for topic in ("b", "a"):
        runs.add(topic, *(("k", f"{topic}{number}", 7) for number in range(3)))
    process(runs.task)

    assert runs.values() == ["b0", "a0", "b1", "a1", "b2", "a2"]


def test_both_ways_of_processing_break_ties_of_many_queues_alike(source: Any, sink: Any, harness: Any) -> None:
    topics = [f"t{number}" for number in range(6)]
    batched, stepped = (harness(sink(source(*topics), "source")) for _ in range(2))
    for number, topic in enumerate(topics):
        for runs in (batched, stepped):
            runs.add(topic, *(("k", f"{topic}@{time}", time) for time in (0, number % 2, 1, 1, number % 3)))
    batched.task.process_all()
    while stepped.task.process_next():
        pass

    assert batched.values() == stepped.values()


def test_stream_time_is_raised_before_a_record_is_processed(source: Any, harness: Any, do: Any, process: Any) -> None:
    seen: list[int] = []
    runs: Any = None
    topology = source().add_operator("do", lambda: do(lambda _: seen.append(runs.task.context.stream_time)), "source")
    runs = harness(topology)
    runs.add("in", ("k", "v", 5), ("k", "v", 3), ("k", "v", 8))
    process(runs.task)

    assert seen == [5, 5, 8]


def test_an_extractor_sees_the_record_and_the_partitions_time(
    source: Any, sink: Any, harness: Any, process: Any
) -> None:
    seen: list[Any] = []

    def extract(record: Any, partition_time: int) -> int:
        seen.append((record.value, record.offset, partition_time))
        return int(record.value)

    runs = harness(sink(source(timestamp_extractor=extract), "source"))
    runs.add("in", ("k", "20", 0), ("k", "10", 0), ("k", "30", 0))
    process(runs.task)

    assert seen == [("20", 0, -1), ("10", 1, 20), ("30", 2, 20)]
    assert [timestamp for *_, timestamp, _ in runs.task.take_outputs()] == [20, 10, 30]


def test_a_negative_timestamp_stops_the_task_by_default(source: Any, harness: Any, process: Any) -> None:
    runs = harness(source())
    with pytest.raises(StreamsError, match="no valid timestamp"):
        runs.add("in", ("k", "v", -1))
    runs = harness(source())
    runs.add("in", ("k", "v", 1), ("k", "v", -1))
    with pytest.raises(StreamsError, match="offset 1 has timestamp -1"):
        process(runs.task)


def test_a_negative_timestamp_can_be_skipped_or_replaced(source: Any, sink: Any, harness: Any, process: Any) -> None:
    for extractor, expected in (
        (LogAndSkipOnInvalidTimestamp(), [4, 6]),
        (UsePartitionTimeOnInvalidTimestamp(), [4, 4, 6]),
    ):
        runs = harness(sink(source(), "source"), default_timestamp_extractor=extractor)
        runs.add("in", ("k", "v", 4), ("k", "v", -7), ("k", "v", 6))
        process(runs.task)
        assert [timestamp for *_, timestamp, _ in runs.task.take_outputs()] == expected
        assert runs.task.metrics.dropped_records == 3 - len(expected)


def test_what_an_extractor_raises_stops_the_task(source: Any, harness: Any) -> None:
    runs = harness(source(timestamp_extractor=lambda record, _: record.value["time"]))
    with pytest.raises(StreamsError, match="timestamp extractor raised") as raised:
        runs.add("in", ("k", "v", 0))
    assert isinstance(raised.value.__cause__, TypeError)


def test_repartition_topics_keep_their_timestamps_and_have_the_applications_prefix(sink: Any, harness: Any) -> None:
    topology = Topology().add_source("source", "x-repartition", key=Serdes.string, value=Serdes.string)
    topology.add_internal_topic("x-repartition")
    runs = harness(sink(topology, "source"), default_timestamp_extractor=lambda *_: 99)
    runs.add("app-x-repartition", ("k", "v", 3))
    runs.task.process_all()

    assert [timestamp for *_, timestamp, _ in runs.task.take_outputs()] == [3]


def test_records_of_an_unknown_topic_are_refused(source: Any, harness: Any) -> None:
    with pytest.raises(Exception, match="no source of task 0_0 reads topic 'other'"):
        harness(source()).add("other", ("k", "v", 0))


def test_a_pattern_reads_topics_as_they_come(sink: Any, harness: Any) -> None:
    topology = Topology().add_source("source", pattern="orders-.*", key=Serdes.string, value=Serdes.string)
    runs = harness(sink(topology, "source"))
    runs.add("orders-eu", ("k", "v", 0))
    runs.task.process_all()
    assert runs.values() == ["v"]
    assert not runs.task.reads("others")
