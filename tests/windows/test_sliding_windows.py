"""Aggregation per sliding window."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ArgumentError
from millstream.processors.windows import SlidingWindowAggregate
from millstream.records import Headers
from millstream.windows import SlidingWindows


def count(d: int, grace: int, send_old: bool = False, emit_on_close: bool = False) -> SlidingWindowAggregate:
    return SlidingWindowAggregate(
        "s", SlidingWindows(d, grace), lambda: 0, lambda k, v, n: n + 1, send_old, emit_on_close
    )


def test_the_worked_trace(task: Any) -> None:
    run = task(count(5, 15), task.window_store(5))
    seen = [
        [(start, end, n, t) for _, start, end, n, _, t in run.feed("k", "v", time)]
        for time in (10, 11, 10, 13, 10, 24, 5, 7, 90)
    ]
    assert seen == [
        [(5, 10, 1, 10)],
        [(11, 16, 1, 11), (6, 11, 2, 11)],
        [(6, 11, 3, 11), (5, 10, 2, 10)],
        [(11, 16, 2, 13), (12, 17, 1, 13), (8, 13, 4, 13)],
        [(8, 13, 5, 13), (6, 11, 4, 11), (5, 10, 3, 10)],
        [(19, 24, 1, 24)],
        [(5, 10, 4, 10)],
        [(6, 11, 5, 11), (5, 10, 5, 10)],
        [(85, 90, 1, 90)],
    ]
    assert run.dropped == 2


def test_records_near_the_epoch_share_a_combined_window(task: Any) -> None:
    run = task(count(10, 50), task.window_store(10))
    assert run.feed("k", "v", 3) == [("k", 0, 10, 1, None, 3)]
    # Later: the right window of 3 begins.
    assert run.feed("k", "v", 5) == [("k", 4, 14, 1, None, 5), ("k", 0, 10, 2, None, 5)]
    # Earlier than both: its right window is what the combined one had.
    assert run.feed("k", "v", 1) == [("k", 2, 12, 2, None, 5), ("k", 0, 10, 3, None, 5)]
    assert run.feed("k", "v", 5) == [
        ("k", 2, 12, 3, None, 5),
        ("k", 4, 14, 2, None, 5),
        ("k", 0, 10, 4, None, 5),
    ]


def test_null_keys_and_values_are_dropped(task: Any) -> None:
    run = task(count(5, 0), task.window_store(5))
    assert run.feed(None, "v", 9) == []
    assert run.feed("k", None, 9) == []
    assert run.dropped == 2


def test_a_record_whose_windows_are_all_closed_is_dropped_once(task: Any) -> None:
    run = task(count(5, 2), task.window_store(5))
    run.feed("k", "v", 30)
    assert run.feed("k", "v", 22) == []
    assert run.dropped == 1
    # 23 + 5 = 28 is still open as a right window, but nothing is in it; the left one is closed.
    assert run.feed("k", "v", 23) == []
    assert run.dropped == 2


def test_old_values(task: Any) -> None:
    run = task(count(5, 9, send_old=True), task.window_store(5))
    assert run.feed("k", "v", 10) == [("k", 5, 10, 1, 0, 10)]
    # The left window of 11 continues from what was in that of 10; the right window of 10 is new.
    assert run.feed("k", "v", 11) == [("k", 11, 16, 1, 0, 11), ("k", 6, 11, 2, 1, 11)]
    # A right window that is made from what was already there has no old value.
    assert run.feed("k", "v", 9)[-1] == ("k", 10, 15, 2, None, 11)


def test_a_reducer_starts_from_none(task: Any) -> None:
    def last(key: Any, value: Any, aggregate: Any) -> Any:
        return value if aggregate is None else f"{aggregate}|{value}"

    operator = SlidingWindowAggregate("s", SlidingWindows(5, 9), lambda: None, last, True, False)
    run = task(operator, task.window_store(5))
    assert run.feed("k", "a", 10) == [("k", 5, 10, "a", None, 10)]
    assert run.feed("k", "b", 11) == [("k", 11, 16, "b", None, 11), ("k", 6, 11, "a|b", "a", 11)]


def test_a_difference_of_zero_fails_at_the_first_window(task: Any) -> None:
    run = task(count(0, 5), task.window_store(0))
    with pytest.raises(ArgumentError, match="end must be greater"):
        run.feed("k", "v", 3)


@pytest.mark.parametrize("cached", [False, True])
def test_aggregators_may_change_the_aggregate_in_place(task: Any, cached: bool) -> None:
    def collect(key: Any, value: Any, items: list[int]) -> list[int]:
        items.append(value)
        return items

    run = task(
        SlidingWindowAggregate("s", SlidingWindows(5, 50), list, collect, False, False), task.window_store(5, cached)
    )
    for t in (10, 14, 12, 11):
        run.feed("k", t, t)
    contents = {start: sorted(entry[0]) for (_, start), entry in run.windows().items()}
    assert contents == {start: [t for t in (10, 11, 12, 14) if start <= t <= start + 5] for start in contents}


def test_with_a_cache_updates_come_at_the_flush(task: Any) -> None:
    run = task(count(5, 9, send_old=True), task.window_store(5, cached=True))
    headers = Headers([("a", b"1")])
    run.feed("k", "v", 10)
    assert run.feed("k", "v", 11, headers) == []
    assert run.flush() == [("k", 5, 10, 1, None, 10), ("k", 11, 16, 1, None, 11), ("k", 6, 11, 2, None, 11)]
    assert run.headers == [None, headers, headers]


def test_emission_on_close(task: Any) -> None:
    run = task(count(5, 3, emit_on_close=True), task.window_store(5))
    assert run.feed("k", "v", 1) == []  # [0/5]
    assert run.feed("k", "v", 7) == []  # [2/7]
    assert run.feed("k", "v", 8) == []  # [3/8], and [8/13] right of 7
    # A sliding window includes its end, so [0/5] is closed when the close time is 6.
    assert run.feed("k", "v", 9) == [("k", 0, 5, 1, None, 1)]
    assert run.operator.clock()[1] == 6
    assert [output[1:3] for output in run.feed("k", "v", 30)] == [(2, 7), (3, 8), (4, 9), (8, 13), (9, 14)]


def expected_windows(times: list[int], d: int) -> dict[int, list[int]]:
    """Every window that should exist, by definition, with what is in it."""
    starts = {max(0, t - d) for t in times}
    starts |= {t + 1 for t in times if any(t < other <= t + 1 + d for other in times)}
    return {start: sorted(t for t in times if start <= t <= start + d) for start in starts}


@given(
    d=st.integers(1, 12), in_order=st.booleans(), cached=st.booleans(), times=st.lists(st.integers(0, 40), max_size=25)
)
def test_every_window_holds_the_records_of_its_time(
    task: Any, d: int, in_order: bool, cached: bool, times: list[int]
) -> None:
    operator = SlidingWindowAggregate("s", SlidingWindows(d, 1000), tuple, lambda k, v, seen: (*seen, v), False, False)
    run = task(operator, task.window_store(d, cached))
    for t in sorted(times) if in_order else times:
        run.feed("k", t, t)
    contents = {start: sorted(seen) for (_, start), (seen, _) in run.windows().items()}
    assert contents == expected_windows(times, d)
    assert all(max(contents[start]) == latest for (_, start), (_, latest) in run.windows().items())
    assert run.dropped == 0


@given(d=st.integers(1, 8), grace=st.integers(0, 8), times=st.lists(st.integers(0, 60), max_size=30))
def test_on_close_every_closed_window_is_emitted_once(task: Any, d: int, grace: int, times: list[int]) -> None:
    run = task(count(d, grace, emit_on_close=True), task.window_store(d))
    emitted = [output for t in times for output in run.feed("k", "v", t)]
    stored = {start: entry for (_, start), entry in run.windows().items()}
    closed = max(times, default=-1) - grace
    assert len(emitted) == len({output[1] for output in emitted})
    assert {o[1]: (o[3], o[5]) for o in emitted} == {s: e for s, e in stored.items() if s + d < closed}
