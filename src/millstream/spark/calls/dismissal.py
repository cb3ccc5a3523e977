"""Ending the lanes of a run on the driver's machine."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from pathlib import Path

from millstream.spark.calls.handshake import peer
from millstream.spark.calls.processes import alive
from millstream.spark.calls.shipping import PROGRAM

log = logging.getLogger("millstream.spark")

#: How long lanes may take to close their tasks and clients: functions of users are called there, too.
_SECONDS = 15.0
_LOOK_SECONDS = 0.02


def dismiss(directory: Path, lanes: int) -> None:
    """Have the lanes of a run close what they have, and wait for it a little: what they say then is still to be shown.

    Args:
        directory: of the run.
        lanes: how many there are.
    """
    (directory / PROGRAM).unlink(missing_ok=True)  # without it they are not wanted any more
    ending = [process for lane in range(lanes) if (process := _knock(directory / f"lane-{lane}")) is not None]
    deadline = time.monotonic() + _SECONDS
    while any(map(alive, ending)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    if left := [process for process in ending if alive(process)]:
        log.warning("lanes take longer than %.0f s to close (processes %s); they end by themselves", _SECONDS, left)


def _knock(path: Path) -> int | None:
    """Have a lane look at once whether it is wanted; the number of its process, where the system tells."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor, contextlib.suppress(OSError):
        visitor.settimeout(_SECONDS)
        visitor.connect(str(path))
        found = peer(visitor)
        return None if found is None else found[0]
    return None
