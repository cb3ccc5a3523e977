"""`TopologyTestDriver`: one record at a time, with punctuation, commit and feedback."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.config import StreamsConfig
from millstream.errors import ArgumentError, ProcessingError, StateStoreError
from millstream.processors.api import Processor, PunctuationType
from millstream.records import Record, ValueAndTimestamp
from millstream.serdes import Serdes
from millstream.state import Stores
from millstream.testing import TopologyTestDriver
from millstream.topology.topology import Topology

STRINGS: dict[str, Any] = {"key": Serdes.string, "value": Serdes.string}


class Upper(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_value(record.value.upper()))


class Count(Processor[str, str, str, str]):
    """Counts records by key; tells counts at wall-clock and stream-time punctuations."""

    def init(self, context: Any) -> None:
        self._store = context.state_store("counts")
        context.schedule(timedelta(milliseconds=10), PunctuationType.STREAM_TIME, lambda now: self._tell("s", now))
        context.schedule(timedelta(milliseconds=10), PunctuationType.WALL_CLOCK_TIME, lambda now: self._tell("w", now))

    def process(self, record: Record[str, str]) -> None:
        self._store.put(record.key, (self._store.get(record.key) or 0) + 1)

    def _tell(self, tag: str, now: int) -> None:
        for key, count in self._store.all():
            self.context.forward(Record(key, f"{tag}{count}@{now}", now))


def strings() -> Topology:
    return Topology().add_source("source", "in", **STRINGS)


def counting() -> Topology:
    topology = strings().add_processor("count", Count, "source").add_sink("sink", "out", "count", **STRINGS)
    builder = Stores.key_value_store(Stores.in_memory_key_value("counts"), Serdes.string, Serdes.long)
    return topology.add_state_store(builder, "count")


def test_a_record_goes_in_and_comes_out() -> None:
    topology = strings().add_processor("upper", Upper, "source").add_sink("sink", "out", "upper", **STRINGS)
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("in", Serdes.string, Serdes.string).pipe("k", "v", timestamp=5)
        output = driver.output_topic("out", Serdes.string, Serdes.string)

        assert output.read_key_value() == ("k", "V")
        assert output.is_empty
        assert driver.produced_topic_names == {"out"}
        assert driver.metrics()["process-total"] == 1


def test_punctuation_follows_records_and_the_mock_clock() -> None:
    with TopologyTestDriver(counting(), wall_clock_start=0) as driver:
        source = driver.input_topic("in", Serdes.string, Serdes.string)
        output = driver.output_topic("out", Serdes.string, Serdes.string)
        for time in (42, 42, 51, 52, 61, 71, 95, 101):
            source.pipe("k", "v", time)
        assert output.read_values() == ["s1@42", "s3@51", "s5@61", "s6@71", "s7@95", "s8@101"]

        for step in (5, 9, 1, 20, 5):
            driver.advance_wall_clock(timedelta(milliseconds=step))
        assert output.read_values() == ["w8@14", "w8@35", "w8@40"]


def test_stores_can_be_read_and_prepared() -> None:
    with TopologyTestDriver(counting()) as driver:
        driver.key_value_store("counts").put("k", 41)
        driver.input_topic("in", Serdes.string, Serdes.string).pipe("k", "v", 0)

        assert driver.key_value_store("counts").get("k") == 42
        assert list(driver.stores) == ["counts"]
        assert driver.internal_topics == {"app-counts-changelog"}
        with pytest.raises(StateStoreError, match="the topology has no state store 'other'"):
            driver.store("other")
        with pytest.raises(StateStoreError, match="'counts' is not a SessionStore"):
            driver.session_store("counts")


def test_a_timestamped_store_can_be_seen_without_timestamps() -> None:
    topology = strings().add_processor("upper", Upper, "source")
    builder = Stores.timestamped_key_value_store(Stores.in_memory_key_value("s"), Serdes.string, Serdes.string)
    with TopologyTestDriver(topology.add_state_store(builder, "upper")) as driver:
        driver.timestamped_key_value_store("s").put("a", ValueAndTimestamp("x", 7))
        plain = driver.key_value_store("s")
        plain.put("b", "y")

        assert plain.get("a") == "x"
        assert list(plain.all()) == [("a", "x"), ("b", "y")]
        assert driver.timestamped_key_value_store("s").get("b") == ValueAndTimestamp("y", -1)
        assert plain.put_if_absent("a", "z") == "x"
        assert plain.delete("a") == "x"
        assert plain.approximate_num_entries() == 1


def test_a_timestamped_window_store_can_be_seen_without_timestamps() -> None:
    topology = strings().add_processor("upper", Upper, "source")
    supplier = Stores.in_memory_window("w", timedelta(seconds=10), timedelta(seconds=1))
    builder = Stores.timestamped_window_store(supplier, Serdes.string, Serdes.string)
    with TopologyTestDriver(topology.add_state_store(builder, "upper")) as driver:
        plain = driver.window_store("w")
        plain.put("k", "x", 1000)

        assert plain.fetch("k", 1000) == "x"
        assert list(plain.fetch_range("k", 0, 2000)) == [(1000, "x")]
        assert [value for _, value in plain.all()] == ["x"]
        assert driver.timestamped_window_store("w").fetch("k", 1000) == ValueAndTimestamp("x", -1)


def test_topics_that_the_topology_reads_itself_are_fed_back_after_the_record_that_wrote_them() -> None:
    topology = strings().add_sink("to-mid", "mid", "source", **STRINGS)
    topology.add_processor("upper", Upper, "source").add_sink("direct", "out", "upper", **STRINGS)
    topology.add_source("mid", "mid", **STRINGS).add_sink("from-mid", "out", "mid", **STRINGS)
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("in", Serdes.string, Serdes.string).pipe("k", "v", 0)

        assert [(sent.topic, sent.value) for sent in driver.take_outputs()] == [
            ("mid", b"v"),
            ("out", b"V"),
            ("out", b"v"),
        ]
        assert driver.take_outputs() == []


def test_internal_topics_have_their_full_names() -> None:
    topology = strings().add_sink("to-mid", "x-repartition", "source", **STRINGS)
    topology.add_source("mid", "x-repartition", **STRINGS).add_sink("sink", "out", "mid", **STRINGS)
    topology.add_internal_topic("x-repartition")
    with TopologyTestDriver(topology, StreamsConfig(application_id="shop")) as driver:
        driver.input_topic("in", Serdes.string, Serdes.string).pipe("k", "v", 0)

        assert [sent.topic for sent in driver.take_outputs()] == ["shop-x-repartition", "out"]
        assert driver.internal_topics == {"shop-x-repartition"}


def test_an_unknown_input_topic_is_an_error_that_names_the_known_ones() -> None:
    with (
        TopologyTestDriver(strings()) as driver,
        pytest.raises(ArgumentError, match="does not read topic 'other'") as raised,
    ):
        driver.pipe("other", b"k", b"v", 0)
    assert "it reads in" in str(raised.value)


def test_a_failing_record_keeps_what_was_sent_before() -> None:
    class Fail(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record)
            raise ValueError("boom")

    topology = strings().add_processor("fail", Fail, "source").add_sink("sink", "out", "fail", **STRINGS)
    driver = TopologyTestDriver(topology)
    with pytest.raises(ProcessingError):
        driver.pipe("in", b"k", b"v", 0)
    assert [sent.topic for sent in driver.take_outputs()] == ["out"]
    driver.close()
    driver.close()


def test_global_topics_update_their_store_at_once() -> None:
    class Keep(Processor[str, str, None, None]):
        def init(self, context: Any) -> None:
            self._store = context.state_store("names")

        def process(self, record: Record[str, str]) -> None:
            self._store.put(record.key, record.value)

    class Look(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record.with_value(self.context.state_store("names").get(record.value)))

    builder = Stores.key_value_store(Stores.in_memory_key_value("names"), Serdes.string, Serdes.string)
    topology = strings().add_processor("look", Look, "source").add_sink("sink", "out", "look", **STRINGS)
    topology.add_global_store(builder.without_logging(), "gs", "names-topic", "gp", Keep, **STRINGS)
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("names-topic", Serdes.string, Serdes.string).pipe("eu", "Europe", 0)
        driver.input_topic("in", Serdes.string, Serdes.string).pipe("k", "eu", 0)

        assert driver.output_topic("out", Serdes.string, Serdes.string).read_value() == "Europe"
        assert list(driver.stores) == ["names"]
        assert driver.internal_topics == set()


def test_waiting_for_an_empty_topic_ends_with_the_clock() -> None:
    topology = Topology().add_source("source", "a", "b", **STRINGS).add_sink("sink", "out", "source", **STRINGS)
    config = StreamsConfig(max_task_idle=timedelta(seconds=1))
    with TopologyTestDriver(topology, config, wall_clock_start=datetime(2026, 1, 1, tzinfo=UTC)) as driver:
        output = driver.output_topic("out", Serdes.string, Serdes.string)
        driver.pipe("a", b"k", b"v1", 0)
        driver.pipe("b", b"k", b"v0", 5)
        assert output.read_values() == ["v1"]
        driver.advance_wall_clock(timedelta(seconds=1))
        assert output.read_values() == ["v0"]
        assert driver.metrics()["enforced-processing-total"] == 1


def test_files_of_persistent_stores_are_removed(tmp_path: Path) -> None:
    topology = strings().add_processor("upper", Upper, "source")
    builder = Stores.key_value_store(Stores.persistent_key_value("s"), Serdes.string, Serdes.string)
    topology.add_state_store(builder, "upper")
    with TopologyTestDriver(topology, StreamsConfig(state_dir=tmp_path)) as driver:
        driver.key_value_store("s").put("k", "v")
        assert (tmp_path / "app" / "0_0").exists()
    assert not (tmp_path / "app" / "0_0").exists()
