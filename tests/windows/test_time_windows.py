"""Aggregation per tumbling, hopping and unlimited window."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.processors.windows import TimeWindowAggregate
from millstream.records import MAX_TIMESTAMP, Headers
from millstream.windows import TimeWindows, UnlimitedWindows


def count(windows: Any, send_old: bool = False, emit_on_close: bool = False) -> TimeWindowAggregate:
    return TimeWindowAggregate("s", windows, lambda: 0, lambda k, v, n: n + 1, send_old, emit_on_close)


def concat(windows: Any, send_old: bool = False) -> TimeWindowAggregate:
    return TimeWindowAggregate("s", windows, str, lambda k, v, text: f"{text}{v};", send_old, False)


def test_a_tumbling_count_with_late_records(task: Any) -> None:
    run = task(count(TimeWindows(2, 2, 1)), task.window_store(2))
    assert [run.feed("k", "v", t) for t in (0, 1, 2, 1, 0, 5, 0)] == [
        [("k", 0, 2, 1, None, 0)],
        [("k", 0, 2, 2, None, 1)],
        [("k", 2, 4, 1, None, 2)],
        [("k", 0, 2, 3, None, 1)],
        [("k", 0, 2, 4, None, 1)],
        [("k", 4, 6, 1, None, 5)],
        [],
    ]
    assert run.dropped == 1


def test_a_hopping_record_can_be_late_for_some_of_its_windows(task: Any) -> None:
    run = task(count(TimeWindows(10, 5, 0)), task.window_store(10))
    run.feed("k", "v", 12)
    assert run.feed("k", "v", 8) == [("k", 5, 15, 2, None, 12)]
    assert run.dropped == 1
    assert run.feed("k", "v", 3) == []
    assert run.dropped == 2


def test_unlimited_windows(task: Any) -> None:
    run = task(concat(UnlimitedWindows(5)), task.window_store(MAX_TIMESTAMP))
    assert run.feed("k", "a", 4) == []
    assert run.feed("k", "b", 9) == [("k", 5, MAX_TIMESTAMP, "b;", None, 9)]
    assert run.feed("k", "c", 6) == [("k", 5, MAX_TIMESTAMP, "b;c;", None, 9)]
    assert run.dropped == 0


@pytest.mark.parametrize("windows", [TimeWindows(10, 10, 0), TimeWindows(10, 5, 0), UnlimitedWindows(0)])
def test_null_keys_are_dropped_and_null_values_are_not(task: Any, windows: Any) -> None:
    run = task(concat(windows), task.window_store(10))
    assert run.feed(None, "a", 50) == []
    assert run.dropped == 1
    # The dropped record did not move the clock either.
    assert run.feed("k", None, 1)[0][3] == "None;"


def test_the_first_old_value_is_the_initial_one(task: Any) -> None:
    run = task(count(TimeWindows(10, 10, 0), send_old=True), task.window_store(10))
    assert run.feed("k", "v", 1) == [("k", 0, 10, 1, 0, 1)]
    assert run.feed("k", "v", 2) == [("k", 0, 10, 2, 1, 2)]


def test_an_aggregate_of_none_deletes_and_starts_again(task: Any) -> None:
    def reset(key: Any, value: Any, text: str) -> str | None:
        return None if value == "x" else text + value

    run = task(TimeWindowAggregate("s", TimeWindows(10, 10, 0), str, reset, False, False), task.window_store(10))
    outputs = [run.feed("k", value, t)[0] for t, value in enumerate("axb")]
    assert outputs == [("k", 0, 10, "a", None, 0), ("k", 0, 10, None, None, 1), ("k", 0, 10, "b", None, 2)]


def test_headers_are_the_records(task: Any) -> None:
    run = task(count(TimeWindows(10, 10, 0)), task.window_store(10))
    headers = Headers([("a", b"1")])
    run.feed("k", "v", 1, headers)
    assert run.headers == [headers]


def test_with_a_cache_updates_come_at_the_flush(task: Any) -> None:
    run = task(count(TimeWindows(10, 5, 0), send_old=True), task.window_store(10, cached=True))
    assert run.feed("k", "v", 7) == []
    run.feed("k", "v", 3)
    assert run.flush() == [("k", 5, 15, 1, None, 7), ("k", 0, 10, 2, None, 7)]
    run.feed("k", "v", 2)
    assert run.flush() == [("k", 0, 10, 3, 2, 7)]


@pytest.mark.parametrize("cached", [False, True])
def test_emission_on_close(task: Any, cached: bool) -> None:
    run = task(count(TimeWindows(10, 10, 5), emit_on_close=True), task.window_store(10, cached=cached))
    headers = Headers([("a", b"1")])
    assert [run.feed("b", "v", 3), run.feed("a", "v", 4), run.feed("a", "v", 14)] == [[], [], []]
    assert run.operator.clock()[1] == -1
    assert run.feed("c", "v", 15, headers) == [("a", 0, 10, 1, None, 4), ("b", 0, 10, 1, None, 3)]
    assert run.headers == [headers, headers]
    assert run.operator.clock()[1] == 10
    assert run.feed("c", "v", 24) == []
    assert run.flush() == []
    assert run.feed("a", "v", 60) == [
        ("a", 10, 20, 1, None, 14),
        ("c", 10, 20, 1, None, 15),
        ("c", 20, 30, 1, None, 24),
    ]
    assert run.operator.clock()[1] == 55


def test_a_late_record_does_not_emit_twice(task: Any) -> None:
    run = task(count(TimeWindows(10, 10, 0), emit_on_close=True), task.window_store(10))
    run.feed("k", "v", 3)
    assert len(run.feed("k", "v", 10)) == 1
    assert run.feed("k", "v", 3) == []
    assert run.dropped == 1
    assert run.feed("k", "v", 19) == []


def test_emission_goes_on_after_a_restart(task: Any) -> None:
    first = task(count(TimeWindows(10, 10, 0), emit_on_close=True), task.window_store(10))
    first.feed("k", "v", 3)
    first.feed("k", "v", 10)
    second = task(count(TimeWindows(10, 10, 0), emit_on_close=True), task.window_store(10))
    second.store.apply_changes(first.store.snapshot())
    second.operator.set_clock(first.operator.clock())
    assert second.feed("k", "v", 20) == [("k", 10, 20, 1, None, 10)]


def test_emission_is_throttled_by_the_wall_clock(task: Any) -> None:
    run = task(
        count(TimeWindows(10, 10, 0), emit_on_close=True),
        task.window_store(10),
        emit_interval_ms_windowed_aggregation=1000,
    )
    run.feed("k", "v", 3)
    assert run.feed("k", "v", 10) == []
    run.clock = 999
    assert run.feed("k", "v", 20) == []
    run.clock = 1000
    assert [output[1] for output in run.feed("k", "v", 30)] == [0, 10, 20]


@given(
    size=st.integers(1, 12),
    advance=st.integers(1, 12),
    grace=st.integers(0, 15),
    store=st.sampled_from([(False, False), (True, False), (True, True), (False, True)]),
    records=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60)), max_size=40),
)
def test_every_window_sums_its_accepted_records(
    task: Any, size: int, advance: int, grace: int, store: tuple[bool, bool], records: list[tuple[str, int]]
) -> None:
    advance = min(size, advance)
    run = task(count(TimeWindows(size, advance, grace)), task.window_store(size, *store))
    expected: Counter[tuple[str, int]] = Counter()
    latest: dict[tuple[str, int], int] = {}
    dropped = 0
    stream_time = -1
    for key, t in records:
        run.feed(key, "v", t)
        stream_time = max(stream_time, t)
        for start in range(0, t + 1, advance):
            if start <= t < start + size:
                if start + size > stream_time - grace:
                    expected[key, start] += 1
                    latest[key, start] = max(t, latest.get((key, start), 0))
                else:
                    dropped += 1
    assert run.windows() == {row: (n, latest[row]) for row, n in expected.items()}
    assert run.dropped == dropped


@given(
    size=st.integers(1, 12),
    advance=st.integers(1, 12),
    grace=st.integers(0, 15),
    records=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 80)), max_size=40),
)
def test_on_close_every_window_is_emitted_once_with_its_final_content(
    task: Any, size: int, advance: int, grace: int, records: list[tuple[str, int]]
) -> None:
    windows = TimeWindows(size, min(size, advance), grace)
    run = task(count(windows, emit_on_close=True), task.window_store(size))
    emitted = [output for key, t in records for output in run.feed(key, "v", t)]
    closed = max((t for _, t in records), default=-1) - grace
    final = {(key, start): entry for (key, start), entry in run.windows().items() if start + size <= closed}
    assert len(emitted) == len({output[:2] for output in emitted})
    assert {output[:2]: (output[3], output[5]) for output in emitted} == final
