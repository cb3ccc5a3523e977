"""Joins of two streams."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.records import Headers
from millstream.serdes import Serdes

Lab = Any


def test_inner_join_meets_partners_within_the_window_both_ways(lab: Lab) -> None:
    task = lab.StreamJoinTask("inner", before=10, after=20)
    assert task.left("k", "A", 100) == []
    assert task.right("k", "early", 89) == []
    assert task.right("k", "first", 90) == [("k", "A+first", 100)]
    assert task.right("k", "last", 120) == [("k", "A+last", 120)]
    assert task.right("k", "late", 121) == []
    assert task.right("other", "a", 100) == []
    assert task.left("k", "B", 101) == [("k", "B+last", 120), ("k", "B+late", 121)]


def test_inner_join_keeps_duplicates_and_gives_headers_of_the_record_that_joins(lab: Lab) -> None:
    task = lab.StreamJoinTask("inner")
    task.left("k", "A", 5, Headers([("from", b"left")]))
    task.left("k", "A2", 5)
    headers = Headers([("from", b"right")])
    task._right.process("k", "a", 1, headers)
    assert task.output.rows == [("k", "A+a", 5, headers), ("k", "A2+a", 5, headers)]


@pytest.mark.parametrize(("key", "value"), [(None, "A"), ("k", None), (None, None)])
def test_inner_join_drops_null_keys_and_values(lab: Lab, key: Any, value: Any) -> None:
    task = lab.StreamJoinTask("inner")
    assert task.left(key, value, 0) == task.right(key, value, 0) == []
    assert task.context.dropped_records == 2


def test_a_window_may_lie_on_one_side_of_a_record(lab: Lab) -> None:
    task = lab.StreamJoinTask("inner", before=-5, after=10)
    task.left("k", "A", 100)
    assert task.right("k", "near", 104) == []
    assert task.right("k", "far", 105) == [("k", "A+far", 105)]


def test_a_stream_joined_with_itself_meets_itself_once(lab: Lab) -> None:
    task = lab.StreamJoinTask("inner")
    assert task.both("k", "a", 1) == [("k", "a+a", 1)]
    assert task.both("k", "b", 2) == [("k", "b+a", 2), ("k", "a+b", 2), ("k", "b+b", 2)]


def test_outer_join_emits_unmatched_records_when_their_window_has_closed(lab: Lab) -> None:
    task = lab.StreamJoinTask("outer", grace=10)
    for value in ("A0", "A0-0"):
        assert task.left("0", value, 0) == []
    for value in ("11", "12"):
        assert task.right("1", value, 0) == []
    assert task.left("9", "x", 110) == []  # closed means strictly later than 0 + 100 + 10
    assert task.right("1", "10", 111) == [
        ("1", "None+11", 0),
        ("1", "None+12", 0),
        ("0", "A0+None", 0),
        ("0", "A0-0+None", 0),
    ]
    assert task.right("1", "10", 112) == []  # once only


def test_unmatched_records_carry_the_headers_of_the_record_that_closed_their_window(lab: Lab) -> None:
    task = lab.StreamJoinTask("left")
    task.left("k", "A", 0, Headers([("own", b"")]))
    headers = Headers([("closing", b"")])
    task._right.process("other", "x", 101, headers)
    assert task.output.rows == [("k", "A+None", 0, headers)]


def test_left_join_forgets_all_records_of_a_time_and_key_that_matched(lab: Lab) -> None:
    task = lab.StreamJoinTask("left")
    task.left("k", "A", 0)
    task.left("k", "B", 0)
    assert task.right("k", "a", 50) == [("k", "A+a", 50), ("k", "B+a", 50)]
    assert len(task.unmatched) == 0
    assert task.left("x", "x", 500) == []


def test_left_join_never_emits_unmatched_right_records(lab: Lab) -> None:
    task = lab.StreamJoinTask("left")
    assert task.right("k", "a", 0) == []
    assert len(task.unmatched) == 0
    assert task.right(None, "a", 0) == []
    assert task.context.dropped_records == 1
    assert task.left("x", "x", 500) == []


def test_a_null_key_is_emitted_at_once_on_outer_sides(lab: Lab) -> None:
    task = lab.StreamJoinTask("outer")
    assert task.left(None, "A", 7) == [(None, "A+None", 7)]
    assert task.right(None, "a", 7) == [(None, "None+a", 7)]
    assert task.left(None, None, 7) == task.right("k", None, 7) == []
    assert task.context.dropped_records == 2


def test_null_records_raise_the_clock_but_do_not_emit(lab: Lab) -> None:
    task = lab.StreamJoinTask("left")
    task.left("k", "A", 0)
    assert task.left("k", None, 1000) == []
    assert task.left("k", "late", 999) == []  # in the outer store: 999 + 100 is not over
    assert task.left("k", "old", 899) == [("k", "old+None", 899)]  # alone at once: its window is over
    assert task.left("x", "x", 1000) == [("k", "A+None", 0)]


def test_out_of_order_records_do_not_emit_others(lab: Lab) -> None:
    task = lab.StreamJoinTask("left")
    task.left("k", "A", 0)
    task.right("other", None, 300)
    assert task.right("other", "x", 299) == []
    assert task.right("other", "x", 300) == [("k", "A+None", 0)]


def test_an_old_record_alone_may_still_be_matched_later(lab: Lab) -> None:
    task = lab.StreamJoinTask("left", grace=1000)
    task.right("x", "x", 500)
    assert task.left("k", "A", 0) == [("k", "A+None", 0)]
    assert task.right("k", "a", 50) == [("k", "A+a", 50)]


def test_sides_close_at_their_own_times(lab: Lab) -> None:
    task = lab.StreamJoinTask("outer", before=10, after=100)
    task.left("k", "A", 0)  # until 100
    task.right("j", "a", 1)  # until 11
    assert task.left("x", "x", 12) == []  # the gate is that of the side that asks: 0 + 100
    assert task.right("x", "x", 14) == [("x", "x+x", 14), ("j", "None+a", 1)][::-1]
    assert task.left("y", "y", 101) == []  # the last visited entry, of time 12, holds the older one back
    assert task.left("y", "y", 113) == [("k", "A+None", 0)]


def test_the_last_visited_entry_decides_when_to_look_again(lab: Lab) -> None:
    task = lab.StreamJoinTask("left")
    task.left("a", "A", 0)
    task.left("b", "B", 50)
    task.left("c", "C", 100)
    assert task.left("d", "D", 101) == [("a", "A+None", 0)]
    assert task.left("e", "E", 151) == []  # b is closed, but c was seen last: nothing before 201
    assert task.left("f", "F", 201) == [("b", "B+None", 50), ("c", "C+None", 100)]


def test_legacy_windows_report_unmatched_records_at_once(lab: Lab) -> None:
    task = lab.StreamJoinTask("outer", legacy=True)
    assert task.left("k", "A", 0) == [("k", "A+None", 0)]
    assert task.right("k", "a", 5) == [("k", "A+a", 5)]
    assert task.right("j", "b", 5) == [("j", "None+b", 5)]
    assert len(task.unmatched) == 0


def test_emission_is_throttled_by_the_wall_clock(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    task = lab.StreamJoinTask("left", emit_interval=1000)
    now = 5000
    monkeypatch.setattr(task.context, "now", lambda: now)
    task.left("a", "A", 0)
    assert task.left("b", "B", 200) == [("a", "A+None", 0)]
    assert task.left("c", "C", 400) == []
    now = 6000
    assert task.left("d", "D", 401) == [("b", "B+None", 200)]


def test_a_joiner_that_raises_leaves_the_last_emitted_record_for_the_next_time(lab: Lab) -> None:
    task = lab.StreamJoinTask("left")
    for key in "abc":
        task.left(key, key.upper(), 0)
    rows = task.output.rows
    seen = []

    def refuse_b(key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        seen.append(value)
        if seen == ["A+None", "B+None"]:
            raise ValueError(value)

    for side in (task._left, task._right):
        side.forward.__self__.forward = refuse_b
    with pytest.raises(ValueError, match="B"):
        task.left("x", "x", 101)
    task.left("x", "x", 101)
    assert rows == []
    assert seen == ["A+None", "B+None", "A+None", "B+None", "C+None"]


def test_restored_unmatched_records_are_found_by_the_first_record(lab: Lab) -> None:
    task = lab.StreamJoinTask("left")
    task.left("k", "A", 0)
    again = lab.StreamJoinTask("left")
    again.unmatched.apply_changes(task.unmatched.take_changes().items())
    lab.start(again.context, again._left.forward.__self__, again._right.forward.__self__)
    assert again.left("x", "x", 101) == [("k", "A+None", 0)]


def test_values_that_can_be_changed_in_place_are_kept_as_they_were(lab: Lab) -> None:
    task = lab.StreamJoinTask("left", value=Serdes.json)
    value = {"n": 1}
    task.left("k", value, 0)
    value["n"] = 2
    assert task.left("x", {}, 101) == [("k", "{'n': 1}+None", 0)]
