"""Scripts of input that Kafka Streams' own tests run, with the results they expect. Caches are off, as there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest

from millstream import (
    Branched,
    BufferConfig,
    Consumed,
    EmitStrategy,
    Grouped,
    Materialized,
    Produced,
    Serdes,
    SessionWindows,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
)
from millstream.testing import TopologyTestDriver

TEXT = (Serdes.string, Serdes.string)
STRINGS = Consumed(*TEXT)
OUT = Produced(*TEXT)
UNCACHED = StreamsConfig(statestore_cache_max_bytes=0)

#: key, value, timestamp
Piped = tuple[str, str, str | None, int]
#: key, value, timestamp
Result = tuple[str, str | None, int | None]


def ms(number: int) -> timedelta:
    return timedelta(milliseconds=number)


def run(build: Callable[[StreamsBuilder], Any], steps: Iterable[Piped]) -> list[list[Result]]:
    """What each step gives: of a stream or a table, as text."""
    builder = StreamsBuilder(UNCACHED)
    result = build(builder)
    stream = result.to_stream() if hasattr(result, "to_stream") else result
    stream.map(lambda key, value: (str(key), None if value is None else str(value))).to("out", OUT)
    with TopologyTestDriver(builder.build(), UNCACHED) as driver:
        given: list[list[Result]] = []
        out = driver.output_topic("out", *TEXT)
        for topic, key, value, timestamp in steps:
            driver.pipe(topic, key.encode(), None if value is None else value.encode(), timestamp)
            given.append([(one.key, one.value, one.timestamp) for one in out.read_records()])
    return given


def flat(results: list[list[Result]]) -> list[Result]:
    return [one for step in results for one in step]


def joined(one: str | None, other: str | None) -> str:
    return f"{one}-{other}"


# --- joins of two topics: left and right, value (. is null) and timestamp

JOIN_SCRIPT = """
    L.1 R.2 LA3 Ra4 LB5 Rb6 L.7 R.8 LC9 Rc10 R.11 L.12 R.13 Rd7 LD6 L.2 R.3 Re14 LE15 L.10 R.9 LF4 Rf3
"""

INNER = {4: "A-a@4", 5: "B-a@5", 6: "B-b@6", 7: ".@7", 10: "C-c@10", 11: ".@11", 15: "D-d@7", 16: ".@7", 19: "E-e@15",
         20: ".@14", 23: "F-f@4"}  # fmt: skip
LEFT = INNER | {3: "A-None@3", 9: "C-None@9", 11: "C-None@11", 12: ".@12", 22: "F-None@4"}
OUTER = LEFT | {7: "None-b@7", 8: ".@8", 14: "None-d@7", 16: "None-d@7", 17: ".@3", 18: "None-e@14", 20: "None-e@14",
                21: ".@9"}  # fmt: skip


def join_steps() -> list[Piped]:
    topics = {"L": "left", "R": "right"}
    return [(topics[step[0]], "k", None if step[1] == "." else step[1], int(step[2:])) for step in JOIN_SCRIPT.split()]


def shown(results: list[list[Result]]) -> dict[int, str]:
    return {
        number: " ".join(f"{'.' if value is None else value}@{timestamp}" for _, value, timestamp in step)
        for number, step in enumerate(results, 1)
        if step
    }


@pytest.mark.parametrize(("kind", "expected"), [("join", INNER), ("left_join", LEFT), ("outer_join", OUTER)])
@pytest.mark.parametrize("kept", [None, Materialized("joined")])
def test_table_table_joins(kind: str, expected: dict[int, str], kept: Materialized | None) -> None:
    def build(builder: StreamsBuilder) -> Any:
        left, right = (builder.table(topic, STRINGS) for topic in ("left", "right"))
        given = None if kept is None else Materialized("joined", *TEXT)
        return getattr(left, kind)(right, joined, materialized=given)

    assert shown(run(build, join_steps())) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("join", {5: "B-a@5", 15: "D-d@6", 19: "E-e@15"}),
        ("left_join", {3: "A-None@3", 5: "B-a@5", 9: "C-None@9", 15: "D-d@6", 19: "E-e@15", 22: "F-None@4"}),
    ],
)
def test_stream_table_joins(kind: str, expected: dict[int, str]) -> None:
    def build(builder: StreamsBuilder) -> Any:
        table = builder.table("right", STRINGS)
        return getattr(builder.stream("left", STRINGS), kind)(table, joined)

    assert shown(run(build, join_steps())) == expected


# --- grouped tables


def aggregated(key: Callable[[str, str], str]) -> Callable[[StreamsBuilder], Any]:
    """A table in groups, each a text of what was added and subtracted."""

    def build(builder: StreamsBuilder) -> Any:
        grouped = builder.table("in", STRINGS).group_by(lambda k, v: (key(k, v), v), Grouped(*TEXT))
        return grouped.aggregate(
            lambda: "0",
            lambda k, value, total: f"{total}+{value}",
            lambda k, value, total: f"{total}-{value}",
            Materialized("total", *TEXT),
        )

    return build


def rows(text: str) -> list[Piped]:
    """`A1@10` is the row A with the value 1; a dot is null."""
    found = [(entry.split("@")[0], int(entry.split("@")[1])) for entry in text.split()]
    return [("in", row[0], None if row[1:] == "." else row[1:], timestamp) for row, timestamp in found]


def results(text: str) -> list[Result]:
    found: list[Result] = []
    for entry in text.split():
        (key, value), timestamp = entry.split("@")[0].split("="), entry.split("@")[1]
        found.append((key, value, int(timestamp)))
    return found


def test_a_table_in_groups_subtracts_and_adds() -> None:
    given = run(aggregated(lambda key, value: key), rows("A1@10 B2@15 A3@20 B4@18 C5@5 D6@25 B7@15 C8@10"))
    assert flat(given) == results(
        "A=0+1@10 B=0+2@15 A=0+1-1+3@20 B=0+2-2+4@18 C=0+5@5 D=0+6@25 B=0+2-2+4-4+7@18 C=0+5-5+8@10"
    )


def test_rows_that_move_leave_one_group_before_they_enter_the_other() -> None:
    given = run(aggregated(lambda key, value: value), rows("A1@10 A.@15 A1@12 B2@20 B4@23 B7@22"))
    assert flat(given) == results("1=0+1@10 1=0+1-1@15 1=0+1-1+1@15 2=0+2@20 2=0+2-2@23 4=0+4@23 4=0+4-4@23 7=0+7@22")


def test_counts_of_a_table_in_groups() -> None:
    def build(builder: StreamsBuilder) -> Any:
        return builder.table("in", STRINGS).group_by(lambda k, v: (v, v), Grouped(*TEXT)).count()

    given = run(build, rows("Agreen@10 Bgreen@9 Ablue@12 Cyellow@15 Dgreen@11"))
    assert flat(given) == results("green=1@10 green=2@10 green=1@12 blue=1@12 yellow=1@15 green=2@12")


# --- windows


def test_counts_of_time_windows_now_and_at_their_end() -> None:
    steps = [("in", key, "", timestamp) for key, timestamp in
             (("1", 10), ("1", 15), ("1", 500), ("2", 550), ("2", 500), ("2", 1000))]  # fmt: skip

    def counted(on_close: bool) -> Callable[[StreamsBuilder], Any]:
        def build(builder: StreamsBuilder) -> Any:
            windowed = builder.stream("in", STRINGS).group_by_key().windowed_by(TimeWindows.of_size(ms(500)))
            if on_close:
                windowed = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
            return windowed.count()

        return build

    assert flat(run(counted(False), steps)) == [
        ("[1@0/500]", "1", 10), ("[1@0/500]", "2", 15), ("[1@500/1000]", "1", 500),
        ("[2@500/1000]", "1", 550), ("[2@500/1000]", "2", 550), ("[2@1000/1500]", "1", 1000),
    ]  # fmt: skip
    assert flat(run(counted(True), steps)) == [
        ("[1@0/500]", "2", 15), ("[1@500/1000]", "1", 500), ("[2@500/1000]", "2", 550)
    ]  # fmt: skip


def test_counts_of_sessions() -> None:
    def build(builder: StreamsBuilder) -> Any:
        return (
            builder.stream("in", STRINGS).group_by_key().windowed_by(SessionWindows.of_inactivity_gap(ms(500))).count()
        )

    steps = [("in", key, "", time) for key, time in (("1", 10), ("1", 15), ("1", 600), ("2", 600), ("2", 599))]
    assert flat(run(build, steps)) == [
        ("[1@10/10]", "1", 10), ("[1@10/10]", None, 10), ("[1@10/15]", "2", 15), ("[1@600/600]", "1", 600),
        ("[2@600/600]", "1", 600), ("[2@600/600]", None, 600), ("[2@599/600]", "2", 600),
    ]  # fmt: skip


# --- suppress


def suppressed(buffer: BufferConfig, limit: int) -> Callable[[StreamsBuilder], Any]:
    def build(builder: StreamsBuilder) -> Any:
        counts = builder.table("in", STRINGS).group_by(lambda k, v: (v, v), Grouped(*TEXT)).count()
        return counts.suppress(Suppressed.until_time_limit(ms(limit), buffer))

    return build


def test_a_full_buffer_emits_early() -> None:
    steps = [("in", "k1", "v1", 0), ("in", "k1", "v2", 1), ("in", "k2", "v1", 2), ("in", "x", "x", 3)]
    given = flat(run(suppressed(BufferConfig.max_records(1), 1_000_000), steps))
    assert given == [("v1", "0", 1), ("v2", "1", 1), ("v1", "1", 2)]


def test_a_limit_of_time() -> None:
    steps = [("in", "k1", "v1", 0), ("in", "k1", "v2", 1), ("in", "k2", "v1", 2), ("in", "x", "x", 3)]
    assert run(suppressed(BufferConfig.unbounded(), 2), steps) == [[], [], [("v1", "1", 2)], [("v2", "1", 1)]]


# --- branches


def test_branches_have_names_and_the_first_that_fits_gets_a_record() -> None:
    builder, taken = StreamsBuilder(), []
    split = builder.stream("in", STRINGS).split("foo-")
    split = split.branch(lambda key, value: int(value) % 2 == 0, Branched(name="bar"))
    split = split.branch(lambda key, value: int(value) % 3 == 0, Branched(name="baz"))
    split = split.branch(lambda key, value: int(value) % 5 == 0, Branched(consumer=lambda stream: taken.append(stream)))
    split = split.branch(lambda key, value: int(value) % 7 == 0)
    branches = split.default_branch()
    assert list(branches) == ["foo-bar", "foo-baz", "foo-4", "foo-0"]
    assert len(taken) == 1
    for name, stream in (*branches.items(), ("taken", taken[0])):
        stream.to(name)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", *TEXT).pipe_values([str(number) for number in range(1, 8)])
        read = {name: driver.output_topic(name, *TEXT).read_values() for name in (*branches, "taken")}
    assert read == {
        "foo-bar": ["2", "4", "6"], "foo-baz": ["3"], "taken": ["5"], "foo-4": ["7"], "foo-0": ["1"]
    }  # fmt: skip
