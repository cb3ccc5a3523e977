"""Where the processes of an application are at, for who wants to know why it is silent."""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from pathlib import Path

from .copies import Copy

_DUMP_SECONDS = 2.0


def keep_stacks(copy: Copy, directory: Path) -> None:
    """Have JVMs write their stacks to the copy's log, and lanes to theirs; keep the logs of lanes."""
    lanes = copy.of_kind("lane")
    for process in copy.processes():
        if "java" in process.command.split(" ", 1)[0]:
            process.send(signal.SIGQUIT)
    for lane in lanes:
        lane.send(signal.SIGUSR1)
    time.sleep(_DUMP_SECONDS)  # a stopped or busy one writes later or never
    for lane in lanes:
        socket = next((Path(part) for part in lane.command.split() if "/lane-" in part), None)
        if socket is not None:
            with contextlib.suppress(OSError):
                shutil.copy(socket.with_suffix(".log"), directory / f"{copy.name}-{socket.name}.log")
