"""A lane looks for garbage itself, and leaves Python as it was."""

from __future__ import annotations

import gc
import weakref

import pytest

from millstream.hosting import rubbish
from millstream.hosting.rubbish import Rubbish


class Cycle:
    def __init__(self) -> None:
        self.me = self


def test_cycles_are_found_after_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rubbish, "_YOUNG_SECONDS", 0.0)
    with Rubbish() as lane:
        assert not gc.isenabled()
        gone = weakref.ref(Cycle())
        assert gone() is not None
        lane.clear()
        assert gone() is None
    assert gc.isenabled()


def test_old_ones_are_found_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rubbish, "_YOUNG_SECONDS", 0.0)
    monkeypatch.setattr(rubbish, "_ALL_SECONDS", 0.0)
    with Rubbish() as lane:
        cycle = Cycle()
        gone = weakref.ref(cycle)
        for _ in range(3):  # it grows old
            gc.collect(1)
        del cycle
        lane.clear()
        assert gone() is None
