"""The process of a lane: answers on a socket until its application, its driver or its executor is gone.

python -m millstream.spark.lanes.server SOCKET LANE DRIVER-PID EXECUTOR-PID, with the run's secret as its input

Where the driver is on another machine its number is 0, else that of the executor is.
"""

from __future__ import annotations

import contextlib
import faulthandler
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

from millstream.errors import MillstreamError
from millstream.hosting.own_process import settle_in
from millstream.hosting.producing.transactions import ProducerStuck
from millstream.hosting.rubbish import Rubbish
from millstream.spark.calls.frames import receive, send
from millstream.spark.calls.handshake import NotOursError, greet_client
from millstream.spark.calls.label import label_of
from millstream.spark.calls.lane_log import put_aside_if_long, set_levels
from millstream.spark.calls.onlookers import Onlookers
from millstream.spark.calls.processes import alive, birth
from millstream.spark.calls.pulse import PulseTaker
from millstream.spark.calls.shipping import PROGRAM, unpacked
from millstream.spark.calls.waiting import log_path, stack_path
from millstream.spark.exchange.handover import Handover
from millstream.spark.exchange.parcels import pack, unpack
from millstream.spark.failures import described
from millstream.spark.lanes.lane import Lane, WaveRequest
from millstream.spark.lanes.printing import end_lines, to_the_log
from millstream.spark.state.statefiles import Version

log = logging.getLogger("millstream.spark")

#: A lane that nobody asks anything ends; it is started again when it is needed.
_IDLE_SECONDS = 600
_LOOK_SECONDS = 1.0
#: How long a lane that is no longer wanted may take to end properly.
_GRACE_SECONDS = 5.0
#: How long a client may take to prove what it is.
_GREETING_SECONDS = 10.0


def serve(path: str, index: int, driver: int | None, executor: int | None, secret: bytes) -> None:
    """Answer requests, one at a time."""
    settle_in()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    temporary = f"{path}.{os.getpid()}"
    listener.bind(temporary)
    listener.listen()
    os.replace(temporary, path)  # from here on others find it, and find it listening
    pulse, onlookers = PulseTaker(Path(path)), Onlookers(Path(path))
    place = _Place(path, driver, executor, pulse, onlookers)
    threading.Thread(target=place.watch, name="watch", daemon=True).start()
    # Where lanes are on several machines, files of one cannot be read by the others.
    handover = Handover(None if driver is None else Path(path).parent, index)
    lane: Lane | None = None
    asked = time.monotonic()
    try:
        with Rubbish() as rubbish:
            while time.monotonic() - asked < _IDLE_SECONDS and place.is_wanted:
                pulse.begin("records of the next batch")
                busy = lane is not None and lane.work_ahead()
                pulse.end()
                listener.settimeout(0 if busy else _LOOK_SECONDS)
                try:
                    connection, _ = listener.accept()
                except (BlockingIOError, TimeoutError):
                    continue
                with connection:
                    lane = _converse(connection, secret, lane, index, handover, pulse)
                    onlookers.watch = None if lane is None else lane.watch
                asked = time.monotonic()
                rubbish.clear()
    finally:
        if lane is not None:
            lane.close()
        place.leave()


class _Place:
    """A lane's socket: as long as it is there, and its driver or its executor is, the lane is wanted."""

    def __init__(
        self, path: str, driver: int | None, executor: int | None, pulse: PulseTaker, onlookers: Onlookers
    ) -> None:
        self._path = Path(path)
        self._driver = driver
        self._executor = None if executor is None else (executor, birth(executor))
        self._pulse = pulse
        self._onlookers = onlookers
        self._mine = self._identity()

    @property
    def is_wanted(self) -> bool:
        return self._run_goes_on and self._is_mine

    def watch(self) -> None:
        """End the process when it is not wanted, even while it waits for a broker that is away."""
        while self.is_wanted:
            with contextlib.suppress(OSError):  # the run is over, or the disk full
                self._pulse.take()
                self._onlookers.serve()
                put_aside_if_long(log_path(self._path))
            time.sleep(_LOOK_SECONDS)
        time.sleep(_GRACE_SECONDS)
        self.leave()
        os._exit(1)

    def leave(self) -> None:
        """Remove what nobody else needs."""
        is_mine = self._is_mine
        if is_mine:  # not that of a lane that was started in this one's place
            self._path.unlink(missing_ok=True)
        if self._driver is not None:
            if not self._run_goes_on:
                shutil.rmtree(self._path.parent, ignore_errors=True)
        elif is_mine:  # the last one of the machine takes the directory along
            for left in self._path.parent.glob(f"{self._path.name}.*"):
                left.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._path.parent.rmdir()

    @property
    def _run_goes_on(self) -> bool:
        if self._driver is None:
            return self._executor is None or (
                alive(self._executor[0]) and birth(self._executor[0]) == self._executor[1]
            )
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


def _converse(
    connection: socket.socket, secret: bytes, lane: Lane | None, index: int, handover: Handover, pulse: PulseTaker
) -> Lane | None:
    """Answer until the other side is through; the lane that is left, if there is one."""
    try:
        connection.settimeout(_GREETING_SECONDS)
        greet_client(connection, secret)
        connection.settimeout(None)
        while (request := receive(connection)) is not None:
            if "program" in request:
                pulse.begin("its start")
                set_levels(label_of(request["program"]).log_levels)
                known = lane
                try:
                    lane = lane or Lane(unpacked(request["program"]), index)
                except MillstreamError as error:
                    pulse.end()
                    send(connection, {"error": described(error)})
                    continue
                send(connection, {"ok": True})
                if known is None:
                    with contextlib.suppress(MillstreamError):  # the first batch meets it again, and tells
                        lane.prepare()
                pulse.end()
            elif lane is None:
                send(connection, {"need_program": True})
            else:
                pulse.begin(f"batch {request['batch']}" + (f", wave {request['wave']}" if request["wave"] else ""))
                try:
                    answer: dict[str, Any] = {"rows": _run(lane, request, handover)}
                except ProducerStuck:
                    log.warning("the producer hangs; the lane starts anew")
                    os._exit(1)  # who asked starts another one
                except Exception as error:
                    # What a failed wave left behind is unknown; everything is read again. Before anybody is told: who
                    # asked may be gone by now, and the lane must not stay because of that.
                    answer = {"error": described(error)}
                    with contextlib.suppress(Exception):
                        lane.close()
                    lane = None
                pulse.end_request()
                end_lines()
                send(connection, answer)
    except NotOursError as error:
        log.warning("%s", error)
    except (ConnectionError, TimeoutError):
        pass
    return lane


def _run(lane: Lane, request: dict[str, Any], handover: Handover) -> list[tuple[int, int, bytes]]:
    batch, wave = request["batch"], request["wave"]
    if wave == 0:
        handover.forget_before(batch)
    rows = lane.run(
        WaveRequest(
            Version(batch, wave),
            request["now"],
            request["attempt"],
            {(topic, partition): (start, end) for topic, partition, start, end in request["ranges"]},
            {(topic, partition): end for topic, partition, end in request["globals"]},
            [unpack(handover.take(parcel)) for parcel in request["parcels"]],
            {(topic, partition): end for topic, partition, end in request["guaranteed"]},
            request["content"],
            request["membership"],
        )
    )
    return [(to, parcel.wave, handover.give(batch, wave, to, parcel.wave, pack(parcel))) for to, parcel in rows]


if __name__ == "__main__":
    faulthandler.enable()  # says in its log of what it dies
    to_the_log(int(sys.argv[2]), in_parts=int(sys.argv[3]) != 0)
    with stack_path(Path(sys.argv[1])).open("ab", buffering=0) as stack:
        faulthandler.register(signal.SIGUSR1, file=stack)  # says there where it is
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends with its driver, which may have a batch to finish
        serve(
            sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None, int(sys.argv[4]) or None, sys.stdin.buffer.read()
        )
