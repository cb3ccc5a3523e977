"""Processes of lanes, without Spark and Kafka: what hangs, dies or does not belong here.

A lane unpickles its program before it does anything else, so a program that does something when it is unpickled stands
for a function that does it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import MillstreamError, StreamsError
from millstream.spark.calls import client as lane_client
from millstream.spark.calls import run_directory
from millstream.spark.calls.handshake import NotOursError, greet_client, greet_lane, peer
from millstream.spark.calls.label import Label, label_of, labelled, new_label, without_label
from millstream.spark.calls.processes import alive, birth, ending
from millstream.spark.calls.waiting import LaneSocket
from millstream.spark.failures import of_spark

_WAIT_SECONDS = 60.0


class _Does:
    """Runs Python when it is unpickled."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self._source, {})


class _Run:
    """A run of its own, with this process as its driver."""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex[:16]
        self.path = run_directory.drivers_directory(self.id)
        (self.path / "program").touch()

    def call(self, source: str, *, lane: int = 0, attempt: int = 0, most_seconds: float = 60.0) -> MillstreamError:
        """Have a lane do it, and answer the error that a user sees."""
        program = labelled(new_label(most_seconds), pickle.dumps(_Does(source)))
        request = {"batch": 17, "wave": 0, "attempt": attempt}
        with pytest.raises(StreamsError) as caught:
            lane_client.call(self.id, lane, os.getpid(), program, request)
        return of_spark(caught.value.primary)

    def lanes(self) -> list[int]:
        """Its processes."""
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and _command(entry)[3:4] == [str(self.path / "lane-0").encode()]
        ]


def _command(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _wait_until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def run(short_tempdir: Path) -> Iterator[_Run]:
    made = _Run()
    yield made
    (made.path / "program").unlink(missing_ok=True)  # lanes end
    _wait_until(lambda: not made.lanes())


@pytest.fixture
def one_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane that dies is not started again: starting one takes a second or more."""
    monkeypatch.setattr(lane_client, "_TRIES", 1)


# --- hashes


@pytest.mark.parametrize(("given", "expected"), [(None, "0"), ("random", "0"), ("", "0"), ("42", "42")])
def test_the_seed_is_the_drivers_own_or_spark_s(
    monkeypatch: pytest.MonkeyPatch, given: str | None, expected: str
) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    if given is not None:
        monkeypatch.setenv("PYTHONHASHSEED", given)
    assert new_label(60.0).hash_seed == expected


@pytest.mark.usefixtures("one_try")
def test_two_lanes_hash_alike(run: _Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = tmp_path / "hashes"
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    label = new_label(60.0)
    source = f"import os; open({str(hashes)!r}, 'a').write(str(hash('word')) + chr(10)); os._exit(0)"
    program, request = labelled(label, pickle.dumps(_Does(source))), {"batch": 1, "wave": 0, "attempt": 0}
    for lane, seed in ((0, "1"), (1, "2")):  # whatever those have that start them
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        with pytest.raises(StreamsError):
            lane_client.call(run.id, lane, os.getpid(), program, request)
    first, second = hashes.read_text().split()
    assert first == second


# --- deaths


def test_a_lane_that_dies_is_told_once_with_its_log(run: _Run, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        error = run.call("import os; os.abort()")
    assert error.primary == "lane 0 died (SIGABRT)"
    assert "batch 17" in str(error.detail)
    assert "Fatal Python error: Aborted" in str(error.detail)
    assert error.hint
    assert [record.getMessage().split(";")[0] for record in caplog.records] == [error.primary] * 2
    started = time.monotonic()
    assert run.call("import os; os.abort()", attempt=1).primary == error.primary  # Spark's next attempt: no more lanes
    assert time.monotonic() - started < 1
    assert len(list(run.path.glob("*.end"))) == 3


@pytest.mark.usefixtures("one_try")
def test_a_lane_that_is_killed(run: _Run) -> None:
    error = run.call("import os; os.kill(os.getpid(), 9)")
    assert error.primary == "lane 0 died (SIGKILL: out of memory?)"
    assert "it said nothing" in str(error.detail)


@pytest.mark.usefixtures("one_try")
def test_a_new_query_may_try_again(run: _Run) -> None:
    assert "so long" in str(run.call("import os; print('so long', flush=True); os._exit(3)").detail)
    assert run.call("import os; os._exit(4)", attempt=0).primary == "lane 0 died (exit code 4)"


def test_an_end_in_words() -> None:
    assert [ending(0), ending(7), ending(-6), ending(-999)] == ["exit code 0", "exit code 7", "SIGABRT", "signal 999"]


def test_lanes_end_soon_after_their_driver(run: _Run) -> None:
    driver = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    label = new_label(60.0)
    with lane_client._connected(run.path / "lane-0", 0, driver.pid, label, "its start"):
        assert run.lanes()
    driver.kill()
    driver.wait()
    started = time.monotonic()
    _wait_until(lambda: not run.lanes())
    assert time.monotonic() - started < 20
    assert not run.path.exists()


# --- lanes that hang


def test_a_stopped_lane_is_told_and_started_anew(run: _Run, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    once = tmp_path / "once"
    source = (
        f"import os, pathlib, signal; once = pathlib.Path({str(once)!r})\n"
        "if not once.exists(): once.touch(); os.kill(os.getpid(), signal.SIGSTOP)\n"
        "os._exit(5)"
    )
    with caplog.at_level(logging.WARNING):
        error = run.call(source, most_seconds=4.0)
    assert error.primary == "lane 0 died (exit code 5)"  # the next one
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("lane 0 has worked for ")
    assert "on batch 17" in said[0]
    assert "was stopped by a signal and does not answer" in said[0]
    assert said[1].startswith("lane 0 hung for ")


@pytest.mark.usefixtures("one_try")
def test_a_function_that_lets_nothing_else_run_is_found_out(run: _Run, caplog: pytest.LogCaptureFixture) -> None:
    source = "import re\ndef stuck(): re.match('(a+)+$', 'a' * 60 + 'b')\nstuck()"
    with caplog.at_level(logging.WARNING):
        error = run.call(source, most_seconds=4.0)
    assert error.primary.startswith("lane 0 hung for ")
    assert "in stuck" in str(error.detail)
    assert "max_poll_interval" in str(error.hint)


@pytest.mark.usefixtures("one_try")
def test_a_lane_that_waits_for_the_broker_is_not_ended(run: _Run, caplog: pytest.LogCaptureFixture) -> None:
    source = "import os, time\ntime.sleep(9); os._exit(6)"  # called by the lane itself, not by a task
    with caplog.at_level(logging.WARNING):
        error = run.call(source, most_seconds=4.0, attempt=0)
    assert error.primary == "lane 0 died (exit code 6)"
    assert any("it waits for the broker or for files" in record.getMessage() for record in caplog.records)
    assert not any("hung" in record.getMessage() for record in caplog.records)


# --- who may talk to a lane


def _greeting(lanes_secret: bytes, clients_secret: bytes) -> tuple[Exception | None, Exception | None]:
    lane, client = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    errors: list[Exception | None] = [None, None]

    def greet(index: int, greeter: Callable[[socket.socket, bytes], None], end: socket.socket, secret: bytes) -> None:
        with end:
            try:
                greeter(end, secret)
            except Exception as error:
                errors[index] = error

    thread = threading.Thread(target=greet, args=(0, greet_client, lane, lanes_secret))
    thread.start()
    greet(1, greet_lane, client, clients_secret)
    thread.join()
    return errors[0], errors[1]


def test_a_greeting() -> None:
    assert _greeting(b"secret", b"secret") == (None, None)
    refused, closed = _greeting(b"secret", b"other")
    assert isinstance(refused, NotOursError)
    assert isinstance(closed, ConnectionError)


def test_a_client_believes_no_other_lane() -> None:
    lane, client = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with lane, client:
        lane.sendall(b"n" * 32 + b"p" * 32)  # what it expects in size
        with pytest.raises(NotOursError, match="no lane of this run"):
            greet_lane(client, b"secret")


def test_a_lane_unpickles_nothing_from_who_does_not_know_the_secret(run: _Run, tmp_path: Path) -> None:
    label = new_label(60.0)
    path, evidence = run.path / "lane-0", tmp_path / "evidence"
    program = labelled(label, pickle.dumps(_Does(f"open({str(evidence)!r}, 'w')")))
    with lane_client._connected(path, 0, os.getpid(), label, "its start"):
        pass
    stranger = Label(b"guessed", "0", 60.0, {})
    with (
        pytest.raises(Exception, match="lane 0 died"),  # to a stranger the connection is just closed
        lane_client._connected(path, 0, os.getpid(), stranger, "its start") as connection,
    ):
        lane_client._ask(connection, {"program": program})
    with LaneSocket(path, 0, "nothing", 60.0) as rude:
        assert rude.reach()
        rude.sendall(program)  # without a greeting
        with contextlib.suppress(ConnectionResetError):
            while rude.recv(100):
                pass
    assert not evidence.exists()
    with lane_client._connected(path, 0, os.getpid(), label, "its start") as connection:  # it lives
        assert lane_client._ask(connection, {"batch": 1}) == {"need_program": True}
        process = peer(connection)
        assert process is not None
        for file in ("environ", "cmdline"):
            assert label.secret not in Path(f"/proc/{process[0]}/{file}").read_bytes()


def test_a_label_and_its_program() -> None:
    label = new_label(5.0)
    data = labelled(label, b"program")
    assert label_of(data) == label
    assert bytes(without_label(data)) == b"program"
    assert new_label(5.0).secret != label.secret


# --- directories


def _base(short_tempdir: Path) -> Path:
    return short_tempdir / f"millstream-{os.getuid()}"


def test_directories_are_for_this_user_only(short_tempdir: Path) -> None:
    path = run_directory.directory("abc")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o700] * 2


def test_one_that_others_could_only_read_is_taken_and_closed(short_tempdir: Path) -> None:
    _base(short_tempdir).mkdir()
    _base(short_tempdir).chmod(0o755)
    assert stat.S_IMODE(run_directory.directory("abc").parent.stat().st_mode) == 0o700


def test_one_that_others_can_write_to_is_refused(short_tempdir: Path) -> None:
    _base(short_tempdir).mkdir()
    _base(short_tempdir).chmod(0o777)
    with pytest.raises(StreamsError, match="cannot be trusted") as caught:
        run_directory.directory("abc")
    assert "others may write to it (mode 0777)" in str(caught.value)
    assert "TMPDIR" in str(caught.value.hint)


def test_a_link_is_refused(short_tempdir: Path, tmp_path: Path) -> None:
    _base(short_tempdir).symlink_to(tmp_path)
    with pytest.raises(StreamsError, match="it is a link"):
        run_directory.directory("abc")
    _base(short_tempdir).unlink()
    run_directory.directory("abc")
    (_base(short_tempdir) / "run").symlink_to(tmp_path)
    with pytest.raises(StreamsError, match="it is a link"):
        run_directory.directory("run")


def test_one_of_another_user_is_refused(short_tempdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_directory.directory("abc")
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    (short_tempdir / f"millstream-{own}").rename(short_tempdir / f"millstream-{own + 1}")
    with pytest.raises(StreamsError, match=f"belongs to another user \\(uid {own}\\)"):
        run_directory.directory("abc")


def test_too_long_a_path_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("x" * 100)))
    with pytest.raises(StreamsError, match="too long for sockets"):
        run_directory.directory("abc")


def test_what_dead_drivers_left_is_removed(short_tempdir: Path) -> None:
    mine, dead, reused, strange = (run_directory.directory(name) for name in ("mine", "dead", "reused", "strange"))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (mine / "driver").write_text(f"{os.getpid()} {birth(os.getpid())}")
    (dead / "driver").write_text(f"{gone.pid} 1")
    (reused / "driver").write_text(f"{os.getpid()} 1")
    run_directory.drivers_directory("new")
    assert sorted(path.name for path in mine.parent.iterdir()) == ["mine", "new", "strange"]
    assert strange.exists()


def test_this_process_is_alive() -> None:
    assert alive(os.getpid())
    assert birth(os.getpid()).isdigit() or sys.platform != "linux"
