"""What `millstream run` and `sql` log: lines for people, or JSON for machines."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from enum import StrEnum

import orjson


class LogFormat(StrEnum):
    """How log lines look."""

    TEXT = "text"
    JSON = "json"


class JsonFormatter(logging.Formatter):
    """One JSON object per line.

    >>> record = logging.LogRecord("millstream.task", logging.WARNING, "", 0, "skipped %s", ("it",), None)
    >>> sorted(orjson.loads(JsonFormatter().format(record)))
    ['level', 'logger', 'message', 'time']
    """

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line."""
        content = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            content["exception"] = self.formatException(record.exc_info)
        elif record.exc_text:  # it came from another process
            content["exception"] = record.exc_text
        return orjson.dumps(content).decode()


def set_up_logging(log_format: LogFormat) -> None:
    """Log warnings and worse to standard error."""
    handler = logging.StreamHandler()
    if log_format is LogFormat.JSON:
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
