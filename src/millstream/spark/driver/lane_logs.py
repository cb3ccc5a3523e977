"""What lanes on the driver's machine print and log, shown by the driver."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from millstream.spark.calls.lane_log import unpacked
from millstream.spark.calls.waiting import log_path

_AT_ONCE = 1 << 20


class LaneLogs:
    """Follows the logs of lanes. Text goes to standard error, log records to the loggers of their names.

    Args:
        directory: of the run.
        lanes: how many there are.
    """

    def __init__(self, directory: Path, lanes: int) -> None:
        self._lock = threading.Lock()
        self._logs = [_LaneLog(log_path(directory / f"lane-{lane}"), lane) for lane in range(lanes)]

    def show(self) -> None:
        """Show what is new; it costs next to nothing if nothing is."""
        with self._lock:
            for each in self._logs:
                each.show()

    def close(self) -> None:
        """Show the rest."""
        with self._lock:
            for each in self._logs:
                each.close()
            self._logs = []


class _LaneLog:
    def __init__(self, path: Path, lane: int) -> None:
        self._path = path
        self._lane = lane
        self._file: BinaryIO | None = None
        self._begun = b""

    def show(self) -> None:
        before = self._file
        if before is None or _is_put_aside(before, self._path):
            with contextlib.suppress(FileNotFoundError):  # not started yet, or the run is over
                self._file = self._path.open("rb", buffering=0)
        if before is not None:
            self._read(before)
        if self._file is not None and self._file is not before:
            self._read(self._file)
            if before is not None:
                before.close()

    def _read(self, file: BinaryIO) -> None:
        while data := file.read(_AT_ONCE):
            *lines, self._begun = (self._begun + data).split(b"\n")
            self._tell(lines)

    def close(self) -> None:
        self.show()
        if self._begun:
            self._tell([self._begun])
        if self._file is not None:
            self._file.close()

    def _tell(self, lines: list[bytes]) -> None:
        text: list[str] = []
        for line in lines:
            decoded = line.decode(errors="replace")
            record = unpacked(decoded)
            if record is None:
                # What C libraries print, and the interpreter when it crashes, does not say where it is from.
                placed = decoded.startswith(("task ", "lane "))
                text.append(f"{decoded}\n" if placed else f"lane {self._lane}: {decoded}\n")
                continue
            _print(text)
            text = []
            logger = logging.getLogger(record.name)
            if logger.isEnabledFor(record.levelno):
                logger.handle(record)
        _print(text)


def _is_put_aside(log: BinaryIO, path: Path) -> bool:
    """Whether a log had become long, and its lane goes on in another file."""
    try:
        return not os.path.samestat(os.fstat(log.fileno()), path.stat())
    except FileNotFoundError:  # the run is over
        return False


def _print(lines: list[str]) -> None:
    # Whoever closed the standard error wants to see nothing; that is no reason to fail.
    if lines and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write("".join(lines))
            sys.stderr.flush()
