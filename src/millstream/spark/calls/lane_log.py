"""The log of a lane: lines of text, and log records in parts, so that the driver's logging can decide about them."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

_MARK = "MILLSTREAM-RECORD:"
_PARTS = (
    "name", "levelno", "levelname", "pathname", "filename", "module", "lineno", "funcName", "created", "msecs",
    "thread", "threadName", "process", "processName",
)  # fmt: skip
#: A log that is longer is put aside.
_LONG = 16 << 20
_OUTPUTS = (1, 2)
_FORMATTER = logging.Formatter("%(asctime)s %(message)s")


def packed(record: logging.LogRecord, origin: str) -> str:
    """A log record as a line, which can be sent where the objects in it cannot.

    Args:
        record: the record.
        origin: the task or lane that it is from; its message begins with that.
    """
    exception = record.exc_text or (_FORMATTER.formatException(record.exc_info) if record.exc_info else None)
    parts = {
        **{name: getattr(record, name) for name in _PARTS},
        "msg": f"{origin}: {record.getMessage()}",
        "exc_text": exception,
        "stack_info": record.stack_info,
    }
    return _MARK + json.dumps(parts)


def unpacked(line: str) -> logging.LogRecord | None:
    """The log record of a line; None if it is plain text."""
    if not line.startswith(_MARK):
        return None
    try:
        return logging.makeLogRecord(json.loads(line.removeprefix(_MARK)))
    except ValueError:  # only a part of the line is there: the lane was killed, or the disk is full
        return None


def readable(line: str) -> str:
    """A line for people."""
    record = unpacked(line)
    return line if record is None else _FORMATTER.format(record)


def levels() -> dict[str, int]:
    """The levels that this process has set, by the names of the loggers; the root's is ""."""
    named = {
        name: logger.level
        for name, logger in list(logging.root.manager.loggerDict.items())
        if isinstance(logger, logging.Logger) and logger.level != logging.NOTSET
    }
    return {"": logging.root.level, **named}


def set_levels(wanted: dict[str, int]) -> None:
    """Have this process's loggers log what those of another one do."""
    for name, level in wanted.items():
        logging.getLogger(name).setLevel(level)


def put_aside_if_long(path: Path) -> None:
    """Have this process, a lane, go on in a new log if the one at `path` is long; the one put aside before is gone.

    Whoever follows the log sees a new file there only once nothing is written to the old one any more.
    """
    if os.fstat(_OUTPUTS[-1]).st_size <= _LONG:
        return
    new = path.with_name(f"{path.name}.new")
    with new.open("ab") as file:
        for output in _OUTPUTS:
            os.dup2(file.fileno(), output)
    path.replace(path.with_name(f"{path.name}.old"))
    new.replace(path)
