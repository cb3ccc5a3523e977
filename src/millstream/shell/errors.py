"""What servers refuse, as errors for people: ksqlDB's message, and the place in the statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from millstream.errors import MillstreamError
from millstream.sql.errors import Location
from millstream.sql.parser.messages import excerpt
from millstream.sql.parser.names import Source

_PLACE = re.compile(r"\bline:? (\d+)(?::|, col:? )(\d+)", re.IGNORECASE)
#: How a server of ours writes what it knows beyond ksqlDB's message.
_DETAIL, _HINT = "\n  detail: ", "\n  hint:   "


class ShellError(MillstreamError):
    """Something that was typed cannot be done."""


class NoServer(MillstreamError):
    """A server is not there, does not answer, or is none of ksqlDB's kind."""


class ServerRefused(ShellError):
    """A server refused something.

    Args:
        code: ksqlDB's error code; 0 if it gave none.
    """

    def __init__(self, primary: str, *, code: int, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(primary, detail=detail, hint=hint)
        self.code = code


def server_error(content: Mapping[str, Any], sql: str | None = None) -> ServerRefused:
    """The error that a server told of.

    Args:
        content: how it told.
        sql: what was sent to it; places are counted in that.

    >>> print(server_error({"message": "line 1:6: Syntax Error"}, "SHOW NOTHING;").detail)
    here:
        SHOW NOTHING;
             ^
    """
    text, _, hint = str(content.get("message", "")).partition(_HINT)
    primary, _, detail = text.partition(_DETAIL)
    if not detail and sql is not None and (place := _PLACE.search(primary)):
        at = Location(int(place[1]), int(place[2]))
        if at.column > 0 and 0 < at.line <= sql.count("\n") + 1:
            detail = excerpt(Source(sql), at)
    return ServerRefused(primary, code=int(content.get("error_code", 0)), detail=detail or None, hint=hint or None)
