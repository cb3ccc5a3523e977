"""The contexts that processors of the user's own are given, and what they need of the task's context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

from millstream.durations import milliseconds
from millstream.errors import StateStoreError, StreamsError
from millstream.processors.api import (
    FixedKeyProcessorContext,
    ProcessingContext,
    ProcessorContext,
    TransformerContext,
)
from millstream.processors.context import TaskContext
from millstream.processors.punctuation import (
    Cancellable,
    Punctuations,
    PunctuationType,
    Punctuator,
    Schedule,
    first_due,
)
from millstream.records import NO_TIMESTAMP, FixedKeyRecord, Headers, Record, RecordMetadata
from millstream.serdes.serde import AnySerde


class HostContext(TaskContext):
    """The context of a task that can hold processors of the user's own."""

    def __init__(
        self,
        application_id: str = "app",
        task_id: str = "0_0",
        *,
        state_directory: Path | None = None,
        cache_max_bytes: int = 0,
        store_memory_max_bytes: int = 0,
        config: Mapping[str, Any] | None = None,
        key_serde: AnySerde | None = None,
        value_serde: AnySerde | None = None,
    ) -> None:
        super().__init__(
            application_id,
            task_id,
            state_directory=state_directory,
            cache_max_bytes=cache_max_bytes,
            store_memory_max_bytes=store_memory_max_bytes,
            config=config,
        )
        self.key_serde = key_serde
        self.value_serde = value_serde
        self.punctuations = {type_: Punctuations() for type_ in PunctuationType}
        #: True while operators are initialised. Schedules made then are made again in whatever task goes on from here.
        self.initialising = False
        #: Node to the schedules it made then, in order.
        self.initial_schedules: dict[str, list[Schedule]] = {}
        #: Set by a processor's `commit()`; whoever commits resets it.
        self.commit_requested = False
        #: Node to the names of the stores it may use.
        self.connected_stores: dict[str, frozenset[str]] = {}
        #: Stores that any node may read.
        self.global_stores: Mapping[str, Any] = {}

    def store(self, name: str) -> Any:
        """An open store of this task, or a global one."""
        if name in self.global_stores:
            return self.global_stores[name]
        return super().store(name)

    def partition_count(self, topic: str) -> int:
        """How many partitions an output topic has, for partitioners; hosts with real topics override it."""
        return 1

    def default_partition(self, topic: str, key: bytes) -> int | None:
        """Where a record with that key goes; None leaves it to the producer. Hosts with real topics override it.

        Sinks ask for windowed keys only: the producer sees their bytes with the window, and Kafka Streams chooses the
        partition without it.
        """
        return None


class ReadOnlyStore:
    """A store that can be looked at only."""

    _WRITES = frozenset(
        {"apply_changes", "close", "delete", "flush", "init", "put", "put_all", "put_if_absent", "remove",
         "take_changes", "write"}
    )  # fmt: skip

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, attribute: str) -> Any:
        if attribute in self._WRITES:
            raise StateStoreError(
                f"global store '{self._store.name}' is read-only here",
                detail=f"a processor used its '{attribute}'",
                hint="write to the store's topic instead",
            )
        return getattr(self._store, attribute)


class NodeContext(ProcessingContext):
    """What all contexts of one node's user code have in common.

    Args:
        task: the task's context.
        node: the node's name.
        punctuate: calls a punctuator on behalf of the node.
    """

    def __init__(self, task: HostContext, node: str, punctuate: Callable[[Punctuator, int], None]) -> None:
        self._task = task
        self._node = node
        self._punctuate = punctuate

    @property
    def application_id(self) -> str:
        return self._task.application_id

    @property
    def task_id(self) -> str:
        return self._task.task_id

    @property
    def state_dir(self) -> Path | None:
        return self._task.state_directory

    @property
    def key_serde(self) -> AnySerde | None:
        return self._task.key_serde

    @property
    def value_serde(self) -> AnySerde | None:
        return self._task.value_serde

    @property
    def app_configs(self) -> Mapping[str, Any]:
        return self._task.config

    def record_metadata(self) -> RecordMetadata | None:
        task = self._task
        if task.topic is None and task.timestamp == NO_TIMESTAMP:
            return None
        return RecordMetadata(task.topic, task.partition, task.offset)

    def state_store(self, name: str) -> Any:
        task = self._task
        if name in task.connected_stores.get(self._node, ()):
            return task.store(name)
        if name in task.global_stores:
            return ReadOnlyStore(task.store(name))
        raise StateStoreError(
            f"processor '{self._node}' has no state store '{name}'",
            detail=f"connected to it: {', '.join(sorted(task.connected_stores.get(self._node, ()))) or 'none'}",
            hint="name the store in process(supplier, 'store'), or connect it with add_state_store(builder, processor)",
        )

    def schedule(
        self, interval: timedelta, type_: PunctuationType, callback: Punctuator, start: datetime | None = None
    ) -> Cancellable:
        every = milliseconds(interval, "interval", minimum=1)
        punctuate = self._punctuate
        schedule = Schedule(self._node, every, lambda now: punctuate(callback, now))
        task = self._task
        now = task.stream_time if type_ is PunctuationType.STREAM_TIME else task.now()
        anchor = None if start is None else int(start.timestamp() * 1000)
        task.punctuations[type_].add(first_due(type_, every, now, anchor), schedule)
        if task.initialising:
            task.initial_schedules.setdefault(self._node, []).append(schedule)
        return schedule

    def commit(self) -> None:
        self._task.commit_requested = True

    def current_stream_time_ms(self) -> int:
        return self._task.stream_time

    def current_system_time_ms(self) -> int:
        return self._task.now()


class _ForwardingContext(NodeContext):
    """The context of a node that forwards."""

    def __init__(
        self,
        task: HostContext,
        node: str,
        punctuate: Callable[[Punctuator, int], None],
        forward: Callable[[Any, str | None], None],
    ) -> None:
        super().__init__(task, node, punctuate)
        self._forward = forward


class RuntimeProcessorContext(_ForwardingContext, ProcessorContext[Any, Any]):
    """The context of a `Processor` in a task."""

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        self._forward(record, child)


class RuntimeFixedKeyContext(_ForwardingContext, FixedKeyProcessorContext[Any, Any]):
    """The context of a `FixedKeyProcessor` in a task."""

    def forward(self, record: FixedKeyRecord[Any, Any], child: str | None = None) -> None:
        if type(record) is not FixedKeyRecord:
            raise StreamsError(
                f"'{self._node}' cannot change keys",
                detail=f"it forwarded a {type(record).__name__}",
                hint="forward record.with_value(...), or use process() instead of process_values()",
            )
        self._forward(record, child)


class RuntimeTransformerContext(NodeContext, TransformerContext):
    """The context of a `ValueTransformer` in a task."""

    @property
    def timestamp(self) -> int:
        return self._task.timestamp

    @property
    def headers(self) -> Headers:
        headers = self._task.headers
        if headers is None:
            headers = self._task.headers = Headers()
        return headers

    def forward(self, *_: Any) -> NoReturn:
        """Not possible: the result is what `transform` returns."""
        raise StreamsError(
            f"'{self._node}' cannot forward",
            detail="it transforms the values of a table, one result for each",
            hint="return the value, or use to_stream().process()",
        )


def transformer_context(task: TaskContext, node: str) -> TransformerContext:
    """The context for a `ValueTransformer` that runs in that node."""
    if not isinstance(task, HostContext):
        raise StreamsError("user code needs a host context", detail=f"node '{node}' got a {type(task).__name__}")
    return RuntimeTransformerContext(task, node, lambda callback, now: callback(now))
