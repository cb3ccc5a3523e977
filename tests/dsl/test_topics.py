"""Where records come from and go to: patterns, several topics, chosen topics, partitioners, time."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    Consumed,
    ConsumedRecord,
    KStream,
    Produced,
    ProductionError,
    RecordContext,
    Repartitioned,
    Serdes,
    StreamsBuilder,
    TopologyError,
)
from millstream.testing import TopologyTestDriver
from millstream.topology.nodes import SourceNode

STRINGS = (Serdes.string, Serdes.string)
TEXT = Consumed(*STRINGS)


# --- in


def test_a_pattern_reads_every_topic_that_matches_as_a_whole(builder: StreamsBuilder) -> None:
    builder.stream(re.compile("orders-[a-z]+"), TEXT).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("orders-eu", *STRINGS).pipe("k", "eu")
        driver.input_topic("orders-us", *STRINGS).pipe("k", "us")
        with pytest.raises(ValueError, match="does not read topic 'old-orders-eu'"):
            driver.input_topic("old-orders-eu", *STRINGS).pipe("k", "old")

        assert driver.output_topic("out", *STRINGS).read_values() == ["eu", "us"]


def test_equal_patterns_share_a_source(builder: StreamsBuilder) -> None:
    for number in (1, 2):
        builder.stream(re.compile("in-.*"), TEXT).to(f"out-{number}")
    topology = builder.build()

    assert [name for name, node in topology.nodes.items() if isinstance(node, SourceNode)] == [
        "KSTREAM-SOURCE-0000000000"
    ]


def test_a_topic_that_a_pattern_matches_has_one_reader(builder: StreamsBuilder) -> None:
    builder.stream(re.compile("in-.*"), TEXT)
    builder.stream("in-1", TEXT)
    with pytest.raises(TopologyError, match="topic in-1 matches a pattern already registered by another source"):
        builder.build()


@pytest.mark.parametrize("topics", [["a", "b"], ("a", "b"), iter(["a", "b"])])
def test_one_stream_of_several_topics(builder: StreamsBuilder, run: Any, topics: Any) -> None:
    builder.stream(topics, TEXT).to("out")

    assert run([("b", "k", "1"), ("a", "k", "2")]) == [("k", "1"), ("k", "2")]


def test_equal_topics_share_a_source_and_others_may_not_overlap(builder: StreamsBuilder) -> None:
    builder.stream(["a", "b"], TEXT)
    builder.stream(["b", "a"], TEXT)
    assert len(builder.build().nodes) == 1

    builder.stream("b", TEXT)
    with pytest.raises(TopologyError, match="overlapping but not equal input topics") as raised:
        builder.build()
    assert raised.value.detail == (
        "'KSTREAM-SOURCE-0000000000' reads ['a', 'b'], 'KSTREAM-SOURCE-0000000002' reads ['b']"
    )


def test_a_timestamp_extractor_gives_event_time(builder: StreamsBuilder) -> None:
    def time_of(record: ConsumedRecord, partition_time: int) -> int:
        return int(record.value)

    builder.stream("in", Consumed(*STRINGS, timestamp_extractor=time_of)).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", *STRINGS).pipe("k", "77", timestamp=1)
        driver.input_topic("in", *STRINGS).pipe("k", "-1", timestamp=2)

        assert [record.timestamp for record in driver.output_topic("out", *STRINGS).read_records()] == [77]
        assert driver.dropped_records_total == 1


@pytest.mark.parametrize("reset", ["earliest", "latest", "none", timedelta(hours=1)])
def test_offset_resets_are_those_of_the_source(builder: StreamsBuilder, reset: Any) -> None:
    builder.stream("in", Consumed(*STRINGS, offset_reset=reset))
    builder.table("table", Consumed(*STRINGS, offset_reset=reset))
    sources = [node for node in builder.build().nodes.values() if isinstance(node, SourceNode)]

    assert [source.offset_reset for source in sources] == [reset, reset]


def test_two_streams_of_a_topic_must_agree_where_to_start(builder: StreamsBuilder) -> None:
    builder.stream("in", Consumed(*STRINGS, offset_reset="earliest"))
    builder.stream("in", Consumed(*STRINGS, offset_reset="latest"))
    with pytest.raises(TopologyError, match="different offset reset policies") as raised:
        builder.build()

    assert raised.value.detail == ("'KSTREAM-SOURCE-0000000000' has earliest, 'KSTREAM-SOURCE-0000000001' has latest")


# --- out


def test_the_topic_can_be_chosen_for_each_record(texts: KStream[str, str], builder: StreamsBuilder) -> None:
    seen: list[RecordContext] = []

    def by_value(key: str, value: str, context: RecordContext) -> str:
        seen.append(context)
        return f"out-{value}"

    texts.to(by_value)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", *STRINGS).pipe_values(["a", "b", "a"])

        assert driver.produced_topic_names == {"out-a", "out-b"}
        assert driver.output_topic("out-a", *STRINGS).read_values() == ["a", "a"]
    assert [(context.topic, context.partition, context.offset) for context in seen] == [
        ("in", 0, offset) for offset in range(3)
    ]


def test_a_chosen_topic_needs_a_name(texts: KStream[str, str], run: Any) -> None:
    texts.to(lambda key, value, context: "")
    with pytest.raises(ProductionError, match="has no topic for a record") as raised:
        run([("in", "k", "v")])

    assert "<lambda> at test_topics.py:" in str(raised.value.detail)


@pytest.mark.parametrize(
    ("answer", "partitions"),
    [
        pytest.param(None, [0], id="Kafka's own way"),
        pytest.param(3, [3], id="one"),
        pytest.param({1, 2}, [1, 2], id="several"),
        pytest.param([2, 0], [2, 0], id="several in order"),
        pytest.param([], [], id="none"),
    ],
)
def test_a_partitioner_chooses_partitions(builder: StreamsBuilder, answer: Any, partitions: list[int]) -> None:
    asked: list[tuple[str, str, str]] = []

    def choose(topic: str, key: str, value: str, count: int) -> Any:
        asked.append((topic, key, value))
        return answer

    builder.stream("in", TEXT).to("out", Produced(partitioner=choose))
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", *STRINGS).pipe("k", "v")

        assert [record.partition for record in driver.take_outputs()] == partitions
        assert driver.dropped_records_total == (0 if partitions else 1)
    assert asked == [("out", "k", "v")]


def test_a_repartition_has_a_partitioner_and_a_count_too(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    asked: list[str] = []

    def choose(topic: str, key: str, value: str, count: int) -> int:
        asked.append(topic)
        return 0

    texts.repartition(Repartitioned(name="again", partitions=4, partitioner=choose)).to("out")
    topology = builder.build()
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("in", *STRINGS).pipe("k", "v")

        assert driver.output_topic("out", *STRINGS).read_values() == ["v"]
    assert topology.internal_topics == {"again-repartition": 4}
    assert asked == ["app-again-repartition"]
