"""The processing log: what went wrong with single records while queries ran.

Errors of records never stop a query: they are told here, in the form of ksqlDB's processing log.
"""

from __future__ import annotations

import enum
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

_LOGGER = logging.getLogger("millstream.sql.processing")


class ErrorType(enum.IntEnum):
    """What kind of entry it is; the numbers are part of the entries."""

    DESERIALIZATION = 0
    RECORD_PROCESSING = 1
    PRODUCTION = 2
    SERIALIZATION = 3
    THREAD = 4


class ProcessingLog(Protocol):
    """Where errors of records are told. Must be picklable: queries take it along to other processes."""

    def error(self, logger: str, message: Mapping[str, Any]) -> None:
        """Tells of an error.

        Args:
            logger: who tells: `processing.<query id>.<step>`.
            message: `type` and the part that belongs to it, see `record_error`.
        """


@dataclass(frozen=True)
class PythonLog:
    """Tells the Python logger `millstream.sql.processing`: one JSON object per entry."""

    def error(self, logger: str, message: Mapping[str, Any]) -> None:
        """See `ProcessingLog`."""
        if _LOGGER.isEnabledFor(logging.ERROR):
            entry = {"logger": logger, "level": "ERROR", "time": int(time.time() * 1000), "message": message}
            _LOGGER.error("%s", json.dumps(entry, default=str))


def record_error(text: str, error: BaseException | None, record: str | None = None) -> dict[str, Any]:
    """The message that a record could not be processed.

    Args:
        text: what could not be done.
        error: why; its causes are told too.
        record: the row, if rows may be told.
    """
    detail = {"errorMessage": text, "record": record, "cause": causes(error)}
    return {"type": int(ErrorType.RECORD_PROCESSING), "recordProcessingError": detail}


def causes(error: BaseException | None) -> list[str]:
    """The messages of an error's causes, the error's own first.

    >>> causes(ValueError("no number"))
    ['no number']
    """
    texts = []
    while error is not None:
        texts.append(str(error) or type(error).__name__)
        error = error.__cause__
    return texts
