"""The formats that rows are streamed in."""

from __future__ import annotations

from millstream.ksqldb.api import Answer
from millstream.ksqldb.rest.formats.delimited import DelimitedFormat
from millstream.ksqldb.rest.formats.format import Format
from millstream.ksqldb.rest.formats.json_array import JsonArrayFormat
from millstream.ksqldb.rest.formats.protobuf import protobuf_format
from millstream.ksqldb.rest.formats.v1 import v1_format
from millstream.ksqldb.rest.negotiation import DELIMITED, JSON, PROTOBUF


def format_of(media_type: str, answer: Answer, *, json_is_v1: bool = False) -> Format:
    """The format of a media type, for one answer.

    Args:
        media_type: what was negotiated.
        answer: what is to be sent.
        json_is_v1: whether plain JSON is asked for where only the older form is known (`/query`).

    Raises:
        SqlError: it cannot have such columns.
    """
    if media_type == DELIMITED:
        return DelimitedFormat(answer)
    if media_type == PROTOBUF:
        return protobuf_format(answer)
    if media_type == JSON and not json_is_v1:
        return JsonArrayFormat(answer)
    return v1_format(answer)
