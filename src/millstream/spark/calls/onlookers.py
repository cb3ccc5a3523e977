"""Somebody looks at an application: how its driver tells that to lanes, and what they see.

Both are small files in the directory of the run, as is a lane's pulse: no batch carries them, and nobody waits. Where
lanes are on other machines, nothing is seen.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import msgspec

from millstream.task.watching.watch import Seen, Watch

_ONLOOKER = "onlooker"
#: Lanes look whether somebody does about once a second.
_SECONDS = 4.0
#: What is older was seen before somebody looked.
_OLD_SECONDS = 5.0


def seen_path(socket: Path) -> Path:
    """Where it is found what a lane sees."""
    return socket.with_suffix(".seen")


def look(directory: Path, lanes: int) -> list[Seen]:
    """What lanes have seen lately; they look for a few seconds from now on.

    Args:
        directory: of the run.
        lanes: how many there are.
    """
    found = []
    with contextlib.suppress(FileNotFoundError):  # the run is over
        (directory / _ONLOOKER).touch()
    for lane in range(lanes):
        path = seen_path(directory / f"lane-{lane}")
        with contextlib.suppress(OSError, msgspec.DecodeError):
            if time.time() < path.stat().st_mtime + _OLD_SECONDS:
                found.append(msgspec.msgpack.decode(path.read_bytes(), type=Seen))
    return found


class Onlookers:
    """The lane's side.

    Args:
        socket: the path of the lane's socket.
    """

    def __init__(self, socket: Path) -> None:
        self._path = seen_path(socket)
        #: Watches the lane's tasks; None until it has any.
        self.watch: Watch | None = None

    def serve(self) -> None:
        """Watch for those who look, and tell what is seen. Called about once a second, by another thread."""
        watch, seconds = self.watch, self._seconds_left()
        if watch is None or seconds <= 0:
            return
        watch.look(seconds)
        unfinished = self._path.with_suffix(".seen.new")
        unfinished.write_bytes(msgspec.msgpack.encode(watch.seen()))
        unfinished.replace(self._path)

    def _seconds_left(self) -> float:
        """How long somebody still looks."""
        try:
            return (self._path.parent / _ONLOOKER).stat().st_mtime + _SECONDS - time.time()
        except FileNotFoundError:
            return 0.0
