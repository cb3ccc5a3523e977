"""Errors on their way from a lane through Spark to the user."""

from __future__ import annotations

import json
import re

from millstream import errors
from millstream.errors import MillstreamError, StreamsError

_MARK = "MILLSTREAM-ERROR"
_PATTERN = re.compile(rf"{_MARK}:(\{{.*\}}):END", re.DOTALL)


def marked(error: dict[str, str | None]) -> str:
    """An error's parts as a line that can be found again in Spark's message."""
    return f"{_MARK}:{json.dumps(error)}:END"


def of_spark(message: str) -> MillstreamError:
    """The error behind a failed query."""
    found = _PATTERN.search(message)
    if found is None:
        last = [line for line in message.splitlines() if line.strip()]
        return StreamsError(
            "the query failed", detail=last[0] if last else message, hint="Spark's log has the whole story"
        )
    parts = json.loads(found.group(1))
    kind = getattr(errors, parts["type"] or "", StreamsError)
    if not (isinstance(kind, type) and issubclass(kind, MillstreamError)):
        kind = StreamsError
    detail = "\n".join(part for part in (parts["detail"], parts["traceback"]) if part) or None
    error: MillstreamError = kind(parts["primary"] or "a lane failed", detail=detail, hint=parts["hint"])
    return error
