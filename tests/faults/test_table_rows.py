"""Faults that once gave wrong results without a word, end to end. The numbers are those of issue 10's table."""

from __future__ import annotations

import random

import pytest

from .conftest import CarryOut
from .harness.faults import BY_NAME, Fault, flaky_ahead
from .harness.outcome import Outcome
from .harness.scene import Scene
from .harness.schedule import Schedule


def schedule(fault: Fault, *, replace: bool = True) -> Schedule:
    return Schedule(
        seed=1,
        faults=(fault,),
        master="local[2]",
        stores="memory",
        caching=False,
        replace=replace,
        records=300,
        rate=300,
    )


def work_ahead(scene: Scene, chance: random.Random) -> float:
    since = flaky_ahead(scene, chance, numbers=4_000, times=2)
    assert any(scene.spent.iterdir()), "no lane worked ahead"
    return since


def check(outcome: Outcome) -> None:
    assert outcome.is_well, str(outcome)


def test_1_a_function_raises_while_a_lane_works_ahead(run: CarryOut) -> None:
    check(run(schedule(Fault("flaky while lanes work ahead", work_ahead))))


def test_2_a_lane_fails_while_the_worker_that_asked_is_dead(run: CarryOut) -> None:
    check(run(schedule(BY_NAME["worker killed while its lane fails"])))


@pytest.mark.parametrize("then", ["killed", "ended"])
def test_3_a_second_copy_waits_and_takes_over(run: CarryOut, then: str) -> None:
    check(run(schedule(BY_NAME[f"second copy, first {then}"])))


def test_4_a_second_copy_with_another_checkpoint_is_refused(run: CarryOut) -> None:
    check(run(schedule(BY_NAME["second copy, other checkpoint"])))
