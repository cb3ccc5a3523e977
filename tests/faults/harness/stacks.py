"""Where the processes of an application are at, for who wants to know why it is silent."""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from pathlib import Path

from .copies import Copy
from .processes import Process

_DUMP_SECONDS = 2.0


def keep_stacks(copy: Copy, directory: Path) -> None:
    """Have JVMs write their stacks to the copy's log, and lanes of batches to theirs; keep the logs of lanes."""
    lanes = [lane for lane in copy.of_kind("lane") if _socket(lane) is not None]
    for process in copy.processes():
        if "java" in process.command.split(" ", 1)[0]:
            process.send(signal.SIGQUIT)
    for lane in lanes:
        lane.send(signal.SIGUSR1)
    time.sleep(_DUMP_SECONDS)  # a stopped or busy one writes later or never
    for lane in lanes:
        socket = _socket(lane)
        if socket is not None:
            with contextlib.suppress(OSError):
                shutil.copy(socket.with_suffix(".log"), directory / f"{copy.name}-{socket.name}.log")


def _socket(lane: Process) -> Path | None:
    """Where a lane listens that was started with a socket, and writes its stack when it is asked; others would end."""
    return next((Path(part) for part in lane.command.split() if "/lane-" in part), None)
