"""Waiting for a lane that is at work: says when that takes long, and ends a lane that hangs.

It is done by the client, which is on the lane's machine and knows how to start another one. A lane hangs if it is at
the same record for too long, or if it does not answer at all: stopped, or in a function that lets nothing else run.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import time
from pathlib import Path

from millstream.spark.calls.handshake import peer
from millstream.spark.calls.lane_log import readable
from millstream.spark.calls.processes import alive, ending, stopped
from millstream.spark.calls.pulse import Pulse, last_pulse

log = logging.getLogger("millstream.spark")

_LOOK_SECONDS = 1.0
#: How long whoever started a lane may take to note how it ended; on a busy machine a dying process takes its time.
_END_SECONDS = 10.0
#: Nothing is said before this time.
_LEAST_SECONDS = 30.0
#: What takes this many times as long as usual is worth a warning.
_TIMES_USUAL = 10
#: A lane says once a second that it is there.
_SILENT_SECONDS = 10.0
_LOG_LINES = 30
_LOG_BYTES = 16_000


class LaneGone(Exception):
    """A lane ended while it was at work, or had to be ended.

    Args:
        primary: what happened.
        detail: where it was.
        hint: what to do.
    """

    def __init__(self, primary: str, detail: str, hint: str) -> None:
        super().__init__(primary)
        self.primary, self.detail, self.hint = primary, detail, hint


class LaneSocket(socket.socket):
    """A connection to a lane, on which waiting is watched.

    Args:
        path: the lane's socket.
        lane: its number.
        doing: what it is asked to do.
        most_seconds: for how long it may be at one record, or silent.
    """

    def __init__(self, path: Path, lane: int, doing: str, most_seconds: float) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_STREAM)
        self.settimeout(_LOOK_SECONDS)
        self._path = path
        self._lane = lane
        self._doing = doing
        self._most = most_seconds
        self._begun = self._heard = time.monotonic()
        self._said_at = min(_LEAST_SECONDS, most_seconds / 2)
        self._pulse: Pulse | None = None

    def reach(self) -> bool:
        """Connect; False if nobody listens."""
        while True:
            try:
                super().connect(str(self._path))
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            except BlockingIOError:  # so many wait already that there is no room for one more
                self._look()
                time.sleep(_LOOK_SECONDS)
            else:
                self._heard = time.monotonic()
                return True

    def recv_into(self, buffer, nbytes: int = 0, flags: int = 0) -> int:  # type: ignore[no-untyped-def]
        while True:
            try:
                return super().recv_into(buffer, nbytes, flags)
            except TimeoutError:
                self._look()

    def sendall(self, data, flags: int = 0) -> None:  # type: ignore[no-untyped-def]
        left = memoryview(data)
        while left:
            try:
                left = left[super().send(left, flags) :]
            except TimeoutError:
                self._look()

    def gone(self) -> LaneGone:
        """What to say of a lane that has ended."""
        how = _how_it_ended(self._path, self._process)
        return LaneGone(
            f"lane {self._lane} died{f' ({how})' if how else ''}",
            f"at {self._doing}; the end of its log, {log_path(self._path)}:\n{end_of_log(self._path)}",
            "a library that crashed shows in its log, a process that needed too much memory in the system's; "
            "nothing is lost: started again, the application goes on with this batch",
        )

    @property
    def _process(self) -> int | None:
        try:
            found = peer(self)
        except OSError:
            return None
        return None if found is None else found[0]

    def _look(self) -> None:
        """The lane has not answered for a while: tell if that is unusual, end it if it hangs."""
        now = time.monotonic()
        pulse = last_pulse(self._path)
        if pulse is not None and pulse.at > self._heard:
            self._heard, self._pulse = pulse.at, pulse
        silent = now - self._heard
        known = self._pulse if silent < min(_SILENT_SECONDS, self._most / 2) else None
        still = silent if known is None else known.still
        usual = 0.0 if self._pulse is None else self._pulse.usual
        seconds = now - self._begun
        if still > self._most:
            raise self._ended(known, still)
        if seconds > max(self._said_at, min(usual * _TIMES_USUAL, self._most / 2)):
            self._said_at = seconds * 2
            doing = self._doing if known is None else known.doing
            typically = f" (usually {usual:.1f} s)" if usual else ""
            log.warning("lane %d has worked for %.0f s on %s%s; %s", self._lane, seconds, doing, typically,
                        self._where(known))  # fmt: skip

    def _ended(self, known: Pulse | None, still: float) -> LaneGone:
        """End a lane that hangs; SIGKILL reaches stopped ones, too."""
        where = self._where(known)
        process = self._process
        if process is not None and alive(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return LaneGone(
            f"lane {self._lane} hung for {still:.0f} s",
            f"at {self._doing if known is None else known.doing}; {where}",
            "a function that needs longer for a record wants a greater max_poll_interval; "
            "one that never returns wants a timeout of its own",
        )

    def _where(self, known: Pulse | None) -> str:
        if known is not None and known.host:
            return f"it waits for the broker or for files, which it goes on doing:\n{known.stack.rstrip()}"
        if known is not None:
            return f"it is at:\n{known.stack.rstrip()}"
        process = self._process
        if process is not None and stopped(process):
            return f"its process {process} was stopped by a signal and does not answer"
        return f"it does not answer{self._asked_for_its_stack(process)}"

    def _asked_for_its_stack(self, process: int | None) -> str:
        """The stack of a lane in which no other thread gets to run: it can write it even then."""
        if process is None:
            return ""
        file = stack_path(self._path)
        with contextlib.suppress(OSError):
            os.truncate(file, 0)
            os.kill(process, signal.SIGUSR1)
            deadline = time.monotonic() + _LOOK_SECONDS
            while file.stat().st_size == 0 and time.monotonic() < deadline:
                time.sleep(0.02)
            found = file.read_text(errors="replace").splitlines()[:_LOG_LINES]
            return "\n".join(["; it is at, innermost first:", *found]) if found else ""
        return ""


def stack_path(path: Path) -> Path:
    """Where a lane writes its stack when it gets SIGUSR1."""
    return path.with_suffix(".stack")


def log_path(path: Path) -> Path:
    """A lane's log."""
    return path.with_suffix(".log")


def end_path(path: Path, process: int) -> Path:
    """Where the parent of a lane's process notes how it ended."""
    return path.with_name(f"{path.name}.{process}.end")


def end_of_log(path: Path) -> str:
    """The last lines that a lane wrote."""
    try:
        with log_path(path).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return str(error)
    return "\n".join(readable(line) for line in lines[-_LOG_LINES:]) or "it said nothing"


def _how_it_ended(path: Path, process: int | None) -> str:
    """In words; "" if whoever started it is gone, too."""
    if process is None:
        return ""
    file = end_path(path, process)
    deadline = time.monotonic() + _END_SECONDS
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        return ending(int(file.read_text()))
    except (OSError, ValueError):
        return ""
