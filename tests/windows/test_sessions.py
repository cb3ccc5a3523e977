"""Aggregation per session."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millstream.processors.windows import SessionWindowAggregate
from millstream.records import Headers
from millstream.windows import SessionWindows


def count(gap: int, grace: int, send_old: bool = False, emit_on_close: bool = False) -> SessionWindowAggregate:
    return SessionWindowAggregate(
        "s",
        SessionWindows(gap, grace),
        lambda: 0,
        lambda k, v, n: n + 1,
        lambda k, a, b: a + b,
        send_old,
        emit_on_close,
    )


def test_a_record_inside_a_session_replaces_it(task: Any) -> None:
    run = task(count(5, 100), task.session_store())
    assert run.feed("k", "v", 0) == [("k", 0, 0, 1, None, 0)]
    assert run.feed("k", "v", 5) == [("k", 0, 0, None, None, 0), ("k", 0, 5, 2, None, 5)]
    assert run.feed("k", "v", 1) == [("k", 0, 5, None, None, 5), ("k", 0, 5, 3, None, 5)]


def test_a_record_can_join_two_sessions(task: Any) -> None:
    run = task(count(5, 100, send_old=True), task.session_store())
    run.feed("k", "v", 10)
    run.feed("k", "v", 0)
    assert run.feed("k", "v", 5) == [
        ("k", 0, 0, None, 1, 0),
        ("k", 10, 10, None, 1, 10),
        ("k", 0, 10, 3, None, 10),
    ]


def test_a_second_record_of_the_same_time_overwrites(task: Any) -> None:
    run = task(count(5, 0, send_old=True), task.session_store())
    run.feed("k", "v", 7)
    assert run.feed("k", "v", 7) == [("k", 7, 7, 2, None, 7)]


def test_the_merger_starts_with_the_initial_value(task: Any) -> None:
    operator = SessionWindowAggregate(
        "s", SessionWindows(5, 0), str, lambda k, v, a: f"{a}{v};", lambda k, a, b: f"({a}&{b})", False, False
    )
    run = task(operator, task.session_store())
    run.feed("k", "a", 0)
    assert run.feed("k", None, 3)[-1] == ("k", 0, 3, "(&a;)None;", None, 3)


def test_an_old_record_is_dropped_unless_it_touches_an_open_session(task: Any) -> None:
    run = task(count(5, 2), task.session_store())
    run.feed("k", "v", 20)
    assert run.feed("k", "v", 12) == []
    assert run.dropped == 1
    assert run.feed("k", "v", 13) == [("k", 13, 13, 1, None, 13)]
    assert run.feed("k", "v", 17) == [
        ("k", 13, 13, None, None, 13),
        ("k", 20, 20, None, None, 20),
        ("k", 13, 20, 3, None, 20),
    ]
    run.feed("other", "v", 26)
    assert run.feed("k", "v", 8)[-1] == ("k", 8, 20, 4, None, 20)


def test_null_keys_are_dropped(task: Any) -> None:
    run = task(count(5, 0), task.session_store())
    assert run.feed(None, "v", 1) == []
    assert run.dropped == 1


def test_results_have_no_headers(task: Any) -> None:
    run = task(count(5, 0), task.session_store())
    run.feed("k", "v", 1, Headers([("a", b"1")]))
    run.feed("k", "v", 2, Headers([("a", b"2")]))
    assert run.headers == [None, None]


def test_with_a_cache_a_session_merged_away_before_the_flush_is_not_seen(task: Any) -> None:
    run = task(count(5, 0, send_old=True), task.session_store(cached=True))
    headers = Headers([("a", b"2")])
    run.feed("k", "v", 1)
    run.feed("k", "v", 2, headers)
    assert run.flush() == [("k", 1, 2, 2, None, 2)]
    assert run.headers == [headers]
    run.feed("k", "v", 4)
    assert run.flush() == [("k", 1, 2, None, 2, 2), ("k", 1, 4, 3, None, 4)]


def test_emission_on_close(task: Any) -> None:
    run = task(count(5, 2, emit_on_close=True), task.session_store())
    headers = Headers([("a", b"1")])
    assert [run.feed("b", "v", 1), run.feed("a", "v", 1), run.feed("a", "v", 8)] == [[], [], []]
    assert run.operator.clock()[1] == 1
    assert run.feed("a", "v", 9, headers) == [("a", 1, 1, 1, None, 1), ("b", 1, 1, 1, None, 1)]
    assert run.headers == [headers, headers]
    assert run.operator.clock()[1] == 2
    assert run.feed("a", "v", 40) == [("a", 8, 9, 2, None, 9)]


def merged_sessions(times: list[int], gap: int) -> dict[tuple[str, int, int], int]:
    """The sessions of these records, by definition."""
    sessions: list[list[int]] = []
    for t in sorted(times):
        if sessions and t - sessions[-1][-1] <= gap:
            sessions[-1].append(t)
        else:
            sessions.append([t])
    return {("k", session[0], session[-1]): len(session) for session in sessions}


@given(gap=st.integers(1, 8), cached=st.booleans(), times=st.lists(st.integers(0, 80), max_size=30))
def test_sessions_are_the_merged_activity(task: Any, gap: int, cached: bool, times: list[int]) -> None:
    run = task(count(gap, 1000), task.session_store(cached=cached))
    table: dict[tuple[str, int, int], int] = {}
    for t in times:
        outputs = run.feed("k", "v", t)
        for key, start, end, new, _, timestamp in outputs or run.flush():
            assert timestamp == end
            table[key, start, end] = new
    assert run.sessions() == merged_sessions(times, gap)
    assert {row: n for row, n in table.items() if n is not None} == merged_sessions(times, gap)


@given(gap=st.integers(1, 8), grace=st.integers(0, 8), times=st.lists(st.integers(0, 80), max_size=30))
def test_on_close_every_closed_session_is_emitted_once(task: Any, gap: int, grace: int, times: list[int]) -> None:
    run = task(count(gap, grace, emit_on_close=True), task.session_store())
    emitted = [output for t in times for output in run.feed("k", "v", t)]
    closed = max(times, default=-1) - grace - gap
    final = {row: n for row, n in run.sessions().items() if row[2] < closed}
    assert len(emitted) == len({output[:3] for output in emitted})
    # A late record may still join an emitted session to an open one, so more can be emitted than remains.
    assert final.items() <= {output[:3]: output[3] for output in emitted}.items()
