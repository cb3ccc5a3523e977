"""`TopologyTestDriver`: runs a topology in the test's own process, one record at a time."""

from __future__ import annotations

import contextlib
import shutil
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, TypeVar

from millstream.config import StreamsConfig
from millstream.errors import ArgumentError
from millstream.handlers import ProducedRecord
from millstream.records import Headers
from millstream.serdes import Serde
from millstream.state import (
    SessionStore,
    SessionStoreWithHeaders,
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
    VersionedKeyValueStore,
)
from millstream.task.context import host_context
from millstream.task.globals import GLOBAL_TASK_ID, GlobalState
from millstream.task.records import OutputRecord, RawHeaders
from millstream.task.task import Task
from millstream.testing import stores
from millstream.testing.clock import Clock, ClockedContext, to_milliseconds
from millstream.testing.topics import TestInputTopic, TestOutputTopic
from millstream.topology.topology import Topology

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

#: Every topic has one partition.
_PARTITION = 0
#: Results that are due are not held back, unless the test configures it.
_SETTINGS = {"emit_interval_ms_outer_join": 0, "emit_interval_ms_windowed_aggregation": 0}


class TopologyTestDriver:
    """Runs a topology without a broker.

    All of the topology is one task. Each record that is piped in is processed at once, followed by stream-time
    punctuation and a commit, and so is whatever it leads to in topics that the topology reads itself. The wall clock
    stands still until `advance_wall_clock`. Persistent stores are kept in memory unless the configuration has a
    `state_dir`, in which the task's directory is removed at the end.

    Example:
        with TopologyTestDriver(builder.build()) as driver:
            orders = driver.input_topic("orders", Serdes.string, Serdes.json)
            counts = driver.output_topic("counts", Serdes.string, Serdes.long)
            orders.pipe("o1", {"region": "eu"}, timestamp=0)
            assert counts.read_key_value() == ("eu", 1)

    Args:
        topology: what to run.
        config: the application's configuration.
        wall_clock_start: where the wall clock stands, in milliseconds or as a datetime; the current time if missing.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | None = None,
        *,
        wall_clock_start: int | datetime | None = None,
    ) -> None:
        config = StreamsConfig() if config is None else config
        self._application_id = config.application_id
        self._client_settings = config.client
        self._clock = Clock(wall_clock_start)
        self._internal_names = {f"{config.application_id}-{name}" for name in topology.internal_topics}
        self._own_changelog = set(topology.stores) - set(topology.source_topic_changelogs)
        self._global: GlobalState | None = None
        if topology.global_stores:
            self._global = GlobalState(topology, config, self._context(config, GLOBAL_TASK_ID))
        self._global_topics = [] if self._global is None else self._global.topics
        try:
            self._task = Task(topology, config, context=self._context(config, "0_0"), global_state=self._global)
        except BaseException:
            if self._global is not None:
                self._global.close()
            raise
        for topic in self._task.source_topics():
            self._task.assign(topic, _PARTITION)
        self._offsets: dict[str, int] = {}
        self._sent: list[OutputRecord] = []
        self._unread: dict[str, deque[OutputRecord]] = {}
        self._received_internal: set[str] = set()
        self._failed = False
        self._closed = False

    def _context(self, config: StreamsConfig, task_id: str) -> ClockedContext:
        context = host_context(config, task_id, ClockedContext, defaults=_SETTINGS)
        context.clock = self._clock
        return context

    # --- topics

    def input_topic(
        self,
        name: str,
        key_serde: Serde[K],
        value_serde: Serde[V],
        start: int | datetime | None = None,
        auto_advance: timedelta = timedelta(0),
    ) -> TestInputTopic[K, V]:
        """A topic to write to.

        Args:
            name: the topic.
            key_serde: of the keys.
            value_serde: of the values.
            start: the first time for records piped without a timestamp; by default the driver's wall clock.
            auto_advance: how much later each next such record is.
        """
        at = self._clock.now if start is None else to_milliseconds(start)
        return TestInputTopic(
            name, self.pipe, self._configured(key_serde), self._configured(value_serde), at, auto_advance
        )

    def output_topic(self, name: str, key_serde: Serde[K], value_serde: Serde[V]) -> TestOutputTopic[K, V]:
        """A topic to read what the topology wrote; internal topics go by their full names."""
        return TestOutputTopic(
            name, self._take, self._unread_sizes, self._configured(key_serde), self._configured(value_serde)
        )

    def _configured(self, serde: Serde[T]) -> Serde[T]:
        return serde.configured(self._client_settings)

    @property
    def produced_topic_names(self) -> set[str]:
        """The topics that the topology has written to so far."""
        return set(self._unread)

    # --- running

    def pipe(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: RawHeaders = None,
    ) -> None:
        """Process a serialised record, and all that follows from it.

        Raises:
            ArgumentError: the topology does not read the topic.
            StreamsError: processing failed.
        """
        is_input, is_global = self._task.reads(topic), topic in self._global_topics
        if not is_input and not is_global:
            known = [*self._task.source_topics(), *self._global_topics]
            raise ArgumentError(
                f"the topology does not read topic '{topic}'",
                detail=f"it reads {', '.join(known) or 'no topic'}",
                hint="pipe into a topic of a stream, a table or a source",
            )
        with self._noting_failure():
            if is_input:
                self._enqueue(topic, key, value, timestamp, headers)
                self._complete()
            if is_global:
                self._update_global(topic, key, value, timestamp, headers)

    def advance_wall_clock(self, duration: timedelta) -> None:
        """Move the wall clock on: once, however far, so that each punctuator is called at most once."""
        with self._noting_failure():
            self._clock.advance(duration)
            self._task.maybe_punctuate_wall_clock()
            self._task.commit()
            self._complete()

    def take_outputs(self) -> list[ProducedRecord]:
        """All records that were sent since the last call, in order, those for internal topics included."""
        sent, self._sent = self._sent, []
        return [
            ProducedRecord(topic, key, value, timestamp, Headers(headers or ()), partition or _PARTITION)
            for topic, partition, key, value, timestamp, headers in sent
        ]

    # --- what came of it

    @property
    def internal_topics(self) -> set[str]:
        """The full names of internal topics, changelogs included, that have got a record."""
        return set(self._received_internal)

    @property
    def dropped_records_total(self) -> int:
        """How many records were skipped."""
        global_drops = 0 if self._global is None else self._global.context.dropped_records
        return self._task.metrics.dropped_records + global_drops

    def metrics(self) -> dict[str, int]:
        """The task's totals, by Kafka Streams' names."""
        totals = self._task.metrics
        return {
            "dropped-records-total": self.dropped_records_total,
            "enforced-processing-total": totals.enforced_processing,
            "process-total": totals.processed_records,
            "punctuate-total": totals.punctuations,
        }

    @property
    def stores(self) -> dict[str, Any]:
        """All stores by name, global ones included."""
        return {**self._task.stores, **({} if self._global is None else self._global.stores)}

    def store(self, name: str) -> Any:
        """A store of any kind."""
        return stores.find(self.stores, name)

    def key_value_store(self, name: str) -> Any:
        """A key-value store; a timestamped one is shown without timestamps."""
        return stores.key_value(self.stores, name)

    def timestamped_key_value_store(self, name: str) -> TimestampedKeyValueStore[Any, Any]:
        """A key-value store whose values are `ValueAndTimestamp`s, as those of tables are."""
        return stores.of_kind(self.stores, name, TimestampedKeyValueStore)

    def versioned_key_value_store(self, name: str) -> VersionedKeyValueStore[Any, Any]:
        """A versioned key-value store."""
        return stores.of_kind(self.stores, name, VersionedKeyValueStore)

    def window_store(self, name: str) -> Any:
        """A window store; a timestamped one is shown without timestamps."""
        return stores.window(self.stores, name)

    def timestamped_window_store(self, name: str) -> TimestampedWindowStore[Any, Any]:
        """A window store whose values are `ValueAndTimestamp`s, as those of windowed aggregations are."""
        return stores.of_kind(self.stores, name, TimestampedWindowStore)

    def session_store(self, name: str) -> SessionStore[Any, Any]:
        """A session store; one with headers is shown without."""
        return stores.of_kind(self.stores, name, SessionStore).for_operators()

    def timestamped_key_value_store_with_headers(self, name: str) -> TimestampedKeyValueStoreWithHeaders[Any, Any]:
        """A key-value store whose values are `ValueTimestampHeaders`."""
        return stores.of_kind(self.stores, name, TimestampedKeyValueStoreWithHeaders)

    def timestamped_window_store_with_headers(self, name: str) -> TimestampedWindowStoreWithHeaders[Any, Any]:
        """A window store whose values are `ValueTimestampHeaders`."""
        return stores.of_kind(self.stores, name, TimestampedWindowStoreWithHeaders)

    def session_store_with_headers(self, name: str) -> SessionStoreWithHeaders[Any, Any]:
        """A session store whose values are `AggregationWithHeaders`."""
        return stores.of_kind(self.stores, name, SessionStoreWithHeaders)

    # --- the end

    def close(self) -> None:
        """Close processors and stores. What a last flush forwards cannot be read any more."""
        if self._closed:
            return
        self._closed = True
        try:
            self._task.close(flush=not self._failed)
        finally:
            if self._global is not None:
                self._global.close()
            if self._task.context.state_directory is not None:
                shutil.rmtree(self._task.context.state_directory, ignore_errors=True)

    def __enter__(self) -> TopologyTestDriver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # What the test itself raised says more than what closing raises after it.
        with contextlib.suppress(Exception) if error is not None else contextlib.nullcontext():
            self.close()

    # --- inside

    @contextlib.contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._failed = True
            self._keep(self._task.take_outputs())
            raise

    def _complete(self) -> None:
        """Process until nothing is queued that can be processed now."""
        task = self._task
        self._collect()
        while task.has_records and task.is_processable(_no_lag):
            task.process_next()
            task.maybe_punctuate_stream_time()
            task.commit()
            self._collect()

    def _collect(self) -> None:
        """Take what was sent; what goes to topics that the topology reads is its next input."""
        for store in self._task.take_changes():
            if store in self._own_changelog:
                self._received_internal.add(f"{self._application_id}-{store}-changelog")
        outputs = self._task.take_outputs()
        self._keep(outputs)
        for topic, _, key, value, timestamp, headers in outputs:
            if self._task.reads(topic):
                self._enqueue(topic, key, value, timestamp, headers)
            if topic in self._global_topics:
                self._update_global(topic, key, value, timestamp, headers)

    def _keep(self, outputs: list[OutputRecord]) -> None:
        self._sent += outputs
        for output in outputs:
            topic = output[0]
            self._unread.setdefault(topic, deque()).append(output)
            if topic in self._internal_names:
                self._received_internal.add(topic)

    def _enqueue(self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: RawHeaders) -> None:
        record = (key, value, timestamp, headers or None, self._next_offset(topic))
        self._task.add_records(topic, _PARTITION, [record])

    def _update_global(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: RawHeaders
    ) -> None:
        if self._global is not None:
            record = (key, value, timestamp, headers or None, self._next_offset(topic))
            self._global.apply(topic, _PARTITION, [record])
            self._global.flush()

    def _next_offset(self, topic: str) -> int:
        offset = self._offsets.get(topic, 0)
        self._offsets[topic] = offset + 1
        return offset

    def _take(self, topic: str) -> OutputRecord | None:
        unread = self._unread.get(topic)
        return unread.popleft() if unread else None

    def _unread_sizes(self) -> dict[str, int]:
        return {topic: len(records) for topic, records in self._unread.items()}


def _no_lag(topic: str, partition: int) -> int:
    """All there is was piped in already."""
    return 0
