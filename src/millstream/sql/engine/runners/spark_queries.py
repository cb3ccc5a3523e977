"""Persistent queries as applications on Spark: one session for all of them."""

from __future__ import annotations

import contextlib
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.kafka.group_admin import GroupAdmin
from millstream.spark.client import KafkaStreams, State
from millstream.spark.startup.preflight import check_java
from millstream.spark.startup.session import spark_session
from millstream.spark.state.checkpoint import checkpoint_location
from millstream.sql.engine.queries import PersistentQuery, QueryState
from millstream.sql.engine.runners.applications import application_config
from millstream.sql.errors import SqlError, tell
from millstream.sql.processing_log import ProcessingLog
from millstream.sql.pull import StoredRows
from millstream.sql.pull.view_rows import ViewRows

#: Of an application that was started and did not end.
_ALIVE = (State.REBALANCING, State.RUNNING, State.PENDING_SHUTDOWN)
_POLL_SECONDS = 0.2
_LOG = logging.getLogger("millstream.sql")
_PROGRESS = "-progress"
_INTERNAL = ("-changelog", "-repartition", "-topic", "-owner", _PROGRESS)


@dataclass(frozen=True)
class _Running:
    """A query and its application."""

    query: PersistentQuery
    streams: KafkaStreams


@dataclass(frozen=True)
class _Kept:
    """What a query has outside of this process: its internal topics, and its checkpoint if that is a directory."""

    topics: frozenset[str]
    checkpoint: Path | None

    def without(self, other: _Kept) -> _Kept:
        """What is here and not in another."""
        return _Kept(self.topics - other.topics, self.checkpoint if other.checkpoint is None else None)


class SparkQueries:
    """See `QueryRunner`. The Spark session is made with the first query.

    Args:
        config: what all queries have in common: the brokers, Spark, the guarantee.
        log: what hears of records that cannot be read.
    """

    def __init__(self, config: StreamsConfig, log: ProcessingLog) -> None:
        self._config = config
        self._log = log
        self._session: SparkSession | None = None
        self._running: dict[str, _Running] = {}

    def start(self, query: PersistentQuery) -> None:
        before = self._kept(query)
        replaced = self._running.get(query.id)
        if replaced is not None:
            replaced.streams.close()
        try:
            self._launch(query)
        except BaseException as error:
            self._take_back(query, before, replaced, error)
            raise
        _LOG.info("query %s runs", query.id)

    def _launch(self, query: PersistentQuery) -> None:
        if self._session is None:
            check_java()
            self._session = spark_session(self._config)
        streams = KafkaStreams(query.topology, application_config(self._config, query, self._log), self._session)
        streams.start()
        self._running[query.id] = _Running(query, streams)

    def _take_back(
        self, query: PersistentQuery, before: _Kept, replaced: _Running | None, error: BaseException
    ) -> None:
        """Leave things as they were before a query that did not start."""
        try:
            self._remove(query, self._kept(query).without(before))
        except MillstreamError as failure:
            tell(error, f"internal topics of {query.id} may be left behind ({failure.primary})")
        if replaced is None:
            return
        try:
            self._launch(replaced.query)
        except MillstreamError as failure:
            tell(error, f"the query it should replace is stopped and does not start again ({failure.primary})")

    def stop(self, query: PersistentQuery) -> None:
        running = self._running.get(query.id)
        if running is not None:
            running.streams.close()
            del self._running[query.id]
        try:
            self._remove(query, self._kept(query))
        except MillstreamError as error:
            tell(error, f"query {query.id} is stopped; its internal topics and its checkpoint are still there")
            raise
        _LOG.info("query %s ended", query.id)

    def _kept(self, query: PersistentQuery) -> _Kept:
        """What there is of a query outside of this process."""
        config = application_config(self._config, query, self._log)
        prefix = f"{query.application_id}-"
        with contextlib.closing(GroupAdmin(config)) as admin:
            names = [name for name in admin.topics() if name.startswith(prefix) and name.endswith(_INTERNAL)]
        location = Path(checkpoint_location(config))
        return _Kept(frozenset(names), location if location.is_absolute() and location.exists() else None)

    def _remove(self, query: PersistentQuery, kept: _Kept) -> None:
        if kept.topics:
            with contextlib.closing(GroupAdmin(application_config(self._config, query, self._log))) as admin:
                admin.delete_topics(sorted(kept.topics))
                if f"{query.application_id}{_PROGRESS}" in kept.topics:  # another query of this id begins anew
                    admin.delete_groups([query.application_id])
        if kept.checkpoint is not None:
            shutil.rmtree(kept.checkpoint, ignore_errors=True)

    def pause(self, query: PersistentQuery) -> None:
        self._application(query).pause()

    def resume(self, query: PersistentQuery) -> None:
        self._application(query).resume()

    def _application(self, query: PersistentQuery) -> KafkaStreams:
        running = self._running.get(query.id)
        if running is None:
            raise SqlError(f"query {query.id} does not run")
        return running.streams

    def state(self, query: PersistentQuery) -> QueryState:
        running = self._running.get(query.id)
        streams = None if running is None else running.streams
        if streams is None or streams.state in (State.ERROR, State.PENDING_ERROR, State.NOT_RUNNING):
            return QueryState.ERROR
        return QueryState.PAUSED if streams.is_paused else QueryState.RUNNING

    def errors(self, query: PersistentQuery) -> list[str]:
        running = self._running.get(query.id)
        return [] if running is None or running.streams.failure is None else [str(running.streams.failure)]

    def rows(self, query: PersistentQuery, store: str) -> StoredRows:
        views = self._application(query).views
        views.wait_until_ready(store)
        return ViewRows(views, store)

    def run_to_end(self, query: PersistentQuery, is_enough: Callable[[], bool]) -> None:
        raise SqlError(
            "push queries, and pull queries of streams, are only answered in memory",
            hint="write the result to a stream or table with CREATE .. AS SELECT; tables can be asked",
        )

    def applications(self) -> Iterator[tuple[str, KafkaStreams]]:
        """All applications by the ids of their queries."""
        return iter([(query_id, running.streams) for query_id, running in self._running.items()])

    def close(self) -> None:
        """Stop all applications; they go on from where they were when their queries are started again."""
        failures = []
        for query_id, streams in self.applications():
            streams.close()
            if streams.failure is not None:
                failures.append((query_id, streams.failure))
        self._running.clear()
        for query_id, failure in failures:
            _LOG.error("query %s failed: %s", query_id, failure)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Until all applications are stopped or one failed; False if the timeout comes first.

        Raises:
            MillstreamError: one failed.
        """
        deadline = None if timeout is None else time.monotonic() + timeout.total_seconds()
        while any(streams.state in _ALIVE for _, streams in self.applications()) and self.failure is None:
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        if self.failure is not None:
            raise self.failure
        return True

    @property
    def failure(self) -> MillstreamError | None:
        """Why a query failed, if one did."""
        return next((streams.failure for _, streams in self.applications() if streams.failure is not None), None)
