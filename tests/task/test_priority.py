"""The heap gives equal priorities out in the order in which Java's PriorityQueue does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.processors.priority import PriorityQueue


def drained(queue: PriorityQueue[str]) -> str:
    return "".join(queue.poll() for _ in range(len(queue)))


@pytest.mark.parametrize(("offered", "polled"), [("ab", "ab"), ("abc", "acb"), ("abcd", "adcb"), ("abcde", "aedcb")])
def test_equal_priorities_follow_the_shape_of_the_heap(offered: str, polled: str) -> None:
    queue = PriorityQueue[str]()
    for item in offered:
        queue.offer(1, item)

    assert drained(queue) == polled


def test_two_equal_queues_alternate_when_offered_again() -> None:
    queue = PriorityQueue[str]()
    queue.offer(1, "a")
    queue.offer(1, "b")
    taken = []
    for _ in range(4):
        taken.append(queue.poll())
        queue.offer(1, taken[-1])

    assert taken == ["a", "b", "a", "b"]


def test_sinking_goes_right_only_if_that_is_strictly_less() -> None:
    queue = PriorityQueue[str]()
    for priority, item in ((0, "root"), (1, "left"), (1, "right"), (2, "last")):
        queue.offer(priority, item)
    queue.poll()

    assert [item for _, item in queue.entries] == ["left", "last", "right"]


@given(st.lists(st.integers(0, 5)))
def test_smaller_priorities_come_first(priorities: list[int]) -> None:
    queue = PriorityQueue[int]()
    for priority in priorities:
        queue.offer(priority, priority)

    assert [queue.poll() for _ in priorities] == sorted(priorities)
    assert queue.first is None
