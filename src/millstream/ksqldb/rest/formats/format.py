"""What a format is."""

from __future__ import annotations

from typing import Any, Protocol

from millstream.ksqldb.api import Answer, End, Row


class Format(Protocol):
    """How one answer is written. Every piece is one write, so one frame: clients read them one by one."""

    @property
    def is_buffered(self) -> bool:
        """Whether pieces may be put together."""

    @property
    def idle(self) -> bytes:
        """What is written each second in which nothing comes; nothing for most."""

    def start(self) -> bytes:
        """What comes before the rows."""

    def row(self, row: Row) -> bytes:
        """A row; nothing if the format does not show it."""

    def error(self, error: dict[str, Any]) -> bytes:
        """Why there are no more rows."""

    def finish(self, end: End) -> bytes:
        """What comes at the end."""


def header(answer: Answer) -> dict[str, Any]:
    """What is said of an answer before its rows: its id, and its columns."""
    return {
        "queryId": answer.query_id,
        "columnNames": [column.name for column in answer.columns],
        "columnTypes": [str(column.type) for column in answer.columns],
    }
