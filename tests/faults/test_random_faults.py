"""Faults from a few seeds; `make soak` takes a hundred, see bench/faults.py."""

from __future__ import annotations

import pytest

from .conftest import CarryOut
from .harness.schedule import schedule


@pytest.mark.parametrize("seed", [2, 24])
def test_nothing_is_lost_doubled_or_silent(run: CarryOut, seed: int) -> None:
    outcome = run(schedule(seed))
    assert outcome.is_well, str(outcome)
