"""One JSON array of objects, each on a line of its own, that say what they are: header, row, error or final message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.ksqldb.api import Answer, AnswerKind, End, Row
from millstream.ksqldb.rest.values import encode, row_encoder
from millstream.sql.schema.types import quote

_SEPARATOR = b",\n"
_COMPLETED = "Query Completed"


def v1_format(answer: Answer) -> V1Format:
    """The format with rows as arrays."""
    encode_values = row_encoder(answer.columns)

    def encode_row(row: Row) -> bytes:
        tombstone = b',"tombstone":true' if row.is_tombstone else b""
        return b'{"row":{"columns":%s%s}}' % (encode_values(row.values), tombstone)

    return V1Format(answer, {}, encode_row)


class V1Format:
    """Objects with a comma between them.

    Pulls of tables are written as they are read, the comma before each further object. All others end with a message,
    so that each object has its comma at once, and clients that read lines need not wait for the next one.

    Args:
        answer: what is to be sent.
        more_header: what its header says beside.
        encode_row: a row as an object.
    """

    idle = b""

    def __init__(self, answer: Answer, more_header: dict[str, Any], encode_row: Callable[[Row], bytes]) -> None:
        self._header = {"queryId": answer.query_id, "schema": _schema(answer), **more_header}
        self._encode_row = encode_row
        self.is_buffered = answer.kind is AnswerKind.TABLE_PULL
        self._before, self._after = (_SEPARATOR, b"") if self.is_buffered else (b"", _SEPARATOR)

    def start(self) -> bytes:
        return b"[" + encode({"header": self._header}) + self._after

    def row(self, row: Row) -> bytes:
        return self._before + self._encode_row(row) + self._after

    def error(self, error: dict[str, Any]) -> bytes:
        # Where each object has its comma at once, so has this one: ksqlDB's body is no JSON then.
        return self._before + encode({"errorMessage": error}) + self._after

    def finish(self, end: End) -> bytes:
        if self.is_buffered or end.error is not None:
            return b"]"
        return encode({"finalMessage": end.message or _COMPLETED}) + b"]"


def _schema(answer: Answer) -> str:
    """The columns; pulls of tables tell which are keys."""
    keys = answer.key_columns if answer.kind is AnswerKind.TABLE_PULL else ()
    return ", ".join(
        f"{quote(column.name)} {column.type}{' KEY' if column.name in keys else ''}" for column in answer.columns
    )
