"""What cannot work is refused while the topology is written, or at the latest when it is built, in plain words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from millstream import (
    ArgumentError,
    Branched,
    BufferConfig,
    Consumed,
    EmitStrategy,
    Grouped,
    Joined,
    JoinWindows,
    Materialized,
    MillstreamError,
    Processor,
    Produced,
    Record,
    Repartitioned,
    Serdes,
    SessionWindows,
    SlidingWindows,
    Stores,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TableJoined,
    TimeWindows,
    TopologyError,
    UnlimitedWindows,
    WallclockTimestampExtractor,
)

STRINGS = (Serdes.string, Serdes.string)
TEXT = Consumed(*STRINGS)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
WINDOWS = JoinWindows.of_time_difference(DAY)


class Drop(Processor[Any, Any, Any, Any]):
    def process(self, record: Record[Any, Any]) -> None:
        """Nothing comes of it."""


class Writing:
    """A builder with a stream, a table and what can be made of them, to write wrong things with."""

    def __init__(self) -> None:
        self.builder = StreamsBuilder()
        self.stream = self.builder.stream("in", TEXT)
        self.table = self.builder.table("table", TEXT)
        self.grouped = self.stream.group_by_key()

    def windowed(self, windows: Any = None) -> Any:
        return self.grouped.windowed_by(windows or TimeWindows.of_size(DAY))


@pytest.fixture
def write() -> Writing:
    return Writing()


def key_value(name: str = "store") -> Any:
    return Stores.key_value_store(Stores.in_memory_key_value(name), *STRINGS)


def refused(kind: type[MillstreamError], use: Callable[[], object]) -> tuple[str, str, str]:
    """The primary text, the detail and the hint of the error."""
    with pytest.raises(kind) as raised:
        use()
    error = raised.value
    assert str(error).splitlines()[0] == error.primary
    return error.primary, error.detail or "", error.hint or ""


# --- names


def test_two_nodes_of_one_name(write: Writing) -> None:
    write.stream.filter(lambda key, value: True, name="same")
    write.stream.peek(print, name="same")

    assert refused(TopologyError, write.builder.build) == (
        "processor same is already added",
        "it is a processor; the new node is a processor",
        "every node needs a name of its own",
    )


def test_two_stores_of_one_name(write: Writing) -> None:
    write.grouped.count(Materialized("same"), name="counting")
    write.grouped.reduce(max, Materialized("same"))

    primary, detail, hint = refused(TopologyError, write.builder.build)
    assert primary == "a different StateStore has already been added with the name same"
    assert detail == "it is used by counting"
    assert hint.startswith("give one of them another name")


def test_a_store_added_twice_is_one_store_but_two_of_a_name_are_not(write: Writing) -> None:
    store = key_value()
    write.builder.add_state_store(store).add_state_store(store)
    assert list(write.builder.build().stores) == ["store"]

    write.builder.add_state_store(key_value())
    assert "a different StateStore" in refused(TopologyError, write.builder.build)[0]


def test_stores_that_nobody_added(write: Writing) -> None:
    write.stream.process(Drop, "seen", name="drop")

    assert refused(TopologyError, write.builder.build) == (
        "StateStore seen is not added yet",
        "there are no stores; it was named for processor drop",
        "add it with add_state_store first",
    )


def test_stores_are_connected_by_name(write: Writing) -> None:
    primary, _, hint = refused(TopologyError, lambda: write.stream.process(Drop, key_value()))
    assert primary == "processors are connected to stores by name"
    assert "add_state_store" in hint
    assert refused(TopologyError, lambda: write.table.transform_values(Drop, key_value()))[0] == primary  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "primary"),
    [
        ("", "name is illegal, it can't be empty"),
        ("..", 'name cannot be ".."'),
        ("a b", "name \"a b\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"),
        ("x" * 250, "name is illegal, it can't be longer than 249 characters"),
        (7, "a name must be a string"),
    ],
)
def test_illegal_names(write: Writing, name: Any, primary: str) -> None:
    uses: list[Callable[[], object]] = [
        lambda: write.stream.filter(lambda key, value: True, name=name),
        lambda: write.stream.process(Drop, name=name),
        lambda: write.stream.split(name),
        lambda: write.table.filter(lambda key, value: True, name=name),
        lambda: write.table.suppress(Suppressed.until_time_limit(DAY, BufferConfig.unbounded(), name=name)),
        lambda: write.grouped.count(name=name),
        lambda: Materialized(name),
        lambda: Consumed(name=name),
        lambda: Branched(name),
        lambda: TableJoined(name=name),
    ]

    assert [refused(TopologyError, use)[0] for use in uses] == [primary] * len(uses)


@pytest.mark.parametrize("topic", [None, 5, b"in"])
def test_topics_must_be_text(write: Writing, topic: Any) -> None:
    uses: list[Callable[[], object]] = [
        lambda: write.builder.stream(topic, TEXT),
        lambda: write.builder.stream(["in", topic], TEXT),
        lambda: write.builder.table(topic, TEXT),
        lambda: write.builder.global_table(topic, TEXT),
        lambda: write.builder.add_global_store(key_value().without_logging(), topic, TEXT, Drop),
        lambda: write.stream.to(topic),
    ]
    for use in uses[1 if topic == b"in" else 0 :]:  # bytes are a sequence of numbers
        assert refused(TopologyError, use)[0] == "the name of a topic must be a string"


def test_a_stream_needs_topics(write: Writing) -> None:
    assert refused(TopologyError, lambda: write.builder.stream([], TEXT))[0] == "a stream needs at least one topic"
    assert refused(TopologyError, lambda: write.builder.stream("", TEXT))[0] == "name is illegal, it can't be empty"


# --- options of the wrong kind, or in the wrong place

WRONG_OPTIONS: list[tuple[str, str, Callable[[Any], object]]] = [
    ("stream", "Consumed", lambda w: w.builder.stream("x", Produced())),
    ("stream", "Consumed", lambda w: w.builder.stream("x", Serdes.string)),
    ("table", "Consumed", lambda w: w.builder.table("x", Materialized("x"))),
    ("table", "Materialized", lambda w: w.builder.table("x", TEXT, "x")),
    ("global_table", "Materialized", lambda w: w.builder.global_table("x", TEXT, Grouped())),
    ("to", "Produced", lambda w: w.stream.to("out", Consumed())),
    ("repartition", "Repartitioned", lambda w: w.stream.repartition(4)),
    ("to_table", "Materialized", lambda w: w.stream.to_table("rows")),
    ("group_by_key", "Grouped", lambda w: w.stream.group_by_key(Produced())),
    ("group_by", "Grouped", lambda w: w.stream.group_by(max, Materialized("x"))),
    ("branch", "Branched", lambda w: w.stream.split().branch(max, "name")),
    ("default_branch", "Branched", lambda w: w.stream.split().default_branch("name")),
    ("join of two streams", "StreamJoined", lambda w: w.stream.join(w.stream, max, WINDOWS, Joined())),
    ("join with a table", "Joined", lambda w: w.stream.join(w.table, max, StreamJoined())),
    ("left_join with a table", "Joined", lambda w: w.stream.left_join(w.table, max, WINDOWS)),
    ("count", "Materialized", lambda w: w.grouped.count("counts")),
    ("reduce", "Materialized", lambda w: w.windowed().reduce(max, "maxima")),
    ("aggregate", "Materialized", lambda w: w.grouped.cogroup(max).aggregate(list, "lists")),
    ("filter", "Materialized", lambda w: w.table.filter(max, "rows")),
    ("map_values", "Materialized", lambda w: w.table.map_values(str, Grouped())),
    ("group_by", "Grouped", lambda w: w.table.group_by(max, "rows")),
    ("join", "Materialized", lambda w: w.table.join(w.table, max, Joined())),
    ("left_join", "TableJoined", lambda w: w.table.left_join(w.table, max, foreign_key=str, table_joined=Joined())),
]


@pytest.mark.parametrize(("operator", "wanted", "use"), WRONG_OPTIONS)
def test_options_of_another_operator(write: Writing, operator: str, wanted: str, use: Any) -> None:
    primary, detail, _ = refused(ArgumentError, lambda: use(write))

    assert primary.startswith(f"{operator} takes {wanted}(...), not a ")
    assert detail.startswith("it was given ")


def test_a_name_where_an_option_belongs_is_explained(write: Writing) -> None:
    assert refused(ArgumentError, lambda: write.grouped.count("counts")) == (  # type: ignore[arg-type]
        "count takes Materialized(...), not a str",
        "it was given 'counts'",
        "give Materialized(...), or name='counts' if that is its name",
    )


@pytest.mark.parametrize(
    ("primary", "use"),
    [
        ("Consumed(key=...) must be a serde", lambda: Consumed("string")),  # type: ignore[arg-type]
        ("Grouped(value=...) must be a serde", lambda: Grouped(value=str)),  # type: ignore[arg-type]
        ("StreamJoined(other_value=...) must be a serde", lambda: StreamJoined(other_value=str)),  # type: ignore[arg-type]
        ("Produced(partitioner=...) must be a function", lambda: Produced(partitioner=3)),  # type: ignore[arg-type]
        ("TableJoined(other_partitioner=...) must be a function", lambda: TableJoined(max, "x")),  # type: ignore[arg-type]
        (
            "Consumed(timestamp_extractor=...) must be a function",
            lambda: Consumed(timestamp_extractor=WallclockTimestampExtractor),  # type: ignore[arg-type]
        ),
        ("partitions must be a number of at least 1", lambda: Repartitioned(partitions=0)),
        ("partitions must be a number of at least 1", lambda: Repartitioned(partitions="4")),  # type: ignore[arg-type]
        ("Materialized(store=...) must be a store supplier", lambda: Materialized(store=key_value())),
        ("Materialized takes a store's name first", lambda: Materialized(Stores.in_memory_key_value("x"))),  # type: ignore[arg-type]
        ("Materialized has two names", lambda: Materialized("a", store=Stores.in_memory_key_value("b"))),
        ("dsl_store cannot be 'disk'", lambda: Materialized(dsl_store="disk")),  # type: ignore[arg-type]
        (
            "dsl_store cannot be chosen for a given store",
            lambda: Materialized(store=Stores.in_memory_key_value("b"), dsl_store="rocksdb"),
        ),
        ("offset reset cannot be in the future", lambda: Consumed(offset_reset=-DAY)),
        ("add_state_store needs a store builder", lambda: StreamsBuilder().add_state_store(Stores.lru_map("x", 1))),
        ("suppress takes Suppressed", lambda: Writing().table.suppress(BufferConfig.unbounded())),  # type: ignore[arg-type]
        ("emit_strategy takes an EmitStrategy", lambda: Writing().windowed().emit_strategy("on_window_close")),
        ("supplier is not callable", lambda: Writing().stream.process(Drop())),  # type: ignore[arg-type]
    ],
)
def test_options_with_the_wrong_contents(primary: str, use: Any) -> None:
    assert refused(ArgumentError, use)[0] == primary


def test_unknown_offset_resets() -> None:
    assert (
        refused(TopologyError, lambda: Consumed(offset_reset="smallest"))[0] == "unrecognized reset format 'smallest'"
    )


# --- durations


@pytest.mark.parametrize(
    ("what", "use"),
    [
        ("a window's size", TimeWindows.of_size),
        ("a window's grace", lambda d: TimeWindows.of_size(DAY, grace=d)),
        ("a window's advance", lambda d: TimeWindows.of_size(DAY).advance_by(d)),
        ("a time difference", SlidingWindows.of_time_difference),
        ("an inactivity gap", SessionWindows.of_inactivity_gap),
        ("a time difference", JoinWindows.of_time_difference),
        ("a time difference", lambda d: WINDOWS.before(d)),
        ("a time limit", lambda d: Suppressed.until_time_limit(d, BufferConfig.unbounded())),
        ("retention", lambda d: Materialized(retention=d)),
        ("grace", lambda d: Joined(grace=d)),
        ("retention", lambda d: Stores.in_memory_session("s", d)),
    ],
)
def test_durations_are_timedeltas(what: str, use: Any) -> None:
    assert refused(ArgumentError, lambda: use(60_000)) == (
        f"{what} must be a timedelta",
        "it is 60000",
        "write timedelta(minutes=5)",
    )


@pytest.mark.parametrize(
    ("primary", "use"),
    [
        ("a window's size must be at least 1 ms", lambda: TimeWindows.of_size(-DAY)),
        ("a window's grace must not be negative", lambda: TimeWindows.of_size(DAY, grace=-DAY)),
        ("a time difference must not be negative", lambda: SlidingWindows.of_time_difference(-DAY)),
        ("an inactivity gap must not be negative", lambda: SessionWindows.of_inactivity_gap(-DAY)),
        ("a time difference must not be negative", lambda: JoinWindows.of_time_difference(-DAY)),
        ("Window interval (ie, beforeMs+afterMs) must not be negative.", lambda: WINDOWS.before(-2 * DAY)),
        ("a time limit must not be negative", lambda: Suppressed.until_time_limit(-DAY, BufferConfig.unbounded())),
        ("retention must not be negative", lambda: Materialized(retention=-DAY)),
        ("grace must not be negative", lambda: Joined(grace=-DAY)),
        ("a window cannot start before 1970", lambda: UnlimitedWindows.of(-1)),
        ("a window's start needs a time zone", lambda: UnlimitedWindows.of(datetime(2024, 1, 1))),  # noqa: DTZ001
    ],
)
def test_durations_and_times_out_of_range(primary: str, use: Any) -> None:
    assert refused(ArgumentError, use)[0] == primary


# --- windows and their stores


def test_windows_are_needed_where_they_belong(write: Writing) -> None:
    for use in (
        lambda: write.grouped.windowed_by(DAY),  # type: ignore[call-overload]
        lambda: write.grouped.windowed_by(WINDOWS),  # type: ignore[call-overload]
        lambda: write.grouped.cogroup(max).windowed_by(WINDOWS),  # type: ignore[call-overload]
    ):
        assert refused(TopologyError, use)[0] == "windowed_by needs windows"
    primary, _, hint = refused(TopologyError, lambda: write.stream.join(write.stream, max, DAY))  # type: ignore[call-overload]
    assert primary == "a join of two streams needs JoinWindows"
    assert hint.startswith("give JoinWindows.of_time_difference")


KEY_VALUE = Materialized(store=Stores.persistent_key_value("s"))
KEY_VALUE_JOIN = StreamJoined(this_store=KEY_VALUE.store)
VERSIONED = Materialized(store=Stores.persistent_versioned_key_value("s", DAY))
WINDOW = Materialized(store=Stores.persistent_window("s", DAY, DAY))
SESSIONS = SessionWindows.of_inactivity_gap(DAY)
SESSION = Materialized(store=Stores.persistent_session("s", DAY))


@pytest.mark.parametrize(
    ("given", "wanted", "use"),
    [
        ("window", "key-value", lambda w: w.grouped.count(WINDOW)),
        ("session", "key-value", lambda w: w.table.filter(max, SESSION)),
        ("window", "key-value", lambda w: w.builder.table("x", TEXT, WINDOW)),
        ("key-value", "window", lambda w: w.windowed().count(KEY_VALUE)),
        ("versioned key-value", "window", lambda w: w.windowed().count(VERSIONED)),
        ("session", "window", lambda w: w.windowed(SlidingWindows.of_time_difference(DAY)).count(SESSION)),
        ("window", "session", lambda w: w.windowed(SESSIONS).count(WINDOW)),
        (
            "versioned key-value",
            "session",
            lambda w: w.windowed(SESSIONS).count(VERSIONED),
        ),
        (
            "key-value",
            "window",
            lambda w: w.stream.join(w.stream, max, WINDOWS, StreamJoined(this_store=KEY_VALUE.store)),
        ),
    ],
)
def test_stores_of_the_wrong_kind(write: Writing, given: str, wanted: str, use: Any) -> None:
    primary, _, hint = refused(ArgumentError, lambda: use(write))

    assert primary == f"store 's' is a {given} store, but a {wanted} store is needed here"
    assert hint == f"make it with Stores.persistent_{wanted.replace('-', '_')}(...)"


def test_a_global_table_has_no_versions(write: Writing) -> None:
    use = lambda: write.builder.global_table("x", TEXT, VERSIONED)  # noqa: E731
    assert refused(ArgumentError, use)[0] == "a global table cannot have versions"


def test_a_retention_that_forgets_open_windows(write: Writing) -> None:
    windows = TimeWindows.of_size(DAY, grace=HOUR)
    primary, detail, hint = refused(ArgumentError, lambda: write.windowed(windows).count(Materialized(retention=DAY)))

    assert primary == "the retention of a window store must cover its windows and their grace"
    assert detail == "retention is 86400000 ms, the windows need 90000000 ms"
    assert hint.startswith("raise Materialized(retention=...)")
    assert refused(ArgumentError, lambda: Stores.in_memory_window("s", HOUR, DAY))[0] == (
        "store 's' would forget its windows before they end"
    )


@pytest.mark.parametrize(
    ("store", "primary"),
    [
        (Stores.in_memory_window("s", 2 * DAY, 2 * DAY), "join store 's' must retain duplicates"),
        (Stores.in_memory_window("s", DAY, DAY, True), "join store 's' does not fit the join's windows"),
        (Stores.in_memory_window("s", 3 * DAY, 2 * DAY, True), "join store 's' does not fit the join's windows"),
    ],
)
def test_join_stores_with_the_wrong_settings(write: Writing, store: Any, primary: str) -> None:
    for options in (StreamJoined(this_store=store), StreamJoined(other_store=store)):
        use = lambda: write.stream.join(write.stream, max, WINDOWS, options)  # noqa: B023, E731
        assert refused(ArgumentError, use)[0] == primary


def test_the_two_stores_of_a_join_have_different_names() -> None:
    store = Stores.in_memory_window("s", 2 * DAY, 2 * DAY, True)
    primary, detail, _ = refused(ArgumentError, lambda: StreamJoined(this_store=store, other_store=store))

    assert (primary, detail) == ("the two stores of a join need different names", "both are called 's'")


def test_final_results_need_windows_that_close(write: Writing) -> None:
    unlimited = write.windowed(UnlimitedWindows.of())
    assert refused(ArgumentError, lambda: unlimited.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE))[0] == (
        "ON_WINDOW_CLOSE emit strategy cannot be used for UnlimitedWindows"
    )
    final = Suppressed.until_window_closes(BufferConfig.unbounded())
    primary, _, hint = refused(TopologyError, lambda: write.table.suppress(final))
    assert primary == (
        "Window close time is only defined for windowed computations. Got [root->KTABLE-SOURCE-0000000003]."
    )
    assert hint == "suppress the result of a windowed aggregation, or use Suppressed.until_time_limit"
    assert refused(ArgumentError, lambda: Suppressed.until_window_closes(BufferConfig.max_records(3)))[0] == (
        "until_window_closes cannot emit early"
    )


def test_the_grace_of_a_join_is_no_window(write: Writing) -> None:
    versions = Materialized(store=Stores.persistent_versioned_key_value("versions", DAY))
    joined = write.stream.join(write.builder.table("x", TEXT, versions), max, Joined(grace=HOUR)).to_table()
    final = Suppressed.until_window_closes(BufferConfig.unbounded())

    assert "only defined for windowed" in refused(TopologyError, lambda: joined.suppress(final))[0]


def test_versioned_tables_are_not_suppressed(write: Writing) -> None:
    table = write.builder.table("x", TEXT, VERSIONED)
    limit = Suppressed.until_time_limit(DAY, BufferConfig.unbounded())

    assert refused(TopologyError, lambda: table.suppress(limit))[0] == "a versioned table cannot be suppressed"


def test_a_grace_needs_a_table_with_enough_history(write: Writing) -> None:
    grace = Joined(grace=2 * DAY)
    assert refused(ArgumentError, lambda: write.stream.join(write.table, max, grace))[0] == (
        "KTable must be versioned to use a grace period in a stream table join."
    )
    table = write.builder.table("x", TEXT, VERSIONED)
    primary, detail, _ = refused(ArgumentError, lambda: write.stream.join(table, max, grace))
    assert primary == "History retention must be at least grace period."
    assert detail == "the table keeps 86400000 ms of history, the join's grace is 172800000 ms"
