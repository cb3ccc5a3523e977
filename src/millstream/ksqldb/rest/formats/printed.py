"""The lines of PRINT."""

from __future__ import annotations

from typing import Any

from millstream.ksqldb.api import End, Row
from millstream.ksqldb.rest.values import encode

_GUESSES = ("Key format: ", "Value format: ")


class PrintedFormat:
    """Text.

    Args:
        is_older: as `/query` sends it: with what formats were guessed, and a sign of life while nothing comes.
    """

    is_buffered = False

    def __init__(self, *, is_older: bool) -> None:
        self._is_older = is_older
        self.idle = b"\n" if is_older else b""

    def start(self) -> bytes:
        return b""

    def row(self, row: Row) -> bytes:
        text = printed_line(row, guesses=self._is_older)
        return b"" if text is None else text.encode() + b"\n"

    def error(self, error: dict[str, Any]) -> bytes:
        return encode(error) + b"\n"

    def finish(self, end: End) -> bytes:
        return b""


def printed_line(row: Row, *, guesses: bool) -> str | None:
    """The line of a row of PRINT; None if it is about the formats and these are not wanted."""
    text: str = row.values[0]
    return None if text.startswith(_GUESSES) and not guesses else text
