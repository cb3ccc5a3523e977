"""The suppress operator: when updates leave the buffer, and as what."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import StreamsError
from millstream.processors.suppress import suppress_view
from millstream.processors.tables.view import TableView, ViewFactory
from millstream.records import Headers, Window, Windowed
from millstream.serdes import Serdes


def test_until_a_time_limit(task: Any) -> None:
    run = task(2, value=Serdes.long)
    assert run.feed("v1", 1, None, 0) == []
    assert run.feed("v1", 0, 1, 1) == []
    assert run.feed("v2", 1, None, 1) == []
    assert run.feed("v1", 1, 0, 2) == [("v1", 1, 0, 2)]
    assert run.feed("tick", 1, None, 3) == [("v2", 1, None, 1)]


def test_until_the_window_closes(task: Any) -> None:
    run = task(1, key=Serdes.time_windowed(Serdes.string, timedelta(milliseconds=2)), until_window_closes=True)
    first, second, third = (Windowed("k1", Window(start, start + 2)) for start in (0, 2, 4))
    assert run.feed(first, "1", None, 0) == []
    assert run.feed(first, "2", "1", 1) == []
    assert run.feed(second, "1", None, 2) == []
    assert run.feed(first, "3", "2", 1) == []
    assert run.feed(first, "4", "3", 1) == []
    assert run.feed(third, "1", None, 5) == [(first, "4", "3", 1), (second, "1", None, 2)]


def test_a_window_deleted_before_it_closed_is_not_emitted(task: Any) -> None:
    key = Windowed("k", Window(0, 3))
    run = task(0, key=Serdes.session_windowed(Serdes.string), until_window_closes=True)
    run.feed(key, "1", None, 0)
    assert run.feed(key, None, "1", 9) == []
    assert len(run.buffer) == 0


def test_a_tombstone_passes_a_time_limit(task: Any) -> None:
    run = task(5)
    run.feed("k", "1", None, 0)
    assert run.feed("k", None, "1", 9) == [("k", None, "1", 9)]


def test_order_is_by_time_then_by_key(task: Any) -> None:
    run = task(10)
    for key, t in (("c", 2), ("b", 1), ("d", 1), ("a", 2), ("b", 3)):
        run.feed(key, "1", None, t)
    assert [output[0] for output in run.feed("x", "1", None, 50)] == ["b", "d", "a", "c"]
    assert len(run.buffer) == 1


def test_an_emitted_record_is_the_latest_update_with_its_context(task: Any) -> None:
    run = task(10)
    headers = Headers([("h", b"2")])
    run.feed("a", "1", None, 0, Headers([("h", b"1")]))
    run.feed("a", "2", "1", 1, headers)
    assert run.feed("b", "3", None, 20) == [("a", "2", "1", 1)]
    assert run.origins == [("in", 0, 1, headers)]


def test_a_full_buffer_emits_the_oldest_early(task: Any) -> None:
    run = task(1000, max_records=1)
    assert run.feed("a", "1", None, 0) == []
    assert run.feed("a", "2", "1", 1) == []
    assert run.feed("b", "1", None, 2) == [("a", "2", "1", 1)]


def test_a_full_buffer_by_bytes(task: Any) -> None:
    # 8 buffer time + 1 key + 1 value + 8 + 8 + 4 context + 2 topic = 32 a record
    run = task(1000, max_bytes=64)
    assert [run.feed("a", "1", None, 0), run.feed("b", "1", None, 1)] == [[], []]
    assert run.buffer.size_in_bytes == 64
    assert run.feed("b", "22", "1", 2) == [("a", "1", None, 0)]
    assert run.buffer.size_in_bytes == 34
    assert run.feed("b", "2" * 99, "1", 3) == [("b", "2" * 99, "1", 3)]
    assert run.buffer.size_in_bytes == 0


def test_a_full_buffer_can_stop_the_task(task: Any) -> None:
    run = task(1000, max_records=2, shut_down=True)
    run.feed("a", "1", None, 0)
    run.feed("b", "2", None, 1)
    run.feed("a", "3", "1", 2, Headers([("h", b"1")]))
    run.feed("a", "4", "3", 10)
    with pytest.raises(StreamsError) as caught:
        run.feed("c", "5", None, 12)
    assert caught.value.primary == (
        "KTABLE-SUPPRESS-0000000003 buffer exceeded its max capacity. "
        "Currently [3/2] records and [97/9223372036854775807] bytes."
    )


def test_the_bytes_of_windowed_counts(task: Any) -> None:
    run = task(
        5,
        key=Serdes.time_windowed(Serdes.string, timedelta(milliseconds=10)),
        value=Serdes.long,
        until_window_closes=True,
        max_records=3,
        shut_down=True,
    )
    run.feed(Windowed("a", Window(0, 10)), 1, 0, 0)
    run.feed(Windowed("b", Window(0, 10)), 1, 0, 1)
    run.feed(Windowed("a", Window(0, 10)), 2, 1, 2, Headers([("h", b"1")]))
    run.feed(Windowed("a", Window(10, 20)), 1, 0, 10)
    with pytest.raises(StreamsError, match=r"\[4/3\] records and \[230/9223372036854775807\] bytes"):
        run.feed(Windowed("c", Window(10, 20)), 1, 0, 12)


def test_values_that_can_change_are_emitted_as_they_were(task: Any) -> None:
    run = task(10, value=Serdes.json)
    value = {"n": 1}
    run.feed("a", value, None, 0)
    value["n"] = 2
    assert run.feed("b", {"n": 3}, None, 20) == [("a", {"n": 1}, None, 0)]


class Parent(TableView):
    def get(self, key: Any) -> tuple[Any, int] | None:
        return ("parent", 7)


@pytest.mark.parametrize("value", [Serdes.string, Serdes.json])
def test_a_view_shows_what_was_before_the_buffered_updates(task: Any, value: Any) -> None:
    run = task(10, value=value)
    factory = suppress_view(ViewFactory(Parent, ("p",)), "b")
    view = factory.create()
    view.init(run.context)
    assert factory.store_names == ("b", "p")
    assert view.get("a") == ("parent", 7)
    run.feed("a", "new", "before", 0)
    run.feed("a", "newer", "new", 1)
    run.feed("b", "first", None, 1)
    assert view.get("a") == ("before", -1)
    assert view.get("b") is None
    seen = []
    run.operator.forward = lambda key, *_: seen.append((key, view.get(key)))
    run.feed("x", "1", None, 50)
    # While an update is emitted the view still shows the state before it.
    assert seen == [("a", ("before", -1)), ("b", None)]
    assert view.get("a") == ("parent", 7)


updates = st.lists(
    st.tuples(st.sampled_from("abcd"), st.one_of(st.none(), st.text(max_size=3)), st.integers(0, 60)), max_size=40
)


@given(wait=st.integers(0, 20), updates=updates)
def test_against_a_list(task: Any, wait: int, updates: list[tuple[str, str | None, int]]) -> None:
    run = task(wait)
    held: dict[str, tuple[int, str | None, int]] = {}
    clock = -1
    for key, new, t in updates:
        clock = max(clock, t)
        held[key] = (held[key][0] if key in held else t, new, t)
        due = sorted((row[0], k) for k, row in held.items() if row[0] <= clock - wait)
        expected = [(k, *held[k][1:]) for _, k in due]
        for _, k in due:
            del held[k]
        assert [(k, value, time) for k, value, _, time in run.feed(key, new, None, t)] == expected
    assert len(run.buffer) == len(held)


@given(limit=st.integers(0, 150), updates=updates, value=st.sampled_from([Serdes.string, Serdes.json]))
def test_the_byte_count_is_the_sum_of_what_is_held(
    task: Any, limit: int, updates: list[tuple[str, str | None, int]], value: Any
) -> None:
    run = task(15, max_bytes=limit, value=value)
    for key, new, t in updates:
        run.feed(key, new, None, t, Headers([("h", b"12")]) if t % 2 else None)
        assert run.buffer.size_in_bytes <= limit
        other = task(15, value=value)
        other.buffer.apply_changes(run.buffer.snapshot())
        assert other.buffer.size_in_bytes == run.buffer.size_in_bytes


def test_the_context_is_restored_when_the_next_node_fails(task: Any) -> None:
    run = task(0)
    run.context.topic, run.context.offset = "in", 4

    def fail(*_: Any) -> None:
        run.context.topic = "elsewhere"
        raise RuntimeError("boom")

    run.operator.forward = fail
    with pytest.raises(RuntimeError):
        run.operator.process("k", ("v", None, True), 1, None)
    assert (run.context.topic, run.context.offset) == ("in", 4)
