"""Input and output topics of the test driver."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from millstream.errors import ArgumentError, SerdeError
from millstream.records import Headers
from millstream.serdes import Serdes
from millstream.testing import EmptyTopicError, TestInputTopic, TestOutputTopic, TestRecord, TopologyTestDriver
from millstream.topology.topology import Topology

SECOND = timedelta(seconds=1)


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    topology = Topology().add_source("source", "in", key=Serdes.bytes, value=Serdes.bytes)
    topology.add_sink("sink", "out", "source", key=Serdes.bytes, value=Serdes.bytes)
    with TopologyTestDriver(topology, wall_clock_start=5000) as result:
        yield result


@pytest.fixture
def source(driver: TopologyTestDriver) -> TestInputTopic[str, str]:
    return driver.input_topic("in", Serdes.string, Serdes.string)


@pytest.fixture
def output(driver: TopologyTestDriver) -> TestOutputTopic[str, str]:
    return driver.output_topic("out", Serdes.string, Serdes.string)


def times(output: TestOutputTopic[str, str]) -> list[int | None]:
    return [record.timestamp for record in output.read_records()]


def test_records_without_a_timestamp_get_the_drivers_time(
    source: TestInputTopic[str, str], output: TestOutputTopic[str, str]
) -> None:
    source.pipe("k", "v")
    source.advance_time(SECOND)
    source.pipe_value("v")
    source.pipe("k", "v", timestamp=1)
    source.pipe("k", "v", timestamp=datetime.fromtimestamp(2, UTC))
    source.pipe("k", "v")
    assert times(output) == [5000, 6000, 1, 2000, 6000]


def test_a_topic_can_advance_by_itself(driver: TopologyTestDriver, output: TestOutputTopic[str, str]) -> None:
    source = driver.input_topic("in", Serdes.string, Serdes.string, start=100, auto_advance=SECOND)
    source.pipe_values(["a", "b"])
    source.pipe("k", "v", timestamp=7)
    source.pipe_value("c")
    assert times(output) == [100, 1100, 7, 2100]


def test_lists_of_records(source: TestInputTopic[str, str], output: TestOutputTopic[str, str]) -> None:
    source.pipe_key_values([("a", "1"), ("b", "2")], start=10, advance=SECOND)
    source.pipe_values(["3"], start=20)
    source.pipe_records([TestRecord("c", "4", 30, Headers([("h", b"x")]))])

    assert output.size == 4
    assert output.read_records() == [
        TestRecord("a", "1", 10),
        TestRecord("b", "2", 1010),
        TestRecord(None, "3", 20),
        TestRecord("c", "4", 30, Headers([("h", b"x")])),
    ]


def test_ways_to_read(source: TestInputTopic[str, str], output: TestOutputTopic[str, str]) -> None:
    pairs: list[tuple[str | None, str | None]] = [("a", "1"), ("b", "2"), ("a", None)]
    source.pipe_key_values(pairs)
    assert output.read_value() == "1"
    assert output.read_key_value() == ("b", "2")
    deleted: TestRecord[Any, Any] = TestRecord("a", None, 5000)
    assert output.read_record() == deleted
    source.pipe_key_values(pairs)
    assert output.read_key_values_to_map() == {"a": None, "b": "2"}
    source.pipe_key_values(pairs)
    assert output.read_key_values() == pairs
    source.pipe_value("x")
    with pytest.raises(ArgumentError, match="without a key"):
        output.read_key_values_to_map()


def test_reading_an_empty_topic_tells_where_records_are(
    driver: TopologyTestDriver, source: TestInputTopic[str, str]
) -> None:
    source.pipe("k", "v")
    with pytest.raises(EmptyTopicError, match="topic 'oops' has no record to read") as raised:
        driver.output_topic("oops", Serdes.string, Serdes.string).read_value()
    assert "out (1)" in str(raised.value)


def test_the_wrong_serde_says_so(source: TestInputTopic[str, str], driver: TopologyTestDriver) -> None:
    source.pipe("k", "v")
    with pytest.raises(SerdeError, match="long"):
        driver.output_topic("out", Serdes.string, Serdes.long).read_value()
    with pytest.raises(SerdeError, match="string"):
        source.pipe("k", 1)  # type: ignore[arg-type]
