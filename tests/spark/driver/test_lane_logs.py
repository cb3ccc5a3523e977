"""What functions print and log in lanes comes out where the driver's does, also when the lane dies. Without Spark."""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import StreamsError
from millstream.spark.calls import client as lane_client
from millstream.spark.calls import lane_log, run_directory
from millstream.spark.calls.label import labelled, new_label
from millstream.spark.calls.lane_log import levels, packed, put_aside_if_long, readable, set_levels, unpacked
from millstream.spark.calls.processes import alive
from millstream.spark.driver.lane_logs import LaneLogs


def _record(message: str, *args: object, level: int = logging.WARNING, **options: Any) -> logging.LogRecord:
    return logging.getLogger("mine").makeRecord(
        "mine", level, "f.py", 7, message, args, **{"exc_info": None, **options}
    )


def _shown(capsys: pytest.CaptureFixture[str]) -> str:
    """What came from lanes: a JVM that an earlier test started says something now and then."""
    lines = capsys.readouterr().err.splitlines(keepends=True)
    return "".join(line for line in lines if line.startswith(("task ", "lane ")))


def test_a_record_is_the_same_on_the_other_side() -> None:
    try:
        raise KeyError("price")
    except KeyError:
        line = packed(_record("no %s in %r", "price", Path("o1"), exc_info=sys.exc_info()), "task 0_1")
    assert "\n" not in line
    record = unpacked(line)
    assert record is not None
    assert (record.name, record.levelno, record.lineno) == ("mine", logging.WARNING, 7)
    assert record.getMessage() == "task 0_1: no price in PosixPath('o1')"
    assert "KeyError: 'price'" in logging.Formatter().format(record)
    assert "task 0_1: no price" in readable(line)


@pytest.mark.parametrize("line", ["plain", "MILLSTREAM-RECORD:{", ""])
def test_what_is_no_record_is_text(line: str) -> None:
    assert unpacked(line) is None
    assert readable(line) == line


def test_levels_go_along() -> None:
    mine = logging.getLogger("test.levels.go.along")
    mine.setLevel(logging.DEBUG)
    found = levels()
    assert found["test.levels.go.along"] == logging.DEBUG
    assert found[""] == logging.root.level
    assert "test.levels" not in found  # nobody set it
    mine.setLevel(logging.NOTSET)
    set_levels({"test.levels.go.along": logging.INFO})
    assert mine.level == logging.INFO
    mine.setLevel(logging.NOTSET)


def test_lines_are_shown_once_whole_and_in_their_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    logs = LaneLogs(tmp_path, 2)
    logs.show()  # no lane has started
    with (tmp_path / "lane-1.log").open("ab", buffering=0) as file:
        file.write(b"task 0_1: first\n%4|raw\ntask 0_1: sec")
        logs.show()
        assert _shown(capsys) == "task 0_1: first\nlane 1: %4|raw\n"
        file.write(b"ond\n")
        file.write(f"{packed(_record('low', level=logging.INFO), 'lane 1')}\n".encode())
        file.write(f"{packed(_record('high'), 'lane 1')}\n".encode())
        file.write(b"the end of one that was kil")
    logs.show()
    logs.close()
    logs.close()
    logs.show()
    assert _shown(capsys) == "task 0_1: second\nlane 1: the end of one that was kil\n"
    assert caplog.messages == ["lane 1: high"]  # the level of the driver's logger holds


def test_a_long_log_is_put_aside_and_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_log, "_LONG", 19)
    path = tmp_path / "lane-0.log"
    logs = LaneLogs(tmp_path, 1)
    with path.open("ab", buffering=0) as output:
        monkeypatch.setattr(lane_log, "_OUTPUTS", (output.fileno(),))
        logs.show()
        for number in range(5):
            output.write(b"task 0_0: %d of five\n" % number)
            if number:  # the driver may be late
                logs.show()
            put_aside_if_long(path)
            output.write(b"task 0_0: and more\n")
            put_aside_if_long(path)  # this one is short enough
            logs.show()
    logs.close()
    expected = [f"task 0_0: {line}" for number in range(5) for line in (f"{number} of five", "and more")]
    assert _shown(capsys).splitlines() == expected
    assert sorted(file.name for file in tmp_path.iterdir()) == ["lane-0.log", "lane-0.log.old"]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 100


# --- a lane's process


class _Does:
    """Runs Python when it is unpickled."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self._source, {"__name__": "__main__"})


@pytest.fixture
def run_id(short_tempdir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(lane_client, "_TRIES", 1)
    made = uuid.uuid4().hex[:16]
    path = run_directory.drivers_directory(made)
    (path / "program").touch()
    yield made
    (path / "program").unlink()


_SAYS = """
import logging, os, sys, warnings
print("hello", 1)
print("two\\nlines", file=sys.stderr)
sys.stdout.buffer.write(b"bytes\\n")
warnings.warn("old")
logging.getLogger("theirs").debug("fine %d", 1)
logging.getLogger("other").info("not wanted")
logging.getLogger("other").warning("careful")
print("no end", end="", flush=True)
logging.getLogger("other").error("bad args", 1)
os.write(2, b"from C\\n")
os.kill(os.getpid(), 9)
"""


def test_nothing_of_a_lane_that_is_killed_is_lost(
    run_id: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "theirs"):
        program = labelled(new_label(60.0), pickle.dumps(_Does(_SAYS)))
        with pytest.raises(StreamsError):
            lane_client.call(run_id, 0, os.getpid(), program, {"batch": 1, "wave": 0, "attempt": 0})
        LaneLogs(run_directory.directory(run_id), 1).close()
    text = _shown(capsys)
    assert text.startswith("lane 0: hello 1\nlane 0: two\nlane 0: lines\nlane 0: bytes\nlane 0: no end\n")
    assert "not all arguments converted" in text  # said as logging says it
    assert text.endswith("lane 0: from C\n")
    theirs = [(record.name, record.levelname, record.getMessage()) for record in caplog.records]
    assert [name for name, *_ in theirs] == ["py.warnings", "theirs", "other"]
    assert "UserWarning: old" in theirs[0][2]
    assert theirs[1:] == [("theirs", "DEBUG", "lane 0: fine 1"), ("other", "WARNING", "lane 0: careful")]
    assert not _lanes_of(run_id)


def _lanes_of(run_id: str) -> list[str]:
    deadline = time.monotonic() + 30
    while found := [
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and run_id.encode() in _command(entry) and alive(int(entry.name))
    ]:
        if time.monotonic() > deadline:
            return found
        time.sleep(0.02)
    return []


def _command(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""
