"""Faults that once gave wrong results without a word, end to end. The numbers are those of issue 10's table."""

from __future__ import annotations

import random

from millstream.config import ProcessingMode

from .conftest import CarryOut
from .harness.faults import BY_NAME, Fault, flaky_ahead
from .harness.outcome import Outcome
from .harness.scene import Scene
from .harness.schedule import Schedule


def schedule(*faults: Fault, mode: ProcessingMode = "micro_batch") -> Schedule:
    return Schedule(
        seed=1,
        faults=faults,
        master="local[2]",
        stores="memory",
        caching=False,
        replace=True,
        records=300,
        rate=300,
        overlapping=False,
        mode=mode,
    )


def work_ahead(scene: Scene, chance: random.Random) -> float:
    since = flaky_ahead(scene, chance, numbers=4_000, times=2)
    assert any(scene.spent.iterdir()), "no lane worked ahead"
    return since


def check(outcome: Outcome) -> None:
    assert outcome.is_well, str(outcome)


def test_1_2_and_4_lanes_fail_and_another_copy_has_another_checkpoint(run: CarryOut) -> None:
    check(
        run(
            schedule(
                Fault("flaky while lanes work ahead", work_ahead),
                BY_NAME["worker killed while its lane fails"],
                BY_NAME["second copy, other checkpoint"],
            )
        )
    )


def test_3_a_second_copy_waits_and_takes_over(run: CarryOut) -> None:
    check(run(schedule(BY_NAME["second copy, first killed"], BY_NAME["second copy, first ended"])))


def test_continuously_the_jvm_is_killed_and_then_the_first_of_two_copies(run: CarryOut) -> None:
    check(run(schedule(BY_NAME["kill JVM"], BY_NAME["second copy, first killed"], mode="continuous")))
