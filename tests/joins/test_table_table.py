"""Joins of two tables."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.processors.context import TaskContext
from millstream.processors.joins import join_view
from millstream.processors.tables.view import store_view
from millstream.state.store import NOT_STORED

Lab = Any

STEPS = [
    ("left", None, 1),
    ("right", None, 2),
    ("left", "A", 3),
    ("right", "a", 4),
    ("left", "B", 5),
    ("right", "b", 6),
    ("left", None, 7),
    ("right", None, 8),
]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("inner", [None, None, None, ("A+a", 4), ("B+a", 5), ("B+b", 6), (None, 7), None]),
        ("left", [None, None, ("A+None", 3), ("A+a", 4), ("B+a", 5), ("B+b", 6), (None, 7), None]),
        ("outer", [None, None, ("A+None", 3), ("A+a", 4), ("B+a", 5), ("B+b", 6), ("None+b", 7), (None, 8)]),
    ],
)
def test_updates_of_both_tables(lab: Lab, kind: str, expected: Any) -> None:
    task = lab.TableJoinTask(kind)
    results = [getattr(task, side)("k", value, timestamp) for side, value, timestamp in STEPS]
    assert results == [[] if row is None else [("k", *row)] for row in expected]


def test_the_result_is_as_late_as_the_later_row(lab: Lab) -> None:
    task = lab.TableJoinTask("outer")
    task.right("k", "a", 50)
    assert task.left("k", "A", 3) == [("k", "A+a", 50)]
    assert task.left("j", "A", 3) == [("j", "A+None", 3)]


@pytest.mark.parametrize(
    ("kind", "side", "change", "expected"),
    [
        ("inner", "left", ("B", "A"), ("B+o", "A+o")),
        ("inner", "right", ("b", None), ("o+b", None)),
        ("inner", "left", (None, "A"), (None, "A+o")),
        ("left", "left", (None, "A"), (None, "A+o")),
        ("left", "right", (None, "a"), ("o+None", "o+a")),
        ("left", "right", ("b", None), ("o+b", "o+None")),
        ("outer", "left", (None, "A"), ("None+o", "A+o")),
        ("outer", "right", ("b", None), ("o+b", "o+None")),
    ],
)
def test_old_results_are_sent_if_they_are_wanted(lab: Lab, kind: str, side: str, change: Any, expected: Any) -> None:
    for send_old in (False, True):
        task = lab.TableJoinTask(kind, send_old=send_old)
        task.stores["right" if side == "left" else "left"].write("k", "o", 0)
        task.sides[side].process("k", (*change, True), 1, None)
        assert task.output.take() == [("k", (expected[0], expected[1] if send_old else None, True), 1)]


@pytest.mark.parametrize("kind", ["inner", "left", "outer"])
def test_null_keys_and_updates_that_are_not_the_latest_are_dropped(lab: Lab, kind: str) -> None:
    task = lab.TableJoinTask(kind)
    task.right("k", "a", 1)
    task.output.take()
    for side in task.sides.values():
        side.process(None, ("A", None, True), 1, None)
        side.process("k", ("A", None, False), 1, None)
    assert task.output.take() == []
    assert task.context.dropped_records == 4


def test_deleting_an_unknown_row_gives_nothing_unless_an_inner_join_has_the_other_one(lab: Lab) -> None:
    for kind in ("inner", "left", "outer"):
        task = lab.TableJoinTask(kind)
        assert task.left("k", None, 1) == task.right("k", None, 1) == []
    inner = lab.TableJoinTask("inner")
    inner.right("k", "a", 1)
    assert inner.left("k", None, 2) == [("k", None, 2)]


def test_a_materialised_result_is_written_and_forwarded(lab: Lab) -> None:
    store = lab.TableStore()
    task = lab.TableJoinTask("left", result=store, send_old=True)
    assert task.write("left", "k", "A", 3) == [("k", ("A+None", None, True), 3)]
    assert store.rows == {"k": ("A+None", 3)}
    assert task.write("left", "k", None, 4) == [("k", (None, "A+None", True), 4)]
    assert store.rows == {}


@pytest.mark.parametrize("send_old", [False, True])
def test_a_cached_result_is_forwarded_when_it_is_flushed(lab: Lab, send_old: bool) -> None:
    store = lab.CachedTableStore()
    task = lab.TableJoinTask("left", result=store, send_old=send_old)
    assert task.write("left", "k", "A", 3) == []
    store.flush()
    task.output.take()
    assert task.write("left", "k", "B", 4) == []
    assert task.write("right", "k", "b", 5) == []
    store.flush()
    assert task.output.take() == [("k", ("B+b", "A+None" if send_old else None, True), 5)]


def test_a_versioned_result_tells_what_is_latest_and_refuses_what_is_too_old(lab: Lab) -> None:
    task = lab.TableJoinTask("left", result=lab.VersionedStore(refuses_before=2))
    assert task.write("left", "k", "A", 9) == [("k", ("A+None", None, True), 9)]
    assert task.write("left", "k", "B", 5) == [("k", ("B+None", None, False), 5)]
    assert task.write("left", "k", "C", 1) == []
    assert lab.VersionedStore(refuses_before=2).write("k", "v", 1) == NOT_STORED


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("inner", {"both": ("L+R", 7), "left": None, "right": None, "none": None}),
        ("left", {"both": ("L+R", 7), "left": ("L+None", 3), "right": None, "none": None}),
        ("outer", {"both": ("L+R", 7), "left": ("L+None", 3), "right": ("None+R", 7), "none": None}),
    ],
)
def test_a_result_that_is_not_materialised_can_be_looked_up(lab: Lab, kind: Any, expected: Any) -> None:
    context = TaskContext()
    context.stores = {"l": lab.TableStore(), "r": lab.TableStore()}
    for key in ("both", "left"):
        context.store("l").write(key, "L", 3)
    for key in ("both", "right"):
        context.store("r").write(key, "R", 7)
    factory = join_view(kind, store_view("l"), store_view("r"), lab.pair)
    view = factory.create()
    view.init(context)
    assert {key: view.get(key) for key in expected} == expected
    assert factory.store_names == ("l", "r")
    assert not view.versioned
    assert join_view(kind, factory, store_view("l"), lab.pair).store_names == ("l", "r")


def test_a_joiner_that_gives_none_has_no_result_to_look_up(lab: Lab) -> None:
    context = TaskContext()
    context.stores = {"l": lab.TableStore()}
    context.store("l").write("k", "L", 3)
    view = join_view("inner", store_view("l"), store_view("l"), lambda key, left, right: None).create()
    view.init(context)
    assert view.get("k") is None
