"""How a lane that works for a long time tells that it makes progress, and where it is.

A thread of the lane looks at the frames of the main thread, once a second and only while that is busy for long: nothing
is counted or noted on the way of a record. What it sees is a small file beside the lane's socket, for whoever waits.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import msgspec

#: Work that is done by then is not looked at.
_SOON_SECONDS = 2.0
#: The weight of one request in the usual time.
_WEIGHT = 0.2
_MOST_FRAMES = 20
_PACKAGE = str(Path(__file__).parents[2]) + os.sep
#: Parts of the package that others call: their work counts as the caller's.
_TOOLS = frozenset({"state", "serdes"})
#: Parts of the package that wait for brokers and files, and never run a user's function for a record.
_HOST = frozenset({"spark", "hosting", "kafka"})


class Pulse(msgspec.Struct, frozen=True):
    """What a lane said last.

    Args:
        at: when, on the machine's monotonic clock.
        doing: what it is at.
        usual: how many seconds that usually takes; 0 if not known.
        still: for how many seconds it has been at the same record; 0 while it waits for the broker or for files.
        host: whether it waits for the broker or for files.
        stack: where it is.
    """

    at: float
    doing: str
    usual: float
    still: float
    host: bool
    stack: str


def pulse_path(socket: Path) -> Path:
    """Where a lane's pulse is found."""
    return socket.with_suffix(".pulse")


def last_pulse(socket: Path) -> Pulse | None:
    """What a lane said last; None if it did not have to."""
    try:
        return msgspec.msgpack.decode(pulse_path(socket).read_bytes(), type=Pulse)
    except (OSError, msgspec.DecodeError):
        return None


class PulseTaker:
    """Looks at the main thread of a lane.

    Args:
        socket: the path of the lane's socket, if what is seen is a file beside it.
    """

    def __init__(self, socket: Path | None = None) -> None:
        self._path = None if socket is None else pulse_path(socket)
        self._main = threading.main_thread().ident or 0
        self._work: tuple[str, float] | None = None
        self._usual = 0.0
        self._mark: tuple[object, ...] | None = None
        self._since = 0.0

    def begin(self, doing: str) -> None:
        """The main thread begins to work on something."""
        self._work = (doing, time.monotonic())

    def end(self) -> None:
        """It is done with it."""
        self._work = None

    def end_request(self) -> None:
        """It is done with a request."""
        if self._work is not None:
            seconds = time.monotonic() - self._work[1]
            self._usual += (seconds - self._usual) * (_WEIGHT if self._usual else 1.0)
        self._work = None

    def take(self) -> None:
        """Look, and tell what is seen, if it is busy for long. Called by another thread."""
        pulse = self.look()
        if pulse is not None and self._path is not None:
            unfinished = self._path.with_suffix(f".{os.getpid()}")
            unfinished.write_bytes(msgspec.msgpack.encode(pulse))
            unfinished.replace(self._path)

    def look(self) -> Pulse | None:
        """What is seen; None if it is not busy for long."""
        work, now = self._work, time.monotonic()
        frame = sys._current_frames().get(self._main)
        if work is None or frame is None or now - work[1] < _SOON_SECONDS:
            self._mark = None
            return None
        host = _is_the_hosts(frame)
        mark = None if host else (work[1], *_progress(frame))
        if mark is None or mark != self._mark:
            self._mark, self._since = mark, now
        still = 0.0 if host else now - self._since
        stack = "".join(traceback.format_stack(frame)[-_MOST_FRAMES:])
        return Pulse(now, work[0], self._usual, still, host, stack)


def _outwards(frame: FrameType) -> Iterator[tuple[FrameType, str]]:
    """The package's frames, the innermost first, with the part of the package."""
    at: FrameType | None = frame
    while at is not None:
        name = at.f_code.co_filename
        if name.startswith(_PACKAGE):
            yield at, name[len(_PACKAGE) :].split(os.sep, 1)[0]
        at = at.f_back


def _is_the_hosts(frame: FrameType) -> bool:
    """Whether a thread is at neither a user's function nor an operator."""
    return next((part for _, part in _outwards(frame) if part not in _TOOLS), "") in _HOST


def _progress(frame: FrameType) -> tuple[object, ...]:
    """Something that changes from one record to the next: what the loops over records count by."""
    found: list[object] = []
    for at, part in _outwards(frame):
        if part == "task":
            names = at.f_locals
            found += [names.get("offset"), names.get("processed"), getattr(names.get("self"), "processed", None)]
    return tuple(found)
