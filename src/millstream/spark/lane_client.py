"""Talking to a lane from one of Spark's Python workers, which starts the lane's process when there is none."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.errors import StreamsError
from millstream.spark.failures import marked
from millstream.spark.frames import receive, send

_START_SECONDS = 60.0
#: Lanes that this process has started and that still run, or ended a moment ago: somebody must take note of their end.
_started: list[subprocess.Popen[bytes]] = []
_started_lock = threading.Lock()
_TRIES = 3


class LaneGoneError(StreamsError):
    """A lane's process ended while it was at work."""


def call(
    run_id: str, lane: int, driver: int | None, program: bytes, request: dict[str, Any]
) -> list[tuple[int, int, bytes]]:
    """Have a lane run a wave. A lane that dies is started again and does it anew from its files.

    Args:
        run_id: the run of the application.
        lane: the lane's number.
        driver: the process without which the lane has nothing to do.
        program: the pickled program, sent to a lane that does not know it yet.
        request: what to run.
    """
    for attempt in range(_TRIES):
        try:
            with _connected(run_id, lane, driver) as connection:
                answer = _ask(connection, request)
                if "need_program" in answer:
                    _ask(connection, {"program": program})
                    answer = _ask(connection, request)
        except (LaneGoneError, ConnectionError):
            if attempt == _TRIES - 1:
                raise
            request = {**request, "attempt": request["attempt"] + 1}
            continue
        if "error" in answer:
            raise StreamsError(marked(answer["error"]))
        rows: list[tuple[int, int, bytes]] = answer["rows"]
        return rows
    raise AssertionError("unreachable")


def warm_up(run_id: str, lanes: int, driver: int | None, program: bytes) -> None:
    """Start the lanes of this machine while Spark is still planning; what fails here is told by the first batch."""

    def start(lane: int) -> None:
        with contextlib.suppress(StreamsError, OSError), _connected(run_id, lane, driver) as connection:
            _ask(connection, {"program": program})

    for lane in range(lanes):
        threading.Thread(target=start, args=(lane,), name=f"warm-up-{lane}", daemon=True).start()


def _ask(connection: socket.socket, message: Any) -> dict[str, Any]:
    send(connection, message)
    answer: dict[str, Any] | None = receive(connection)
    if answer is None:
        raise LaneGoneError("a lane's process ended", hint="it is started again")
    return answer


@contextlib.contextmanager
def _connected(run_id: str, lane: int, driver: int | None) -> Iterator[socket.socket]:
    path = directory(run_id) / f"lane-{lane}"
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if not _connect(connection, path):
            with (directory(run_id) / f"lane-{lane}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not _connect(connection, path):
                    _start(path, lane, driver, connection)
        yield connection
    finally:
        connection.close()


def _connect(connection: socket.socket, path: Path) -> bool:
    try:
        connection.connect(str(path))
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    return True


def _start(path: Path, lane: int, driver: int | None, connection: socket.socket) -> None:
    """Start a lane's process and wait until it listens."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    log = path.with_suffix(".log")
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "millstream.spark.lane_server", str(path), str(lane), str(driver or 0)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
            start_new_session=True,
        )
    with _started_lock:
        _started[:] = [*(other for other in _started if other.poll() is None), process]
    deadline = time.monotonic() + _START_SECONDS
    while not _connect(connection, path):
        if process.poll() is not None or time.monotonic() > deadline:
            raise StreamsError(
                f"lane {lane} did not start", detail=log.read_text(errors="replace")[-2000:] or "it said nothing"
            )
        time.sleep(0.02)


def directory(run_id: str) -> Path:
    """Where the sockets of a run are, for this user only."""
    path = Path(tempfile.gettempdir()) / f"millstream-{os.getuid()}" / run_id
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
