"""The process of a lane: answers on a socket until its application or its driver is gone.

python -m millstream.spark.lane_server SOCKET LANE DRIVER-PID
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

from millstream.errors import MillstreamError
from millstream.spark.frames import pack, receive, send, unpack
from millstream.spark.lane import Lane
from millstream.spark.statefiles import Version

log = logging.getLogger("millstream.spark")

#: A lane that nobody asks anything ends; it is started again when it is needed.
_IDLE_SECONDS = 600
_LOOK_SECONDS = 1.0


def serve(path: str, index: int, driver: int | None) -> None:
    """Answer requests, one at a time."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    temporary = f"{path}.{os.getpid()}"
    listener.bind(temporary)
    listener.listen()
    os.replace(temporary, path)  # from here on others find it, and find it listening
    listener.settimeout(_LOOK_SECONDS)
    lane: Lane | None = None
    idle = 0.0
    # What tasks keep lives long; the collector need not go through it again and again.
    gc.set_threshold(50_000, 50, 50)
    try:
        while idle < _IDLE_SECONDS and _alive(driver) and os.path.exists(path):
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
        with contextlib.suppress(FileNotFoundError):
            Path(path).unlink()


def _converse(connection: socket.socket, lane: Lane | None, index: int) -> Lane | None:
    """Answer until the other side is through."""
    while (request := receive(connection)) is not None:
        if "program" in request:
            if lane is None:
                lane = Lane(cloudpickle.loads(request["program"]), index)
            send(connection, {"ok": True})
        elif lane is None:
            send(connection, {"need_program": True})
        else:
            try:
                send(connection, {"rows": _run(lane, request)})
            except Exception as error:
                send(connection, {"error": _described(error)})
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


def _described(error: Exception) -> dict[str, str | None]:
    """An error as the driver can show it."""
    known = isinstance(error, MillstreamError)
    return {
        "type": type(error).__name__,
        "primary": error.primary if isinstance(error, MillstreamError) else f"{type(error).__name__}: {error}",
        "detail": error.detail if isinstance(error, MillstreamError) else None,
        "hint": error.hint if isinstance(error, MillstreamError) else None,
        "traceback": "" if known and error.__cause__ is None else traceback.format_exc(),
    }


def _alive(process: int | None) -> bool:
    return process is None or Path(f"/proc/{process}").exists() or _answers(process)


def _answers(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("MILLSTREAM_LOG_LEVEL", "WARNING"), format="%(asctime)s %(message)s")
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None)
