"""`millstream run` finds its broker, tells what happens, and stops when it is asked to; all without Spark."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import millstream.cli.commands.run as run_module
from millstream.cli import progress
from millstream.config import StreamsConfig
from millstream.console.application.console import ApplicationConsole
from millstream.kafka.detached import DetachedBroker
from millstream.spark.life import State

Run = Callable[..., tuple[int, str, str]]

_APP = """
from millstream import Consumed, Serdes, StreamsBuilder, StreamsConfig
builder = StreamsBuilder()
builder.stream("orders", Consumed(Serdes.string, Serdes.string)).to("copy")
"""
_TOTALS = {
    "process-total": 1200.0,
    "commit-total": 3.0,
    "records-produced-total": 1100.0,
    "records-lag": 7.0,
    "dropped-records-total": 0.0,
}
_OF_BATCHES = {"batch-seconds": 0.5, "state-bytes": 1e6}


class Application:
    """Stands for a `KafkaStreams`: it has ended at once, or after some looks at it."""

    configs: list[StreamsConfig]
    #: The server and what is put around its HTTP.
    served: tuple[Any, Any] = (None, None)
    looks = 0
    failure = None

    url = None

    def __init__(self, topology: Any, config: StreamsConfig, server: Any = None, around: Any = None) -> None:
        self.configs.append(config)
        type(self).served = (server, around)

    def start(self, *, once: bool) -> None:
        pass

    @property
    def state(self) -> State:
        type(self).looks -= 1
        return State.NOT_RUNNING if self.looks < 0 else State.RUNNING

    def metrics(self) -> dict[str, float]:
        return _TOTALS

    def close(self) -> None:
        pass


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Application]]:
    """The application that runs; what the command sets for its process is put back."""

    class Fresh(Application):
        configs: list[StreamsConfig] = []  # noqa: RUF012 - one for each test

    monkeypatch.setattr(run_module, "KafkaStreams", Fresh)
    monkeypatch.delenv("MILLSTREAM_BOOTSTRAP_SERVERS", raising=False)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers, level = logging.root.handlers[:], logging.root.level
    yield Fresh
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes an app.py and gives its path."""

    def write(more: str = "") -> str:
        file = tmp_path / "app_to_run.py"
        file.write_text(_APP + more)
        monkeypatch.delitem(sys.modules, "app_to_run", raising=False)
        return str(file)

    return write


def test_it_finds_the_running_broker(
    run: Run,
    app: Callable[..., str],
    application: type[Application],
    broker: DetachedBroker,
    broker_state_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(broker_state_home))
    code, _, errors = run("run", app())
    assert code == 0
    assert application.configs[-1].bootstrap_servers == broker.bootstrap_servers
    assert application.configs[-1].processing_mode == "continuous"
    assert "starting app_to_run; where it stands is in Kafka\n" in errors
    assert "stopped after 1,200 records in 3 commits, 1,100 written" in errors


def test_batches_have_a_checkpoint(
    run: Run,
    app: Callable[..., str],
    application: type[Application],
    broker_state_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(broker_state_home))
    monkeypatch.setattr(application, "metrics", lambda self: {**_TOTALS, **_OF_BATCHES})
    code, _, errors = run("run", app(), "--processing-mode", "micro_batch")
    assert code == 0
    assert application.configs[-1].processing_mode == "micro_batch"
    where = broker_state_home / "millstream" / "applications" / "app_to_run" / "checkpoint"
    assert f"starting app_to_run; its checkpoint is {where}\n" in errors
    assert "stopped after 1,200 records in 3 batches, 1,100 written" in errors


def test_which_broker_counts(
    run: Run, app: Callable[..., str], application: type[Application], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code, _, errors = run("run", app())
    assert (code, application.configs) == (1, [])
    assert errors.startswith("error: no broker was given and none is running\n")
    own = app(
        "config = StreamsConfig(application_id='shop', bootstrap_servers='mine:1', client={'acks': 1, 'retries': 2})"
    )
    assert run("run", own)[0] == 0
    assert application.configs[-1].bootstrap_servers == "mine:1"
    monkeypatch.setenv("MILLSTREAM_BOOTSTRAP_SERVERS", "environment:1")
    assert run("run", own)[0] == 0
    assert application.configs[-1].bootstrap_servers == "environment:1"
    assert run("run", own, "-b", "option:1", "--client", "acks=all", "-c", "linger.ms=3")[0] == 0
    assert application.configs[-1].bootstrap_servers == "option:1"
    assert application.configs[-1].client == {"acks": "all", "retries": "2", "linger.ms": "3"}
    code, _, errors = run("run", own, "--client", "acks")
    assert (code, "write it as name=value" in errors) == (1, True)


def test_what_cannot_run_is_refused_before_spark_starts(
    run: Run, app: Callable[..., str], application: type[Application]
) -> None:
    code, _, errors = run("run", app("builder.stream('more').to('out')"), "-b", "host:1")
    assert (code, application.configs) == (1, [])
    assert "has no key serde" in errors


def test_progress_without_a_terminal(
    run: Run, app: Callable[..., str], application: type[Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.001)
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.0)
    application.looks = 20
    code, _, errors = run("run", app(), "-b", "host:1")
    assert code == 0
    lines = [line for line in errors.splitlines() if "running:" in line]
    assert "INFO millstream.progress: running: 1,200 records, " in lines[0]
    assert lines[0].endswith("records/s, lag 7")
    assert len(lines) == 2  # the second has no rate; then nothing changes, and nothing is said
    application.looks = 20
    code, _, errors = run("run", app(), "-b", "host:1", "--log-format", "json", "--quiet")
    assert [line for line in errors.splitlines() if not line.startswith("{")] == []
    assert "running:" not in errors


def test_ctrl_c_is_answered_at_once() -> None:
    """In a process of its own, as the second Ctrl-C ends it."""
    script = (
        "import signal, threading\n"
        "from millstream.spark.startup.signals import StopSignals\n"
        "stop, signals = threading.Event(), StopSignals(signal.SIGINT, signal.SIGTERM)\n"
        "signals.starting()\n"
        "signals.running(stop.set)\n"
        "print('ready', flush=True)\n"
        "assert stop.wait(30)\n"
        "print('asked', flush=True)\n"
        "threading.Event().wait(30)\n"
        "print('not reached')\n"
    )
    process = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "asked\n"
    os.kill(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert output == ""
    assert process.returncode == -signal.SIGINT
    assert errors.count("stopping after what is under way") == 1


def test_with_its_console(
    run: Run, app: Callable[..., str], application: type[Application], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MILLSTREAM_BOOTSTRAP_SERVERS", "mine:1")
    assert run("run", app())[0] == 0
    assert application.served[0] is None
    users = tmp_path / "users"
    users.write_text("ann:word\neve:look:readonly\n")
    assert run("run", app(), "--console", "--users-file", str(users))[0] == 0
    server, around = application.served
    assert (server.port, server.users, server.readers) == (0, (("ann", "word"), ("eve", "look")), ("eve",))
    assert around is ApplicationConsole
