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
    with contextlib.ExitStack() as visits:
        # All of them before the first one goes, which takes the directory and the others' sockets along.
        visitors = [_visit(directory / f"lane-{lane}", visits) for lane in range(lanes)]
        ending = [found[0] for visitor in visitors if visitor is not None and (found := peer(visitor)) is not None]
        (directory / PROGRAM).unlink(missing_ok=True)  # without it they are not wanted any more
    deadline = time.monotonic() + _SECONDS
    while any(map(alive, ending)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    if left := [process for process in ending if alive(process)]:
        log.warning("lanes take longer than %.0f s to close (processes %s); they end by themselves", _SECONDS, left)


def _visit(path: Path, visits: contextlib.ExitStack) -> socket.socket | None:
    """Have a lane look whether it is wanted as soon as the visit ends; None if nobody is there."""
    visitor = visits.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    visitor.settimeout(_SECONDS)
    with contextlib.suppress(OSError):
        visitor.connect(str(path))
        return visitor
    return None
