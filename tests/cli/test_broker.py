"""`millstream broker` finds, starts and stops a broker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.kafka.detached import DetachedBroker

Run = Callable[..., tuple[int, str, str]]


def test_a_broker_that_runs(
    run: Run, broker: DetachedBroker, broker_state_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(broker_state_home))
    code, output, _ = run("broker", "status")
    assert code == 0
    assert output.startswith(f"the broker runs at {broker.bootstrap_servers}\n")
    assert str(broker.pid) in output
    assert broker.directory in output
    code, output, _ = run("broker", "start")
    assert code == 0
    assert output.startswith(f"the broker was already running at {broker.bootstrap_servers}\n")
    assert run("broker", "start", "--port", str(broker.port))[0] == 0
    code, output, errors = run("broker", "start", "--port", str(broker.port + 1))
    assert code == 1
    assert output.startswith(f"the broker was already running at {broker.bootstrap_servers}\n")
    assert errors.startswith("error: another broker runs already, and it stays as it is\n")
    assert run("broker", "start", "--directory", "/elsewhere")[0] == 1


def test_no_broker(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run("broker", "status")[:2] == (3, "no broker is running\n")
    assert run("broker", "stop")[:2] == (0, "no broker is running\n")


def test_it_cannot_start(run: Run, broker: DetachedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code, _, errors = run("broker", "start", "--port", str(broker.port))
    assert code == 1
    assert f"error: port {broker.port} is in use\n  hint:   choose another one" in errors
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, _, errors = run("broker", "start", "--port", "0")
    assert code == 1
    assert "error: Java is missing" in errors
    assert "Traceback" not in errors
