"""Names of nodes, stores and internal topics: generated, given, optimised, and required to be given."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    BufferConfig,
    Consumed,
    Grouped,
    Joined,
    JoinWindows,
    KStream,
    Materialized,
    Repartitioned,
    Serdes,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TableJoined,
    TopologyError,
)
from millstream.graph.names import is_generated
from millstream.testing import TopologyTestDriver

STRINGS = (Serdes.string, Serdes.string)
TEXT = Consumed(*STRINGS)
BY_STRINGS = Grouped(*STRINGS)
DAY = timedelta(days=1)
WINDOWS = JoinWindows.of_time_difference(DAY)
EXPLICIT = StreamsConfig(ensure_explicit_internal_resource_naming=True)


def swap(key: Any, value: Any) -> Any:
    return value


# --- generated and given names


def test_a_given_name_uses_an_index_up(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.filter(lambda key, value: True, name="mine").to("out")

    assert list(builder.build().nodes) == ["KSTREAM-SOURCE-0000000000", "mine", "KSTREAM-SINK-0000000002"]


def test_a_repartition_topic_is_called_after_its_store(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.group_by(swap, BY_STRINGS).count()
    topology = builder.build()

    assert list(topology.stores) == ["KSTREAM-AGGREGATE-STATE-STORE-0000000002"]
    assert list(topology.internal_topics) == ["KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition"]


def test_a_repartition_topic_is_called_after_a_named_store(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.group_by(swap, BY_STRINGS).count(Materialized("counts"))

    assert list(builder.build().internal_topics) == ["counts-repartition"]


def test_a_repartition_topic_is_called_as_its_grouping(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    grouped = texts.group_by(swap, Grouped(*STRINGS, name="by-value"))
    grouped.count(Materialized("counts"))
    grouped.reduce(max, Materialized("maxima"))  # a named grouping has one topic for all

    assert list(builder.build().internal_topics) == ["by-value-repartition"]


def test_a_repartition_has_the_name_it_is_given_once(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.repartition(Repartitioned(name="again-repartition"))
    texts.repartition()

    assert list(builder.build().internal_topics) == [
        "again-repartition",
        "KSTREAM-REPARTITION-0000000004-repartition",
    ]


def test_internal_topics_carry_the_applications_name(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.group_by(swap, BY_STRINGS).count(Materialized("counts"))
    with TopologyTestDriver(builder.build(), StreamsConfig(application_id="shop")) as driver:
        driver.input_topic("in", *STRINGS).pipe("k", "v")

        assert driver.internal_topics == {"shop-counts-repartition", "shop-counts-changelog"}


def test_a_named_join_names_everything_after_itself(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    other = builder.stream("other", TEXT)
    names = StreamJoined(*STRINGS, Serdes.string, name="pair", store_name="pairs")
    texts.select_key(swap).outer_join(other.select_key(swap), max, WINDOWS, names)
    topology = builder.build()

    assert list(topology.internal_topics) == ["pair-left-repartition", "pair-right-repartition"]
    assert list(topology.stores) == [
        "pairs-outer-this-join-store",
        "pairs-outer-other-join-store",
        "pairs-outer-shared-join-store",
    ]
    assert [name for name in topology.nodes if name.startswith("pair-") and "repartition" not in name] == [
        "pair-this-windowed",
        "pair-other-windowed",
        "pair-outer-this-join",
        "pair-outer-other-join",
        "pair-merge",
    ]


# --- optimisation


@pytest.mark.parametrize(
    ("optimization", "topics"),
    [
        ("none", ["one-repartition", "two-repartition"]),
        ("merge_repartition_topics", ["one-repartition"]),
        ("all", ["one-repartition"]),
    ],
)
def test_merged_repartitions_have_the_name_of_the_first(optimization: Any, topics: list[str]) -> None:
    builder = StreamsBuilder(StreamsConfig(topology_optimization=optimization))
    changed = builder.stream("in", TEXT).select_key(swap)
    for name in ("one", "two"):
        changed.group_by_key(Grouped(*STRINGS, name=name)).count()
    topology = builder.build()

    assert list(topology.internal_topics) == topics
    with TopologyTestDriver(topology) as driver:
        driver.input_topic("in", *STRINGS).pipe("k", "v")


def test_merged_repartitions_take_the_serdes_that_one_of_them_knows() -> None:
    builder = StreamsBuilder(StreamsConfig(topology_optimization="all"))
    changed = builder.stream("in", TEXT).select_key(swap)
    changed.group_by_key().count(Materialized("one", key=Serdes.string))
    changed.group_by_key(Grouped(Serdes.string)).count(Materialized("two"))
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", *STRINGS).pipe("k", "v")

        assert driver.key_value_store("one").get("v") == driver.key_value_store("two").get("v") == 1


def test_a_tables_topic_can_be_its_changelog(builder: StreamsBuilder) -> None:
    builder.table("in", TEXT, Materialized("rows"))

    assert builder.build().source_topic_changelogs == {}
    optimized = builder.build(StreamsConfig(topology_optimization="reuse_ktable_source_topics"))
    assert optimized.source_topic_changelogs == {"rows": "in"}


def test_a_self_join_can_have_one_store(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.join(texts, lambda one, two: one + two, WINDOWS)

    assert len(builder.build().stores) == 2
    assert len(builder.build(StreamsConfig(topology_optimization="single_store_self_join")).stores) == 1


# --- build


def test_building_twice_gives_equal_topologies(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    table = builder.table("table", TEXT)
    texts.select_key(swap).join(table, max, Joined(*STRINGS, Serdes.string)).group_by(swap, BY_STRINGS).count()
    table.join(builder.table("other", TEXT), max, foreign_key=str)
    builder.global_table("global", TEXT)
    first, second = builder.build(), builder.build()

    assert str(first.describe()) == str(second.describe())
    assert first.stores == second.stores
    assert first.internal_topics == second.internal_topics
    assert first is not second
    with TopologyTestDriver(first) as one, TopologyTestDriver(second) as two:
        for driver in (one, two):
            driver.input_topic("in", *STRINGS).pipe("k", "v")


def test_a_builder_can_go_on_after_build(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.to("one")
    before = builder.build()
    texts.to("two")

    assert len(before.nodes) == 2
    assert len(builder.build().nodes) == 3


# --- names that must be given


def explicit_error(builder: StreamsBuilder) -> TopologyError:
    with pytest.raises(TopologyError, match="stores and internal topics must be named") as raised:
        builder.build(EXPLICIT)
    assert "Materialized" in str(raised.value.hint)
    return raised.value


def test_generated_names_can_be_refused(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.group_by(swap, BY_STRINGS).count()

    assert explicit_error(builder).detail == (
        "state stores: KSTREAM-AGGREGATE-STATE-STORE-0000000002; "
        "repartition topics: KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition"
    )


def test_the_builders_own_configuration_counts_too() -> None:
    builder = StreamsBuilder(EXPLICIT)
    builder.stream("in", TEXT).repartition()
    with pytest.raises(TopologyError, match="must be named"):
        builder.build()
    builder.build(StreamsConfig())


@pytest.mark.parametrize(
    ("write", "named"),
    [
        pytest.param(
            lambda s, t: s.repartition(), "repartition topics: KSTREAM-REPARTITION-0000000003", id="repartition"
        ),
        pytest.param(
            lambda s, t: s.group_by_key().count(),
            "state stores: KSTREAM-AGGREGATE-STATE-STORE-0000000003",
            id="aggregation",
        ),
        pytest.param(
            lambda s, t: s.join(s, max, WINDOWS, StreamJoined(name="j")),
            "state stores: KSTREAM-JOINTHIS-0000000005-store, KSTREAM-JOINOTHER-0000000006-store",
            id="join",
        ),
        pytest.param(
            lambda s, t: s.outer_join(s, max, WINDOWS, StreamJoined(name="j")), "KSTREAM-OUTERSHARED", id="outer join"
        ),
        pytest.param(
            lambda s, t: s.join(t.to_stream().to_table(), max),
            "state stores: KSTREAM-TOTABLE-STATE-STORE-0000000005",
            id="table that a join looks up",
        ),
        pytest.param(
            lambda s, t: t.join(t, max, Materialized("a"), foreign_key=str),
            "repartition topics: KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000003-topic, KTABLE-FK-JOIN",
            id="foreign key",
        ),
        pytest.param(
            lambda s, t: t.suppress(Suppressed.until_time_limit(DAY, BufferConfig.unbounded())),
            "state stores: KTABLE-SUPPRESS-STATE-STORE-0000000004",
            id="suppress",
        ),
        pytest.param(
            lambda s, t: t.group_by(lambda key, value: (key, value), BY_STRINGS).count(),
            "repartition topics: KTABLE-AGGREGATE-STATE-STORE-0000000004-repartition",
            id="grouped table",
        ),
    ],
)
def test_everything_that_outlives_a_task_must_be_named(write: Any, named: str) -> None:
    builder = StreamsBuilder()
    table = builder.table("table", Consumed(*STRINGS, name="t"), Materialized("rows"))
    write(builder.stream("in", Consumed(*STRINGS, name="s")), table)

    assert named in str(explicit_error(builder).detail)


def test_named_topologies_pass(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    table = builder.table("table", TEXT, Materialized("rows"))
    changed = texts.select_key(swap)
    changed.group_by_key(Grouped(*STRINGS, name="by")).count(Materialized("counts"))
    changed.join(table, max, Joined(*STRINGS, Serdes.string, name="looked-up"))
    texts.outer_join(builder.stream("other", TEXT), max, WINDOWS, StreamJoined(store_name="pairs"))
    table.join(table, max, Materialized("result"), foreign_key=str, table_joined=TableJoined(name="fk"))
    table.suppress(Suppressed.until_time_limit(DAY, BufferConfig.unbounded(), name="wait"))
    texts.repartition(Repartitioned(name="again"))
    builder.global_table("global", TEXT, Materialized("everywhere"))
    table.filter(lambda key, value: True).to_stream().to("out")  # keeps nothing, so it needs no name

    builder.build(EXPLICIT)


@pytest.mark.parametrize(
    ("name", "generated"),
    [
        ("KSTREAM-AGGREGATE-STATE-STORE-0000000002", True),
        ("KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition", True),
        ("orders-STATE-STORE-0000000000", True),
        ("KSTREAM-OUTERSHARED-0000000005-store", True),
        ("KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic", True),
        ("COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000004", True),
        ("orders", False),
        ("ORDERS-2024010112", False),
        ("events-20240101", False),
    ],
)
def test_which_names_are_generated(name: str, generated: bool) -> None:
    assert is_generated(name) is generated
