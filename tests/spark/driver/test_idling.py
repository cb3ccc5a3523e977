"""Waiting for an input partition that has no more records."""

from __future__ import annotations

from datetime import timedelta

from millstream.kafka.admin import Partition
from millstream.spark.driver.idling import Idling

from .times import Times

A, B = ("a", 0), ("b", 0)
ZERO = {A: 0, B: 0}
YEAR_3000 = 32_503_680_000_000


class Waiting:
    """An application with one task that takes two partitions, and waits a second."""

    def __init__(self, a: list[int], b: list[int]) -> None:
        self.topics = Times({A: a, B: b})
        self._idling = Idling([[A, B]], timedelta(seconds=1), self.topics, self.topics.lookahead())
        self._starts = ZERO

    def taken(self, now: float) -> dict[Partition, list[int]]:
        """What the next batch takes."""
        ends = self._idling.ends(self._starts, self.topics.there(), now)
        found = {place: self.topics.times[place][self._starts[place] : end] for place, end in ends.items()}
        self._starts = ends
        return found


def test_it_goes_on_as_far_as_all_partitions_are() -> None:
    app = Waiting([1, 2, 3], [2, 3, 4, 5])
    assert app.taken(0.0) == {A: [1, 2, 3], B: [2, 3]}
    assert app.taken(0.5) == {A: [], B: []}
    assert app.taken(1.1) == {A: [], B: [4, 5]}


def test_after_the_wait_it_goes_on_until_the_partition_has_records() -> None:
    app = Waiting([1], [2])
    assert app.taken(0.0) == {A: [1], B: []}
    assert app.taken(1.0) == {A: [], B: [2]}
    app.topics.times[B].append(3)
    assert app.taken(1.1) == {A: [], B: [3]}
    app.topics.times[A].append(4)
    assert app.taken(1.2) == {A: [], B: []}  # B is waited for now
    app.topics.times[B].append(5)
    assert app.taken(1.3) == {A: [4], B: []}
    assert app.taken(2.4) == {A: [], B: [5]}


def test_a_partition_that_never_had_a_record_is_waited_for() -> None:
    app = Waiting([], [2])
    assert app.taken(0.0) == {A: [], B: []}
    assert app.taken(0.9) == {A: [], B: []}
    assert app.taken(1.0) == {A: [], B: [2]}


def test_nothing_is_asked_while_nothing_is_there() -> None:
    app = Waiting([], [])
    assert app.taken(0.0) == {A: [], B: []}
    assert app.topics.requests == 0


def test_a_record_of_the_year_3000_does_not_speak_for_what_comes_next() -> None:
    app = Waiting([1, YEAR_3000, 2], [1, 2])
    assert app.taken(0.0) == {A: [1], B: [1, 2]}
    assert app.taken(1.0) == {A: [YEAR_3000, 2], B: []}
    app.topics.times[B].extend([3, 4])
    assert app.taken(1.1) == {A: [], B: []}  # A, which was at 2, is waited for
    app.topics.times[A].append(3)
    assert app.taken(1.2) == {A: [3], B: [3]}
    assert app.taken(2.3) == {A: [], B: [4]}
    app.topics.times[A].extend([5, 7])
    app.topics.times[B].extend([5, 6])
    assert app.taken(2.4) == {A: [5], B: [5, 6]}
