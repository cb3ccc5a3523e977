"""A runner whose troubles stay its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from millstream.sql.engine.progress import InputOffsets, QueryError, QueryProgress
from millstream.sql.engine.queries import PersistentQuery, QueryRunner, QueryState
from millstream.sql.errors import SqlError
from millstream.sql.pull import StoredRows

_LOG = logging.getLogger("millstream.ksqldb")


class SteadyRunner:
    """See `QueryRunner`. What fails on this server is told as the state of the query, and fails no command.

    All servers execute the same commands, and must come to the same catalogue and queries: that a query does not start
    here says nothing about the others.

    Args:
        runner: what runs queries.
    """

    def __init__(self, runner: QueryRunner) -> None:
        self._runner = runner
        self._failed: dict[str, QueryError] = {}

    def failure(self, query_id: str) -> str | None:
        """Why a query did not start."""
        failed = self._failed.get(query_id)
        return None if failed is None else failed.error_message

    def refuse(self, query: PersistentQuery, reason: str) -> None:
        """Have a query in state ERROR without trying to start it."""
        self._failed[query.id] = _failed(reason)

    def start(self, query: PersistentQuery) -> None:
        self._failed.pop(query.id, None)
        error = _tried("start", query, lambda: self._runner.start(query))
        if error is not None:
            self._failed[query.id] = _failed(f"query {query.id} did not start: {error}")

    def stop(self, query: PersistentQuery) -> None:
        self._failed.pop(query.id, None)
        _tried("end", query, lambda: self._runner.stop(query))

    def pause(self, query: PersistentQuery) -> None:
        _tried("pause", query, lambda: self._runner.pause(query))

    def resume(self, query: PersistentQuery) -> None:
        _tried("resume", query, lambda: self._runner.resume(query))

    def state(self, query: PersistentQuery) -> QueryState:
        return QueryState.ERROR if query.id in self._failed else self._runner.state(query)

    def errors(self, query: PersistentQuery) -> list[QueryError]:
        failed = self._failed.get(query.id)
        return self._runner.errors(query) if failed is None else [failed]

    def progress(self, query: PersistentQuery) -> QueryProgress:
        return self._runner.progress(query)

    def offsets(self, query: PersistentQuery) -> list[InputOffsets]:
        return self._runner.offsets(query)

    def rows(self, query: PersistentQuery, store: str) -> StoredRows:
        failed = self._failed.get(query.id)
        if failed is not None:
            raise SqlError(failed.error_message)
        return self._runner.rows(query, store)

    def run_to_end(self, query: PersistentQuery, is_enough: Callable[[], bool]) -> None:
        self._runner.run_to_end(query, is_enough)

    def close(self) -> None:
        self._runner.close()


def _failed(reason: str) -> QueryError:
    return QueryError(int(time.time() * 1000), reason, "SYSTEM")


def _tried(doing: str, query: PersistentQuery, action: Callable[[], None]) -> Exception | None:
    """Do something; why it failed if it did."""
    try:
        action()
    except Exception as error:
        _LOG.exception("cannot %s query %s", doing, query.id)
        return error
    return None
