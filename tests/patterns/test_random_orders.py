"""Invariants of all patterns, for many inputs, with services that get to see them in any order."""

from __future__ import annotations

import logging
import random

import pytest

from .harness.simulation import simulate
from .harness.world import EXAMPLES, Pattern
from .patterns import PATTERNS

RUNS = 100
RECORDS = 60


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_invariants_hold_in_any_order(pattern: Pattern, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "millstream")  # handlers warn about every dead letter
    for seed in range(RUNS):
        chance = random.Random(seed)
        sent = pattern.inputs(chance, RECORDS)
        try:
            pattern.check(sent, simulate(pattern, sent, chance))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


def test_every_pattern_is_tested() -> None:
    assert {pattern.name for pattern in PATTERNS} == {path.parent.name for path in EXAMPLES.glob("*/app.py")}
