"""Joins, merges and cogroups that cannot work: other builders, other things, other numbers of partitions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    ArgumentError,
    Consumed,
    Joined,
    JoinWindows,
    KStream,
    Repartitioned,
    Serdes,
    StreamsBuilder,
    TableJoined,
    TopologyError,
)
from millstream.topology.partitions import resolve_partitions

STRINGS = (Serdes.string, Serdes.string)
TEXT = Consumed(*STRINGS)
WINDOWS = JoinWindows.of_time_difference(timedelta(days=1))


class Parts:
    """A stream and tables of one builder."""

    def __init__(self) -> None:
        self.builder = StreamsBuilder()
        self.stream = self.builder.stream("in", TEXT)
        self.table = self.builder.table("table", TEXT)
        self.globals = self.builder.global_table("globals", TEXT)
        self.grouped = self.stream.group_by_key()


@pytest.mark.parametrize(
    ("operator", "use"),
    [
        ("merge", lambda a, b: a.stream.merge(b.stream)),
        ("join", lambda a, b: a.stream.join(b.stream, max, WINDOWS)),
        ("outer_join", lambda a, b: a.stream.outer_join(b.stream, max, WINDOWS)),
        ("left_join", lambda a, b: a.stream.left_join(b.table, max)),
        ("join", lambda a, b: a.stream.join(b.globals, max, max)),
        ("join", lambda a, b: a.table.join(b.table, max)),
        ("outer_join", lambda a, b: a.table.outer_join(b.table, max)),
        ("left_join", lambda a, b: a.table.left_join(b.table, max, foreign_key=str)),
        ("cogroup", lambda a, b: a.grouped.cogroup(max).cogroup(b.grouped, max)),
    ],
)
def test_two_builders_have_nothing_in_common(operator: str, use: Any) -> None:
    with pytest.raises(TopologyError) as raised:
        use(Parts(), Parts())

    assert raised.value.primary == f"{operator} needs streams and tables of one StreamsBuilder"
    assert raised.value.detail == "the two come from different ones"
    assert raised.value.hint == "make both with the same builder"


@pytest.mark.parametrize(
    ("primary", "use"),
    [
        ("a stream can be merged with a KStream", lambda p: p.stream.merge(p.table)),
        (
            "a stream can be joined with a KStream, a KTable or a GlobalKTable",
            lambda p: p.stream.join("other", max, WINDOWS),
        ),
        (
            "a stream can be joined with a KStream, a KTable or a GlobalKTable",
            lambda p: p.stream.left_join(p.grouped, max),
        ),
        ("a stream can be outer-joined with a KStream", lambda p: p.stream.outer_join(p.table, max, WINDOWS)),
        ("a stream can be outer-joined with a KStream", lambda p: p.stream.outer_join(p.globals, max, WINDOWS)),
        ("a table can be joined with a KTable", lambda p: p.table.join(p.stream, max)),
        ("a table can be joined with a KTable", lambda p: p.table.join(p.globals, max)),
        ("a table can be joined with a KTable", lambda p: p.table.join(p.stream, max, foreign_key=str)),
        ("cogroup needs a grouped stream", lambda p: p.grouped.cogroup(max).cogroup(p.stream, max)),
    ],
)
def test_only_streams_and_tables_can_be_joined(primary: str, use: Any) -> None:
    with pytest.raises(TopologyError) as raised:
        use(Parts())

    assert raised.value.primary == primary
    assert str(raised.value.detail).startswith("got ")


@pytest.mark.parametrize(
    ("primary", "detail", "hint", "use"),
    [
        (
            "join with a KTable cannot take these arguments",
            "missing a required argument: 'joiner'",
            "write join(table, joiner, Joined(...))",
            lambda p: p.stream.join(p.table),
        ),
        (
            "left_join with a KTable cannot take these arguments",
            "got an unexpected keyword argument 'name'",
            "write left_join(table, joiner, Joined(...))",
            lambda p: p.stream.left_join(p.table, max, name="j"),
        ),
        (
            "join with a KStream cannot take these arguments",
            "too many positional arguments",
            "write join(stream, joiner, windows, StreamJoined(...))",
            lambda p: p.stream.join(p.stream, max, WINDOWS, None, "j"),
        ),
        (
            "join with a GlobalKTable cannot take these arguments",
            "missing a required argument: 'joiner'",
            "write join(table, key_selector, joiner, name=...)",
            lambda p: p.stream.join(p.globals, max),
        ),
    ],
)
def test_joins_with_the_wrong_arguments(primary: str, detail: str, hint: str, use: Any) -> None:
    with pytest.raises(TopologyError) as raised:
        use(Parts())

    assert (raised.value.primary, raised.value.detail, raised.value.hint) == (primary, detail, hint)


def test_arguments_of_joins_have_names() -> None:
    parts = Parts()
    other = parts.builder.stream("other", TEXT)

    parts.stream.join(parts.table, joiner=max, joined=Joined(name="a"))
    parts.stream.left_join(other, joiner=max, windows=WINDOWS)
    parts.stream.join(parts.globals, key_selector=max, joiner=max, name="c")
    assert {"a", "c"} < set(parts.builder.build().nodes)


def test_options_of_foreign_key_joins_belong_there() -> None:
    parts = Parts()
    with pytest.raises(ArgumentError, match="table_joined belongs to a foreign-key join"):
        parts.table.join(parts.table, max, table_joined=TableJoined(name="x"))
    with pytest.raises(ArgumentError, match="the join has two names"):
        parts.table.join(parts.table, max, name="y", foreign_key=str, table_joined=TableJoined(name="x"))


# --- partitions


@pytest.mark.parametrize(
    "join",
    [
        lambda p: p.stream.join(p.table, max),
        lambda p: p.stream.join(p.builder.stream("table2", TEXT), max, WINDOWS),
        lambda p: p.table.join(p.builder.table("table2", TEXT), max),
    ],
)
def test_joined_topics_need_equally_many_partitions(join: Callable[[Parts], object]) -> None:
    parts = Parts()
    join(parts)
    counts = {"in": 3, "table": 4, "table2": 5, "globals": 1}
    with pytest.raises(TopologyError, match="topics not co-partitioned: ") as raised:
        resolve_partitions(parts.builder.build(), counts)

    assert raised.value.detail == "they are joined, so that equal keys must be in partitions of equal number"
    assert str(raised.value.hint).startswith("repartition() one side first")


@pytest.mark.parametrize(
    "join",
    [
        lambda p: p.stream.join(p.globals, max, max),
        lambda p: p.table.join(p.builder.table("table2", TEXT), max, foreign_key=str),
        lambda p: p.stream.merge(p.builder.stream("table2", TEXT)),
        lambda p: p.stream.repartition().join(p.table, max),
    ],
)
def test_others_do_not(join: Callable[[Parts], object]) -> None:
    parts = Parts()
    join(parts)
    resolve_partitions(parts.builder.build(), {"in": 3, "table": 4, "table2": 5, "globals": 1})


def test_a_repartition_follows_the_topic_it_is_joined_with(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.repartition(Repartitioned(name="r")).join(builder.table("table", TEXT), max)

    assert resolve_partitions(builder.build(), {"in": 3, "table": 4}) == {"r-repartition": 4}


def test_numbers_of_partitions_that_contradict_each_other_cannot_be_built(
    builder: StreamsBuilder, texts: KStream[str, str]
) -> None:
    left = texts.repartition(Repartitioned(name="left", partitions=2))
    right = texts.repartition(Repartitioned(name="right", partitions=3))
    left.join(right, max, WINDOWS)
    with pytest.raises(TopologyError) as raised:
        builder.build()

    assert raised.value.primary == (
        "following topics do not have the same number of partitions: left-repartition (2), right-repartition (3)"
    )
    assert raised.value.hint == "give the same number of partitions in both Repartitioned"


def test_a_number_of_partitions_must_be_that_of_the_topic_it_is_joined_with(
    builder: StreamsBuilder, texts: KStream[str, str]
) -> None:
    texts.repartition(Repartitioned(name="r", partitions=2)).join(builder.table("table", TEXT), max)
    topology = builder.build()
    with pytest.raises(TopologyError, match=r"number of partitions \[2\] of repartition topic \[r-repartition\]"):
        resolve_partitions(topology, {"in": 1, "table": 4})
