"""Which lane has which tasks, where there are many."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from .large import BUYS, LANES, ORDERS, PARTITIONS, program


def test_lanes_have_equally_many_tasks_of_each_kind_and_partitions_to_read(tmp_path: Path) -> None:
    plan = program(tmp_path).plan
    assert len(plan.tasks) == 2 * PARTITIONS
    for lane in range(LANES):
        kinds = Counter(task.sub_topology for task in plan.tasks_of_lane(lane, LANES))
        assert set(kinds.values()) == {PARTITIONS // LANES}
    for topic in (ORDERS, BUYS):
        read = Counter(plan.reading_lane(topic, partition, LANES) for partition in range(PARTITIONS))
        assert set(read.values()) == {PARTITIONS // LANES}


def test_the_lane_of_a_task_is_the_one_that_has_it(tmp_path: Path) -> None:
    plan = program(tmp_path, 30, 7).plan
    for lane in range(7):
        assert {plan.lane_of(task, 7) for task in plan.tasks_of_lane(lane, 7)} == {lane}


def test_another_number_of_lanes_moves_nearly_all_tasks(tmp_path: Path) -> None:
    """Known: a restart with other cores reads nearly all state anew. `docs/cluster.md` says so."""
    plan = program(tmp_path).plan
    moved = sum(plan.lane_of(task, LANES) != plan.lane_of(task, LANES - 10) for task in plan.tasks)
    assert moved > 0.9 * len(plan.tasks)
