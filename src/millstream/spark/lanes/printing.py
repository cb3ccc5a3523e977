"""What is printed and logged in a lane goes to its log, each line with the task it is from; the driver shows it."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from typing import Any

from millstream.hosting.whose import PLACE, is_at
from millstream.spark.calls.lane_log import packed

_ERROR_OUTPUT = 2


class _Lines(io.RawIOBase):
    """Writes whole lines, each at once and with its place: a lane that dies has lost none, and none is torn."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = b""
        self._lock = threading.Lock()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return _ERROR_OUTPUT

    def write(self, data: Any, /) -> int:
        text = bytes(data)
        with self._lock:
            *lines, self._begun = (self._begun + text).split(b"\n")
            if lines:
                place = str(PLACE).encode()
                _write(b"".join(b"%b: %b\n" % (place, line) for line in lines))
        return len(text)

    def flush(self) -> None:
        """What was printed without the end of a line becomes a line."""
        if self._begun:
            self.write(b"\n")


class _Records(logging.Handler):
    """Writes log records in parts."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            _write(f"{packed(record, str(PLACE))}\n".encode())
        except Exception:
            self.handleError(record)


def to_the_log(lane: int, *, in_parts: bool) -> None:
    """Have the lane's standard output, logging and warnings go to its log.

    Args:
        lane: its number.
        in_parts: there is a driver that reads them; else people do.
    """
    PLACE.lane = lane
    sys.stdout = io.TextIOWrapper(_Lines(), "utf-8", "backslashreplace", write_through=True)
    sys.stderr = io.TextIOWrapper(_Lines(), "utf-8", "backslashreplace", write_through=True)
    logging.captureWarnings(capture=True)
    logging.getLogger("millstream.handlers").addFilter(_is_told_here)
    if in_parts:
        logging.root.addHandler(_Records())
    else:
        logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def _is_told_here(record: logging.LogRecord) -> bool:
    """What makes a handler stop a task is raised, and told at the end of the run, once."""
    return record.levelno < logging.ERROR


def end_lines() -> None:
    """Between requests: nothing that was printed is held back, and nobody's functions run."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    is_at(None)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(_ERROR_OUTPUT, data) :]
