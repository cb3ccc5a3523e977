"""The process of a lane: answers on a socket until its application or its driver is gone.

python -m millstream.spark.lane_server SOCKET LANE DRIVER-PID
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from millstream.spark.failures import described
from millstream.spark.frames import pack, receive, send, unpack
from millstream.spark.lane import Lane
from millstream.spark.outputs import ProducerStuck
from millstream.spark.processes import alive
from millstream.spark.shipping import PROGRAM, unpacked
from millstream.spark.statefiles import Version

log = logging.getLogger("millstream.spark")

#: A lane that nobody asks anything ends; it is started again when it is needed.
_IDLE_SECONDS = 600
_LOOK_SECONDS = 1.0
#: How long a lane that is no longer wanted may take to end properly.
_GRACE_SECONDS = 5.0


def serve(path: str, index: int, driver: int | None) -> None:
    """Answer requests, one at a time."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    temporary = f"{path}.{os.getpid()}"
    listener.bind(temporary)
    listener.listen()
    os.replace(temporary, path)  # from here on others find it, and find it listening
    place = _Place(path, driver)
    threading.Thread(target=place.watch, name="watch", daemon=True).start()
    listener.settimeout(_LOOK_SECONDS)
    lane: Lane | None = None
    idle = 0.0
    # What tasks keep lives long; the collector need not go through it again and again.
    gc.set_threshold(50_000, 50, 50)
    try:
        while idle < _IDLE_SECONDS and place.is_wanted:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                idle += _LOOK_SECONDS
                continue
            idle = 0.0
            with connection, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.settimeout(None)
                lane = _converse(connection, lane, index)
    finally:
        if lane is not None:
            lane.close()
        place.leave()


class _Place:
    """A lane's socket: as long as it is there, and its driver is, the lane is wanted."""

    def __init__(self, path: str, driver: int | None) -> None:
        self._path = Path(path)
        self._driver = driver
        self._mine = self._identity()

    @property
    def is_wanted(self) -> bool:
        return self._run_goes_on and self._is_mine

    def watch(self) -> None:
        """End the process when it is not wanted, even while it waits for a broker that is away."""
        while self.is_wanted:
            time.sleep(_LOOK_SECONDS)
        time.sleep(_GRACE_SECONDS)
        self.leave()
        os._exit(1)

    def leave(self) -> None:
        """Remove what nobody else needs."""
        if self._is_mine:  # not that of a lane that was started in this one's place
            self._path.unlink(missing_ok=True)
        if not self._run_goes_on:
            shutil.rmtree(self._path.parent, ignore_errors=True)

    @property
    def _run_goes_on(self) -> bool:
        if self._driver is None:
            return True
        # The driver removes the program when it closes; it may do so while a lane is only starting.
        return alive(self._driver) and (self._path.parent / PROGRAM).exists()

    @property
    def _is_mine(self) -> bool:
        return self._mine is not None and self._identity() == self._mine

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_ctime_ns  # numbers of inodes are used again


def _converse(connection: socket.socket, lane: Lane | None, index: int) -> Lane | None:
    """Answer until the other side is through."""
    while (request := receive(connection)) is not None:
        if "program" in request:
            if lane is None:
                lane = Lane(unpacked(request["program"]), index)
            send(connection, {"ok": True})
        elif lane is None:
            send(connection, {"need_program": True})
        else:
            try:
                send(connection, {"rows": _run(lane, request)})
            except ProducerStuck:
                log.warning("the producer hangs; the lane starts anew")
                os._exit(1)  # who asked starts another one
            except Exception as error:
                send(connection, {"error": described(error)})
                # What a failed wave left behind is unknown; everything is read again.
                lane.close()
                return None
    return lane


def _run(lane: Lane, request: dict[str, Any]) -> list[tuple[int, int, bytes]]:
    rows = lane.run(
        Version(request["batch"], request["wave"]),
        request["now"],
        request["attempt"],
        {(topic, partition): (start, end) for topic, partition, start, end in request["ranges"]},
        {(topic, partition): end for topic, partition, end in request["globals"]},
        [unpack(parcel) for parcel in request["parcels"]],
    )
    return [(to, parcel.wave, pack(parcel)) for to, parcel in rows]


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("MILLSTREAM_LOG_LEVEL", "WARNING"), format="%(asctime)s %(message)s")
    faulthandler.register(signal.SIGUSR1)  # says in its log where it is
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None)
