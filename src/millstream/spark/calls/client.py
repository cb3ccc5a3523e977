"""Talking to a lane from one of Spark's Python workers, which starts the lane's process when there is none."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.errors import MillstreamError, StreamsError
from millstream.spark.calls.frames import receive, send
from millstream.spark.calls.handshake import greet_lane
from millstream.spark.calls.label import Label, label_of
from millstream.spark.calls.processes import java_above
from millstream.spark.calls.run_directory import directory
from millstream.spark.calls.waiting import LaneGone, LaneSocket, end_of_log, end_path, log_path
from millstream.spark.failures import LaneLost, described, fails_again, marked

log = logging.getLogger("millstream.spark")

_START_SECONDS = 60.0
_TRIES = 3


def call(
    run_id: str, lane: int, driver: int | None, program: bytes, request: dict[str, Any]
) -> list[tuple[int, int, bytes]]:
    """Have a lane run a wave. A lane that dies or hangs is started again and does it anew from its files.

    Args:
        run_id: the run of the application.
        lane: the lane's number.
        driver: the process without which the lane has nothing to do; None if it is on another machine. There it is
            Spark's executor.
        program: the pickled program with its label, sent to a lane that does not know it yet.
        request: what to run.
    """
    try:
        path = directory(run_id) / f"lane-{lane}"
        given_up = _GivenUp(path, request)
        answer = given_up.before or _answer(path, lane, driver, program, request)
        if fails_again(answer.get("error")):
            given_up.note(answer)
    except MillstreamError as error:
        answer = {"error": described(error)}
    if "error" in answer:
        raise StreamsError(marked(answer["error"]))
    rows: list[tuple[int, int, bytes]] = answer["rows"]
    return rows


def warm_up(run_id: str, lanes: int, driver: int | None, program: bytes) -> None:
    """Start the lanes of this machine while Spark is still planning."""
    for lane in range(lanes):
        arguments = (run_id, lane, driver, program)
        threading.Thread(target=start, args=arguments, name=f"warm-up-{lane}", daemon=True).start()


def start(run_id: str, lane: int, driver: int | None, program: bytes) -> None:
    """Have a lane on this machine that knows its program; what fails here is told by the first batch."""
    path = directory(run_id) / f"lane-{lane}"
    with (
        contextlib.suppress(StreamsError, LaneGone, OSError),
        _connected(path, lane, driver, label_of(program), "its start") as connection,
    ):
        _ask(connection, {"program": program})


def _answer(path: Path, lane: int, driver: int | None, program: bytes, request: dict[str, Any]) -> dict[str, Any]:
    label = label_of(program)
    doing = f"batch {request['batch']}" + (f", wave {request['wave']}" if request["wave"] else "")
    for tried in range(1, _TRIES + 1):
        try:
            with _connected(path, lane, driver, label, doing) as connection:
                answer = _ask(connection, request)
                if "need_program" in answer:
                    answer = _ask(connection, {"program": program})
                    if "error" not in answer:
                        answer = _ask(connection, request)
                return answer
        except LaneGone as gone:
            if tried == _TRIES:
                return {
                    "error": described(LaneLost(gone.primary, detail=f"{_TRIES} times {gone.detail}", hint=gone.hint))
                }
            log.warning("%s; it is started again%s", gone.primary, f". It was {gone.detail}" if tried == 1 else "")
            request = {**request, "attempt": request["attempt"] + 1}
    raise AssertionError("unreachable")


class _GivenUp:
    """A wave that fails in the same way each time: Spark tries a part several times, which would only cost time.

    Args:
        path: the lane's socket.
        request: the wave.
    """

    def __init__(self, path: Path, request: dict[str, Any]) -> None:
        self._path = path.with_suffix(".given-up")
        self._wave = [request["batch"], request["wave"]]
        #: What an attempt before this one was answered, if it gave up.
        self.before: dict[str, Any] | None = None
        if request["attempt"] == 0:  # the query is new, and may try again
            self._path.unlink(missing_ok=True)
        elif self._path.exists():
            wave, answer = json.loads(self._path.read_text())
            if wave == self._wave:
                self.before = answer

    def note(self, answer: dict[str, Any]) -> None:
        """Give up."""
        self._path.write_text(json.dumps([self._wave, answer]))


def _ask(connection: LaneSocket, message: Any) -> dict[str, Any]:
    try:
        send(connection, message)
        answer: dict[str, Any] | None = receive(connection)
    except ConnectionError:
        answer = None
    if answer is None:
        raise connection.gone()
    return answer


@contextlib.contextmanager
def _connected(path: Path, lane: int, driver: int | None, label: Label, doing: str) -> Iterator[LaneSocket]:
    with LaneSocket(path, lane, doing, label.max_poll_seconds) as connection:
        if not connection.reach():
            with path.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not connection.reach():
                    _start(path, lane, driver, label, connection)
        try:
            greet_lane(connection, label.secret)
        except ConnectionError:
            raise connection.gone() from None
        yield connection


def _start(path: Path, lane: int, driver: int | None, label: Label, connection: LaneSocket) -> None:
    """Start a lane's process and wait until it listens."""
    path.unlink(missing_ok=True)
    executor = java_above() if driver is None else None
    arguments = [str(path), str(lane), str(driver or 0), str(executor or 0)]
    with log_path(path).open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "millstream.spark.lanes.server", *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
                "PYTHONHASHSEED": label.hash_seed,
            },
            start_new_session=True,
        )
    assert process.stdin is not None  # noqa: S101 - narrows the type
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(label.secret)  # neither its arguments nor its environment are hidden from others
    threading.Thread(target=_note_end, args=(process, path), name=f"end-of-lane-{lane}", daemon=True).start()
    deadline = time.monotonic() + _START_SECONDS
    while not connection.reach():
        if process.poll() is not None or time.monotonic() > deadline:
            raise StreamsError(f"lane {lane} did not start", detail=end_of_log(path))
        time.sleep(0.02)


def _note_end(process: subprocess.Popen[bytes], path: Path) -> None:
    """Only the parent of a process is told how it ended; others want to know."""
    code = process.wait()
    noted = end_path(path, process.pid)
    unfinished = noted.with_name(f"{noted.name}.new")
    with contextlib.suppress(OSError):  # the run is over
        unfinished.write_text(str(code))
        unfinished.replace(noted)
