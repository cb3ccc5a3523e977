"""Errors on their way from a lane through Spark to the user."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from millstream.errors import DeserializationError, MillstreamError, ProcessingError, ProductionError, StreamsError
from millstream.hosting.error_parts import ErrorParts

_MARK = "MILLSTREAM-ERROR"
_PATTERN = re.compile(rf"{_MARK}:(\{{.*\}}):END", re.DOTALL)


class LaneLost(StreamsError):
    """A lane died or hung at a wave, each time that it was started."""


#: What fails the same way each time, as records and functions are the same. The rest may be the broker's or a disk's.
_FAILS_AGAIN = (ProcessingError, DeserializationError, LaneLost)


def described(error: Exception) -> dict[str, Any]:
    """An error in parts that can be sent."""
    return {
        **asdict(ErrorParts.of(error)),
        "fails_again": isinstance(error, _FAILS_AGAIN) or (isinstance(error, ProductionError) and not error.retriable),
    }


def marked(error: dict[str, Any]) -> str:
    """An error's parts as a line that can be found again in Spark's message."""
    return f"{_MARK}:{json.dumps(error)}:END"


def fails_again(error: dict[str, Any] | None) -> bool:
    """Whether a lane that is asked for the same again would meet the same error, by its parts."""
    return error is not None and error["fails_again"] is True


def is_marked(message: str) -> bool:
    """Whether a lane or the source raised an error, and not Spark."""
    return _PATTERN.search(message) is not None


def is_news(record: logging.LogRecord) -> bool:
    """Whether a line of a log tells of something else than an error that the application tells itself."""
    error = record.exc_info[1] if record.exc_info else None
    return error is None or not is_marked(str(error))


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Mark errors that Spark will carry."""
    try:
        yield
    except MillstreamError as error:
        raise StreamsError(marked(described(error))) from error


def of_spark(message: str, log_file: Path | None = None) -> MillstreamError:
    """The error behind a failed query.

    Args:
        message: Spark's.
        log_file: where the whole story is; the error itself then says what went wrong, and where.
    """
    found = _PATTERN.search(message)
    if found is None:
        last = [line for line in message.splitlines() if line.strip()]
        return StreamsError(
            "the query failed",
            detail=last[0] if last else message,
            hint=f"the whole story is in {log_file or 'the log of Spark'}",
        )
    found_parts = json.loads(found.group(1))
    parts = ErrorParts(**{name: found_parts[name] for name in ("type", "primary", "detail", "hint", "traceback")})
    return with_story(parts, log_file)


def with_story(parts: ErrorParts, log_file: Path | None) -> MillstreamError:
    """The error of some parts.

    Args:
        parts: of the error.
        log_file: where the whole story is; None has it in the error itself.
    """
    detail, hint = parts.detail, parts.hint
    if parts.traceback and log_file is not None and detail:
        hint = f"{hint}; the whole story is in {log_file}" if hint else f"the whole story is in {log_file}"
    else:
        detail = "\n".join(part for part in (detail, parts.traceback) if part) or None
    return replace(parts, detail=detail, hint=hint).error()


def story_of(message: str) -> str:
    """All that is known of a failed query: the traceback of a lane's error, or what Spark says."""
    found = _PATTERN.search(message)
    return message if found is None else str(of_spark(message))
