"""Records of several partitions go by time."""

from __future__ import annotations

from millstream.hosting.transient.order import TimeOrder
from millstream.task.records import RawRecord

A, B = ("t", 0), ("t", 1)


def record(timestamp: int) -> RawRecord:
    return None, None, timestamp, None, 0


def taken(order: TimeOrder, *behind: tuple[str, int]) -> dict[tuple[str, int], list[int]]:
    return {at: [found[2] for found in records] for at, records in order.take([A, B], lambda at: at in behind)}


def test_nothing_is_kept_back_when_everything_was_read() -> None:
    order = TimeOrder()
    order.add(A, [record(5), record(3)])
    assert taken(order) == {A: [5, 3]}
    assert order.is_empty


def test_nothing_goes_before_a_partition_that_is_behind_and_said_nothing() -> None:
    order = TimeOrder()
    order.add(A, [record(1)])
    assert taken(order, B) == {}
    assert not order.is_empty


def test_what_is_later_than_a_partition_that_is_behind_waits() -> None:
    order = TimeOrder()
    order.add(A, [record(1), record(4), record(9)])
    order.add(B, [record(2), record(5)])
    assert taken(order, A, B) == {A: [1, 4], B: [2, 5]}
    assert taken(order, A) == {A: [9]}


def test_a_partition_of_which_many_records_wait_is_crowded() -> None:
    order = TimeOrder()
    order.add(A, [record(7)] * 10_000)
    order.add(B, [record(8)])
    assert order.crowded() == {A}
