"""Spark's lines go to the application's log file, and an error tells where its whole story is."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import java_gateway

from millstream.config import StreamsConfig
from millstream.errors import ProcessingError
from millstream.spark.failures import marked, of_spark, story_of
from millstream.spark.startup.log_file import append, log_file, start_is_logged

_SAYS = """
import sys
print("at its start", file=sys.stderr, flush=True)
print("said", flush=True)
input()
print("later", file=sys.stderr, flush=True)
"""


def _popen() -> Any:
    """How PySpark starts a JVM."""
    return vars(java_gateway)["Popen"]


def _started() -> Any:
    """Something in the place of a JVM, which has said a line."""
    gateway: Any = java_gateway
    process = gateway.Popen([sys.executable, "-c", _SAYS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"said\n"
    return process


def _end(process: Any) -> None:
    process.stdin.write(b"\n")
    process.stdin.close()
    process.stdout.close()
    process.wait()


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_is_in_the_directory_of_the_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = log_file(StreamsConfig(application_id="orders", state_dir=tmp_path / "state"))
    assert mine == tmp_path / "state" / "orders" / "application.log"
    assert mine.parent.is_dir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert log_file(StreamsConfig(application_id="orders")).parent == tmp_path / "millstream/applications/orders"


def test_it_is_elsewhere_if_nothing_can_be_written_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    elsewhere = log_file(StreamsConfig(application_id="orders", state_dir=tmp_path / "file"))
    append(elsewhere, "a line")
    assert elsewhere.read_text().endswith("a line\n")
    elsewhere.unlink()
    elsewhere.parent.rmdir()


def test_what_is_said_at_the_start_is_logged_and_the_rest_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "application.log"
    popen = _popen()
    with start_is_logged(file):
        process = _started()
    assert _popen() is popen
    assert file.read_text().endswith("at its start\n")
    assert capfd.readouterr().err == ""
    _end(process)
    shown: list[str] = []

    def all_is_shown() -> bool:
        shown.append(capfd.readouterr().err)
        return "later" in "".join(shown)

    _wait_until(all_is_shown)
    assert "".join(shown) == "later\n"
    assert "later" not in file.read_text()


def test_what_is_said_at_a_start_that_fails_is_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    processes: list[Any] = []

    def fail() -> None:
        processes.append(_started())
        raise RuntimeError("the JVM is gone")

    with pytest.raises(RuntimeError), start_is_logged(tmp_path / "application.log"):
        fail()
    assert capfd.readouterr().err == "at its start\n"
    _end(*processes)


def test_where_the_log_is_not_ours_nothing_is_changed() -> None:
    popen = _popen()
    with start_is_logged(None):
        assert _popen() is popen


_MESSAGE = "Job aborted\n\tat org.apache.spark\n" + marked(
    {
        "type": "ProcessingError",
        "primary": "it failed",
        "detail": "at a record",
        "hint": "mend it",
        "traceback": "Traceback ...\nKeyError: 'price'",
    }
)


def test_an_error_is_short_and_says_where_the_rest_is() -> None:
    error = of_spark(_MESSAGE, Path("/logs/application.log"))
    assert isinstance(error, ProcessingError)
    assert error.detail == "at a record"
    assert error.hint == "mend it; the whole story is in /logs/application.log"
    assert "KeyError: 'price'" in story_of(_MESSAGE)
    assert "org.apache" not in story_of(_MESSAGE)


def test_an_error_has_all_in_it_where_there_is_no_log_of_ours() -> None:
    assert "KeyError: 'price'" in str(of_spark(_MESSAGE).detail)
    assert of_spark("Job aborted").hint == "the whole story is in the log of Spark"
    assert of_spark("Job aborted", Path("/logs/a.log")).hint == "the whole story is in /logs/a.log"
    assert story_of("Job aborted") == "Job aborted"
