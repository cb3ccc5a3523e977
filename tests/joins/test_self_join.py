"""The optimised join of a stream with itself."""

from __future__ import annotations

import random
from typing import Any

import pytest

from millstream.processors.context import TaskContext
from millstream.processors.joins import JoinWindowStoreOperator, SelfJoin

Lab = Any


class SelfJoinTask:
    def __init__(self, lab: Lab, before: int, after: int, grace: int = 0) -> None:
        retention = before + after + grace
        self.context = TaskContext()
        self.context.stores["s"] = lab.WindowStore(retention)
        self.output = lab.Output()
        self._windowed = JoinWindowStoreOperator("s")
        join = SelfJoin(
            store="s", before_ms=before, after_ms=after, grace_ms=grace, retention_ms=retention, joiner=lab.pair
        )
        self._windowed.forward, join.forward = join.process, self.output
        lab.start(self.context, self._windowed, join)

    def both(self, key: Any, value: Any, timestamp: int) -> Any:
        self._windowed.process(key, value, timestamp, None)
        return self.output.take()


def test_a_record_meets_itself_between_earlier_and_later_ones(lab: Lab) -> None:
    task = SelfJoinTask(lab, 10, 10)
    assert task.both("k", "a", 5) == [("k", "a+a", 5)]
    assert task.both("k", "c", 9) == [("k", "c+a", 9), ("k", "a+c", 9), ("k", "c+c", 9)]
    assert task.both("k", "b", 7) == [
        ("k", "b+a", 7),
        ("k", "b+c", 9),
        ("k", "a+b", 7),
        ("k", "b+b", 7),
        ("k", "c+b", 9),
    ]


def test_null_keys_and_values_are_dropped(lab: Lab) -> None:
    task = SelfJoinTask(lab, 10, 10)
    assert task.both(None, "a", 5) == task.both("k", None, 5) == []
    assert task.context.dropped_records == 2


def test_a_record_as_old_as_the_retention_does_not_meet_itself(lab: Lab) -> None:
    task = SelfJoinTask(lab, 10, 10)
    task.both("k", "a", 100)
    assert task.both("j", "old", 81) == []
    assert task.both("i", "younger", 82) == [("i", "younger+younger", 82)]


@pytest.mark.parametrize("seed", range(5))
def test_results_are_those_of_the_plain_join(lab: Lab, seed: int) -> None:
    generator = random.Random(seed)
    plain = lab.StreamJoinTask("inner", before=5, after=12, grace=1000)
    optimised = SelfJoinTask(lab, 5, 12, grace=1000)
    for number in range(200):
        record = (generator.choice("ab"), str(number), generator.randrange(60))
        assert optimised.both(*record) == plain.both(*record)
