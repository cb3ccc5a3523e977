"""Queries that run in test drivers, connected by topics in memory: for tests."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable

from millstream.config import StreamsConfig
from millstream.sql.engine.progress import InputOffsets, QueryError, QueryProgress
from millstream.sql.engine.queries import PersistentQuery, QueryState
from millstream.sql.engine.runners.applications import application_config
from millstream.sql.engine.topics import InMemoryTopics, TopicRecord
from millstream.sql.processing_log import ProcessingLog, PythonLog
from millstream.sql.pull import StoredRows
from millstream.sql.pull.store_rows import store_rows
from millstream.testing import TopologyTestDriver

#: Every update is emitted at once.
_CONFIG = StreamsConfig(statestore_cache_max_bytes=0, dsl_store="in_memory")


def test_driver(query: PersistentQuery, log: ProcessingLog) -> TopologyTestDriver:
    """The test driver of a query; its wall clock stands at 0."""
    return TopologyTestDriver(query.topology, application_config(_CONFIG, query, log), wall_clock_start=0)


class DriverQueries:
    """See `QueryRunner`. Each query gets the records that are written to its topics from now on, at once.

    Args:
        topics: where queries read and write.
        log: what hears of records that cannot be read.
    """

    def __init__(self, topics: InMemoryTopics, log: ProcessingLog | None = None) -> None:
        self._topics = topics
        self._log = PythonLog() if log is None else log
        self._running: dict[str, tuple[PersistentQuery, TopologyTestDriver]] = {}
        self._paused: set[str] = set()
        self._pending: deque[TopicRecord] = deque()
        self._delivering = False
        topics.listeners.append(self._deliver)

    def _deliver(self, record: TopicRecord) -> None:
        """Hand a record to all queries that read its topic; what they write is delivered after it."""
        self._pending.append(record)
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._pending:
                self._process(self._pending.popleft())
        finally:
            self._delivering = False

    def _process(self, record: TopicRecord) -> None:
        for query, running in list(self._running.values()):
            if query.id in self._paused or record.topic not in query.source_topics:
                continue
            running.pipe(record.topic, record.key, record.value, record.timestamp, list(record.headers))
            for sent in running.take_outputs():
                if sent.topic == query.sink_topic:
                    headers = tuple(sent.headers or ())
                    self._topics.write(TopicRecord(sent.topic, sent.key, sent.value, sent.timestamp, headers))

    def start(self, query: PersistentQuery) -> None:
        replaced = self._running.get(query.id)
        started = test_driver(query, self._log)
        if replaced is not None:
            try:
                _move_state(replaced[1], started)
            except BaseException:
                started.close()
                raise
            replaced[1].close()
        self._running[query.id] = (query, started)

    def stop(self, query: PersistentQuery) -> None:
        _, running = self._running.pop(query.id)
        running.close()

    def pause(self, query: PersistentQuery) -> None:
        self._paused.add(query.id)

    def resume(self, query: PersistentQuery) -> None:
        self._paused.discard(query.id)

    def state(self, query: PersistentQuery) -> QueryState:
        return QueryState.PAUSED if query.id in self._paused else QueryState.RUNNING

    def errors(self, query: PersistentQuery) -> list[QueryError]:
        return []

    def progress(self, query: PersistentQuery) -> QueryProgress:
        return QueryProgress()

    def offsets(self, query: PersistentQuery) -> list[InputOffsets]:
        return []

    def rows(self, query: PersistentQuery, store: str) -> StoredRows:
        _, running = self._running[query.id]
        return store_rows(running.store(store))

    def run_to_end(self, query: PersistentQuery, is_enough: Callable[[], bool]) -> None:
        topics = [self._topics.read(topic, from_beginning=True) for topic in sorted(query.source_topics)]
        running = test_driver(query, self._log)
        try:
            # As a task does it: of the topics' next records the one that is earliest.
            for record in heapq.merge(*topics, key=lambda record: record.timestamp):
                if is_enough():
                    return
                running.pipe(record.topic, record.key, record.value, record.timestamp, list(record.headers))
        finally:
            running.close()

    def close(self) -> None:
        """End all queries."""
        for _, running in self._running.values():
            running.close()
        self._running.clear()


def _move_state(old: TopologyTestDriver, new: TopologyTestDriver) -> None:
    """Put what the stores of a query hold into those of the query that replaces it."""
    for name, store in new.stores.items():
        before = old.stores.get(name)
        if before is None:
            continue
        for key, value in before.all():
            store.put(key, value)
