"""Rows on their way to one client."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from millstream.ksqldb.api import AnswerKind, End, Row
from millstream.sql.schema.columns import Column, Namespace

_LOG = logging.getLogger(__name__)
_COMPLETED = End("Query Completed")
_LIMIT_REACHED = End("Limit Reached")
#: How many rows wait for a client at most, but for those of the round that filled it.
MOST_WAITING = 10_000


class LiveAnswer:
    """Rows that come one after the other. See `Answer`.

    Args:
        query_id: of the query.
        kind: where the rows come from.
        columns: of the rows.
        limit: the most rows that are wanted.
    """

    key_columns: frozenset[str] = frozenset()

    def __init__(
        self,
        query_id: str,
        kind: AnswerKind,
        columns: Sequence[Column] = (),
        *,
        limit: int | None = None,
    ) -> None:
        self.query_id = query_id
        self.kind = kind
        self.columns = columns
        self._left = limit
        self._lock = threading.Lock()
        self._waiting: list[Row] = []
        self._end: End | None = _LIMIT_REACHED if limit == 0 else None
        self._wake: Callable[[], None] = _nothing
        self._room: Callable[[], None] = _nothing
        self._over: list[Callable[[], None]] = []

    # --- for the client

    def listen(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        wake()

    def take(self) -> list[Row]:
        with self._lock:
            taken, self._waiting = self._waiting, []
        if len(taken) >= MOST_WAITING:
            self._room()
        return taken

    @property
    def end(self) -> End | None:
        with self._lock:
            return None if self._waiting else self._end

    def close(self) -> None:
        self.complete()
        with self._lock:
            self._waiting = []

    # --- for where the rows come from

    def when_over(self, call: Callable[[], None]) -> None:
        """Have something called, by any thread, once no more rows are wanted; at once if that is so already."""
        with self._lock:
            if self._end is None:
                self._over.append(call)
                return
        call()

    def when_room(self, call: Callable[[], None]) -> None:
        """Have something called whenever rows were taken of an answer that was full."""
        self._room = call

    @property
    def is_full(self) -> bool:
        """Whether so many rows wait that no more should be offered."""
        return len(self._waiting) >= MOST_WAITING

    def offer(self, rows: Sequence[Row]) -> None:
        """Have rows wait for the client; those beyond the limit are not wanted."""
        with self._lock:
            if self._end is not None:
                return
            if self._left is None:
                self._waiting += rows
            else:
                self._waiting += rows[: self._left]
                self._left -= min(self._left, len(rows))
            is_enough = self._left == 0
        if is_enough:
            self.finish(_LIMIT_REACHED)
        else:
            self._call()

    def complete(self) -> None:
        """There will be no more rows, as it should be."""
        self.finish(End() if self.kind is AnswerKind.PRINT else _COMPLETED)

    def finish(self, end: End) -> None:
        """There will be no more rows; nothing happens if that was said before."""
        with self._lock:
            if self._end is not None:
                return
            self._end = end
            over, self._over = self._over, []
        for call in over:
            call()
        self._call()

    def _call(self) -> None:
        try:
            self._wake()
        except Exception:  # whoever listened is gone; the thread that calls works for others too
            _LOG.exception("nobody takes the rows of %s any more", self.query_id)
            self._wake = _nothing
            self.complete()


class WholeAnswer:
    """Rows that are all there: those of a pull query of a table. See `Answer`."""

    kind = AnswerKind.TABLE_PULL

    def __init__(self, query_id: str, columns: Sequence[Column], rows: list[Row]) -> None:
        self.query_id = query_id
        self.columns = columns
        self.key_columns = frozenset(column.name for column in columns if column.namespace is Namespace.KEY)
        self._rows = rows

    def listen(self, wake: Callable[[], None]) -> None:
        wake()

    def take(self) -> list[Row]:
        taken, self._rows = self._rows, []
        return taken

    @property
    def end(self) -> End | None:
        return None if self._rows else End()

    def close(self) -> None:
        self._rows = []


def _nothing() -> None:
    """Nobody listens."""
