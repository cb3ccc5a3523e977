"""SIGTERM and Ctrl-C, wherever an application is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millstream.kafka.detached import DetachedBroker
from millstream.spark.startup.signals import StopSignals, Terminated, signals_are_the_drivers

_APP = Path(__file__).with_name("signalled_app.py")
_TAG = "MILLSTREAM_SIGNALLED"
_PATIENCE_SECONDS = 180.0
_ENDS_SECONDS = 15.0


class _App:
    """The application as a process with all its children."""

    def __init__(self, bootstrap: str, directory: Path, topic: str) -> None:
        self._tag = f"{_TAG}={uuid.uuid4().hex}".encode()
        self._output = directory / "output"
        name, value = self._tag.decode().split("=")
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, str(_APP), bootstrap, str(directory), topic],
                env={**os.environ, name: value},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def has(self, what: str) -> bool:
        """Whether one of its processes was started with such an argument."""
        return any(what.encode() in command for command in self.commands())

    def said(self, line: str) -> bool:
        return line in self.output().splitlines()

    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def heeds(self, number: signal.Signals) -> bool:
        """Whether it has a handler for a signal by now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")]
        return bool(int(caught, 16) >> (number - 1) & 1)

    def commands(self) -> list[bytes]:
        """The command lines of its processes."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if self._tag in (entry / "environ").read_bytes().split(b"\0"):
                        found.append((entry / "cmdline").read_bytes())
        return [command for command in found if command]

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = _PATIENCE_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{what}: {self.commands()}\n{self.output()}"
            time.sleep(0.01)


_MOMENTS: dict[str, Callable[[_App], bool]] = {
    "while it starts": lambda app: app.said("starting") and app.heeds(signal.SIGTERM),
    "while the JVM starts": lambda app: app.has("org.apache.spark.deploy.SparkSubmit"),
    "while Spark starts": lambda app: app.has("pyspark.daemon") or app.has("spark.lanes.server"),
    "when it runs": lambda app: app.said("running"),
}


@pytest.mark.parametrize("moment", _MOMENTS)
def test_sigterm_is_never_lost(
    broker: DetachedBroker, make_topic: Callable[..., str], tmp_path: Path, moment: str
) -> None:
    app = _App(broker.bootstrap_servers, tmp_path, make_topic())
    try:
        app.wait_until(lambda: _MOMENTS[moment](app), moment)
        os.killpg(app.process.pid, signal.SIGTERM)  # as supervisors do
        begun = time.monotonic()
        code = app.process.wait(_PATIENCE_SECONDS)
        assert code in (0, 143), f"{code}\n{app.output()}"
        assert code == 0 or moment != "when it runs"
        app.wait_until(lambda: not app.commands(), "the end of all processes")
        assert time.monotonic() - begun < _ENDS_SECONDS, app.output()
        assert "stopping" in app.output()
        assert "Traceback" not in app.output()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(app.process.pid, signal.SIGKILL)
        app.process.wait()


@pytest.fixture
def received() -> Iterator[list[int]]:
    """Signals that come to nobody else."""
    found: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: found.append(number))
    yield found
    signal.signal(signal.SIGTERM, before)


def test_a_start_ends_at_once(received: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    signals = StopSignals(signal.SIGTERM)
    signals.starting()
    with pytest.raises(Terminated) as caught:
        os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.code == 143
    with pytest.raises(Terminated):  # should it have got lost on the way
        signals.running(lambda: None)
    signals.over()
    os.kill(os.getpid(), signal.SIGTERM)
    assert received == [signal.SIGTERM]
    assert capsys.readouterr().err == "stopping\n"


def test_a_running_one_is_stopped_and_a_stopping_one_says_so(
    received: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    stopped: list[bool] = []
    signals = StopSignals(signal.SIGTERM)
    signals.starting()
    signals.running(lambda: stopped.append(True))
    os.kill(os.getpid(), signal.SIGTERM)
    deadline = time.monotonic() + _ENDS_SECONDS
    while not stopped and time.monotonic() < deadline:
        time.sleep(0.01)
    assert stopped == [True]
    signals.stopping()
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    signals.over()
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("stopping after what is under way ...; Ctrl-C again stops at once")
    assert others == ["stopping after what is under way ..."] * 2
    assert received == []


def test_only_the_jvm_ignores_sigterm(received: list[int]) -> None:
    from pyspark import java_gateway

    with signals_are_the_drivers(local=True):
        popen = java_gateway.Popen  # type: ignore[attr-defined]
        child = popen(["/bin/sh", "-c", "kill -TERM $$; echo here"], stdout=subprocess.PIPE, preexec_fn=lambda: None)
        os.kill(os.getpid(), signal.SIGTERM)
        output, _ = child.communicate()
    assert output == b"here\n"
    assert received == [signal.SIGTERM]
    assert java_gateway.Popen is subprocess.Popen  # type: ignore[attr-defined]


def test_a_jvm_that_is_not_through_with_its_start_is_ended() -> None:
    from pyspark import java_gateway

    def start() -> None:
        with signals_are_the_drivers(local=True):
            children.append(java_gateway.Popen(["/bin/sleep", "600"], preexec_fn=lambda: None))  # type: ignore[attr-defined]
            raise Terminated

    children: list[subprocess.Popen[bytes]] = []
    with pytest.raises(Terminated):
        start()
    assert children[0].returncode == -signal.SIGKILL
