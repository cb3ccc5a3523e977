"""Answers to `ask`: a record for the topic that the question names in its headers.

The headers and the form of an answer are Faust's, so that its clients can ask agents here and the other way round.
"""

from __future__ import annotations

from typing import Any, Final

from millstream.agents.body.outgoing import Outgoing
from millstream.agents.typed import dump_json
from millstream.records import Headers

REPLY_TO: Final = "Faust-Ag-ReplyTo"
CORRELATION_ID: Final = "Faust-Ag-CorrelationId"


def reply_to(headers: Headers, key: Any, value: Any) -> tuple[bytes | None, Outgoing] | None:
    """The answer, if one is wanted: its key, and where it goes."""
    topic = headers.last(REPLY_TO)
    if topic is None:
        return None
    correlation = (headers.last(CORRELATION_ID) or b"").decode()
    shown = key.decode(errors="replace") if isinstance(key, bytes) else key
    data = dump_json({"key": shown, "value": value, "correlation_id": correlation})
    return correlation.encode(), Outgoing(topic.decode(), None, data)
