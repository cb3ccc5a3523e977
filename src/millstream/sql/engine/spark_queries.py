"""Persistent queries as applications on Spark: one session for all of them."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.kafka.admin import Admin
from millstream.spark.checkpoint import checkpoint_location
from millstream.spark.client import KafkaStreams, State
from millstream.spark.preflight import check_java
from millstream.spark.session import spark_session
from millstream.sql.engine.applications import application_config
from millstream.sql.engine.queries import PersistentQuery, QueryState
from millstream.sql.processing_log import ProcessingLog

#: Of an application that was started and did not end.
_ALIVE = (State.REBALANCING, State.RUNNING, State.PENDING_SHUTDOWN)
_POLL_SECONDS = 0.2
_LOG = logging.getLogger("millstream.sql")
_INTERNAL = ("-changelog", "-repartition", "-topic", "-progress")


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
        self._running: dict[str, KafkaStreams] = {}

    def start(self, query: PersistentQuery) -> None:
        replaced = self._running.pop(query.id, None)
        if replaced is not None:
            replaced.close()
        if self._session is None:
            check_java()
            self._session = spark_session(self._config)
        streams = KafkaStreams(query.topology, application_config(self._config, query, self._log), self._session)
        streams.start()
        self._running[query.id] = streams
        _LOG.info("query %s runs", query.id)

    def stop(self, query: PersistentQuery) -> None:
        streams = self._running.pop(query.id, None)
        if streams is not None:
            streams.close()
        self._forget(query)
        _LOG.info("query %s ended", query.id)

    def _forget(self, query: PersistentQuery) -> None:
        """Remove what a query kept: its internal topics and its checkpoint."""
        config = application_config(self._config, query, self._log)
        admin = Admin(config)
        prefix = f"{query.application_id}-"
        names = [name for name in admin.topics() if name.startswith(prefix) and name.endswith(_INTERNAL)]
        admin.delete_topics(names)
        admin.close()
        location = Path(checkpoint_location(config))
        if location.is_absolute():
            shutil.rmtree(location, ignore_errors=True)

    def pause(self, query: PersistentQuery) -> None:
        self._running[query.id].pause()

    def resume(self, query: PersistentQuery) -> None:
        self._running[query.id].resume()

    def state(self, query: PersistentQuery) -> QueryState:
        streams = self._running.get(query.id)
        if streams is None or streams.state in (State.ERROR, State.PENDING_ERROR, State.NOT_RUNNING):
            return QueryState.ERROR
        return QueryState.PAUSED if streams.is_paused else QueryState.RUNNING

    def errors(self, query: PersistentQuery) -> list[str]:
        streams = self._running.get(query.id)
        return [] if streams is None or streams.failure is None else [str(streams.failure)]

    def applications(self) -> Iterator[tuple[str, KafkaStreams]]:
        """All applications by the ids of their queries."""
        return iter(list(self._running.items()))

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
