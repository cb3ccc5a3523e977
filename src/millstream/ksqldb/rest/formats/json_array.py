"""One JSON array of everything."""

from __future__ import annotations

from typing import Any

from millstream.ksqldb.api import Answer, End, Row
from millstream.ksqldb.rest.formats.format import header
from millstream.ksqldb.rest.values import encode, row_encoder


class JsonArrayFormat:
    """The header, then each row as an array in it; rows that say that a key is gone are left out."""

    is_buffered = False
    idle = b""

    def __init__(self, answer: Answer) -> None:
        self._header = header(answer)
        self._encode = row_encoder(answer.columns)

    def start(self) -> bytes:
        return b"[" + encode(self._header)

    def row(self, row: Row) -> bytes:
        return b"" if row.is_tombstone else b"," + self._encode(row.values)

    def error(self, error: dict[str, Any]) -> bytes:
        return b"," + encode(error)

    def finish(self, end: End) -> bytes:
        return b"]"
