"""A serde that nobody gave is missed when the driver is made: who needs it, where its data comes from, what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    BufferConfig,
    Consumed,
    Grouped,
    Joined,
    JoinWindows,
    Materialized,
    Processor,
    Produced,
    Record,
    SerdeError,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
)
from millstream.testing import TopologyTestDriver

TEXT = Consumed(Serdes.string, Serdes.string)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


class Drop(Processor[Any, Any, Any, Any]):
    def process(self, record: Record[Any, Any]) -> None:
        """Nothing comes of it."""


def one(value: Any) -> Any:
    return value


def two(first: Any, second: Any) -> Any:
    return first, second


def three(first: Any, second: Any, third: Any) -> Any:
    return first


def at(function: Callable[..., Any]) -> str:
    return f"{function.__name__} at test_missing_serdes.py:{function.__code__.co_firstlineno}"


def stream(builder: StreamsBuilder) -> Any:
    return builder.stream("in", TEXT)


def table(builder: StreamsBuilder, topic: str = "table") -> Any:
    return builder.table(topic, TEXT)


def suppressed(builder: StreamsBuilder) -> None:
    limit = Suppressed.until_time_limit(DAY, BufferConfig.unbounded(), name="wait")
    table(builder).map_values(one).suppress(limit)


def windowed_sink(builder: StreamsBuilder) -> None:
    days = builder.stream("in", TEXT).select_key(two).group_by_key(Grouped(name="g"))
    days.windowed_by(TimeWindows.of_size(DAY)).count().to_stream().to("out", Produced(value=Serdes.long))


def versioned_join(builder: StreamsBuilder) -> None:
    versions = Materialized(store=Stores.persistent_versioned_key_value("v", DAY))
    rows = builder.table("table", TEXT, versions)
    stream(builder).map_values(one).join(rows, two, Joined(name="j", grace=HOUR))


JOIN = JoinWindows.of_time_difference(DAY)

CASES: list[tuple[str, Callable[[StreamsBuilder], object], str, str, str]] = [
    # what is wrong, how it is written, who needs the serde and of what, where the data comes from, what to do
    ("source", lambda b: b.stream("in"), "node 'KSTREAM-SOURCE-0000000000'/key", "topic in", "Consumed(key=...)"),
    (
        "source of two",
        lambda b: b.stream(["a", "b"], Consumed(Serdes.string)),
        "node 'KSTREAM-SOURCE-0000000000'/value",
        "topic a, b",
        "Consumed(value=...)",
    ),
    (
        "pattern",
        lambda b: b.stream(re.compile("in-.*")),
        "node 'KSTREAM-SOURCE-0000000000'/key",
        "topics like in-.*",
        "Consumed(key=...)",
    ),
    (
        "table",
        lambda b: b.table("in", Consumed(Serdes.string)),
        "node 'KSTREAM-SOURCE-0000000001'/value",
        "topic in",
        "Consumed(value=...)",
    ),
    (
        "global table",
        lambda b: b.global_table("in", Consumed(name="g")),
        "node 'g-source'/key",
        "topic in",
        "Consumed(key=...)",
    ),
    (
        "sink",
        lambda b: stream(b).map_values(one).to("out"),
        "node 'KSTREAM-SINK-0000000002'/value",
        f"map_values({at(one)})",
        "Produced(value=...)",
    ),
    (
        "sink's key",
        lambda b: stream(b).select_key(two).filter(two).peek(two).to("out", Produced(name="sink")),
        "node 'sink'/key",
        f"select_key({at(two)})",
        "Produced(key=...)",
    ),
    (
        "merge",
        lambda b: stream(b).merge(b.stream("other", Consumed(Serdes.long, Serdes.string))).to("out"),
        "node 'KSTREAM-SINK-0000000003'/key",
        "a merge of streams that do not share a serde",
        "Produced(key=...)",
    ),
    (
        "processor",
        lambda b: stream(b).process(Drop).to("out"),
        "node 'KSTREAM-SINK-0000000002'/key",
        "process(Drop)",
        "Produced(key=...)",
    ),
    (
        "repartition",
        lambda b: stream(b).flat_map(two).repartition(),
        "node 'KSTREAM-SINK-0000000003'/key",
        f"flat_map({at(two)})",
        "Repartitioned(key=...)",
    ),
    (
        "grouping",
        lambda b: stream(b).group_by(two, Grouped(name="by")).count(),
        "node 'by-repartition-sink'/key",
        f"group_by({at(two)})",
        "Grouped(key=...)",
    ),
    (
        "windowed key",
        windowed_sink,
        "node 'g-repartition-sink'/key",
        f"select_key({at(two)})",
        "Grouped(key=...)",
    ),
    (
        "aggregate",
        lambda b: stream(b).group_by_key().aggregate(list, three, Materialized("sums")),
        "store 'sums'/value",
        f"aggregate({at(three)})",
        "Materialized(value=...)",
    ),
    (
        "cogroup",
        lambda b: stream(b).group_by_key().cogroup(three).aggregate(list, Materialized("sums")),
        "store 'sums'/value",
        f"cogroup({at(three)})",
        "Materialized(value=...)",
    ),
    (
        "reduce",
        lambda b: stream(b).map_values(one).group_by_key().reduce(two, Materialized("all")),
        "store 'all'/value",
        f"map_values({at(one)})",
        "Grouped(value=...)",
    ),
    (
        "grouped table",
        lambda b: table(b).group_by(two, Grouped(Serdes.string)).count(name="c"),
        "node 'c-sink'/value",
        f"group_by({at(two)})",
        "Grouped(value=...)",
    ),
    (
        "kept table",
        lambda b: table(b).map_values(one, Materialized("kept")),
        "store 'kept'/value",
        f"map_values({at(one)})",
        "Materialized(value=...)",
    ),
    (
        "to_table",
        lambda b: stream(b).map_values(one).to_table(Materialized("kept")),
        "store 'kept'/value",
        f"map_values({at(one)})",
        "Materialized(value=...)",
    ),
    (
        "suppress",
        suppressed,
        "store 'wait-store'/value",
        f"map_values({at(one)})",
        "Materialized(value=...) above the suppress",
    ),
    (
        "table join",
        lambda b: table(b).join(table(b, "other"), two, Materialized("both")),
        "store 'both'/value",
        f"join({at(two)})",
        "Materialized(value=...)",
    ),
    (
        "stream join",
        lambda b: stream(b).outer_join(b.stream("other", TEXT).map_values(one), two, JOIN),
        "store 'KSTREAM-OUTEROTHER-0000000006-store'/value",
        f"map_values({at(one)})",
        "StreamJoined(other_value=...)",
    ),
    (
        "join with a table",
        lambda b: stream(b).select_key(two).left_join(table(b), two, Joined(name="j")),
        "node 'j-repartition-sink'/key",
        f"select_key({at(two)})",
        "Joined(key=...)",
    ),
    ("grace", versioned_join, "store 'j-Buffer'/value", f"map_values({at(one)})", "Joined(value=...)"),
    (
        "foreign key, left",
        lambda b: table(b).map_values(one).join(table(b, "other"), two, foreign_key=one, name="fk"),
        "fk-subscription-registration-processor/value",
        f"map_values({at(one)})",
        "Materialized(value=...) of the left table",
    ),
    (
        "foreign key, right",
        lambda b: table(b).join(table(b, "other").map_values(one), two, foreign_key=one, name="fk"),
        "node 'fk-subscription-response-sink'/value",
        f"map_values({at(one)})",
        "Materialized(value=...) of the right table",
    ),
    (
        "foreign key, result",
        lambda b: table(b).left_join(table(b, "other"), two, Materialized("result"), foreign_key=one),
        "store 'result'/value",
        f"left_join({at(two)})",
        "Materialized(value=...)",
    ),
]


@pytest.mark.parametrize(("write", "who", "origin", "option"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_the_error_says_who_where_and_what(write: Any, who: str, origin: str, option: str) -> None:
    builder = StreamsBuilder()
    write(builder)
    topology = builder.build()
    needs, part = who.rsplit("/")
    with pytest.raises(SerdeError) as raised:
        TopologyTestDriver(topology)

    assert raised.value.primary == f"{needs} has no {part} serde"
    assert raised.value.detail == f"its input comes from {origin}, whose {part}s have no known type"
    assert raised.value.hint == f"give one with {option} or set default_{part}_serde"


@pytest.mark.parametrize("write", [pytest.param(case[1], id=case[0]) for case in CASES])
def test_the_configured_defaults_take_their_place(write: Any) -> None:
    builder = StreamsBuilder()
    write(builder)
    config = StreamsConfig(default_key_serde=Serdes.string, default_value_serde=Serdes.string)

    TopologyTestDriver(builder.build(), config).close()


def test_a_store_of_the_users_own_is_named() -> None:
    builder = StreamsBuilder()
    builder.add_state_store(Stores.key_value_store(Stores.in_memory_key_value("seen"), Serdes.string))
    stream(builder).process(Drop, "seen")
    with pytest.raises(SerdeError, match="store 'seen' has no value serde") as raised:
        TopologyTestDriver(builder.build())

    assert "default_value_serde" in str(raised.value.hint)


def test_serdes_flow_as_long_as_nothing_new_is_made() -> None:
    builder = StreamsBuilder()
    counted = stream(builder).filter(two).group_by_key().count()
    counted.filter(two).to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", Serdes.string, Serdes.string).pipe("k", "v")

        assert driver.output_topic("out", Serdes.string, Serdes.long).read_key_value() == ("k", 1)


def test_a_merge_of_streams_of_one_serde_keeps_it() -> None:
    builder = StreamsBuilder()
    stream(builder).merge(builder.stream("other", TEXT)).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("other", Serdes.string, Serdes.string).pipe("k", "v")

        assert driver.output_topic("out", Serdes.string, Serdes.string).read_key_value() == ("k", "v")
