"""`millstream connect` without a worker; with one, it is in tests/ksqldb/system."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_no_worker(run: Run) -> None:
    assert run("connect", "status")[:2] == (3, "no worker is running\n")
    assert run("connect", "stop")[:2] == (0, "no worker is running\n")


def test_what_is_refused(run: Run) -> None:
    code, _, errors = run("connect", "start", "--plugin", "org.example:stones")
    assert (code, "'org.example:stones' are no Maven coordinates" in errors) == (1, True)
    code, _, errors = run("connect", "start")
    assert (code, "no broker was given and none is running" in errors) == (1, True)
