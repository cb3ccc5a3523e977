"""The contexts that processors of the user's own are given, and what they need of the task's context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any, NoReturn

from millstream.durations import milliseconds
from millstream.errors import StateStoreError, StreamsError, describe_callable
from millstream.processors.api import (
    FixedKeyProcessorContext,
    ProcessingContext,
    ProcessorContext,
    TransformerContext,
)
from millstream.processors.callbacks import found_by, name_of
from millstream.processors.context import TaskContext, log
from millstream.processors.punctuation import (
    CallName,
    Punctuations,
    PunctuationType,
    Punctuator,
    Schedule,
    Scheduled,
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
        #: Node to the contexts of its user code, in the order they were made.
        self.user_contexts: dict[str, list[NodeContext]] = {}
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
        processor: the user's object, whose methods are found again in other processes.
        punctuate: calls a punctuator on behalf of the node.
    """

    def __init__(
        self, task: HostContext, node: str, processor: object, punctuate: Callable[[Punctuator, int], None]
    ) -> None:
        self._task = task
        self._node = node
        self._processor = processor
        self._punctuate = punctuate
        self._warned = False
        contexts = task.user_contexts.setdefault(node, [])
        self._number = len(contexts)
        contexts.append(self)

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
    ) -> Scheduled:
        every = milliseconds(interval, "interval", minimum=1)
        task = self._task
        schedule = self.make_schedule(every, type_, callback, name_of(callback, self._processor))
        now = task.stream_time if type_ is PunctuationType.STREAM_TIME else task.now()
        anchor = None if start is None else int(start.timestamp() * 1000)
        task.punctuations[type_].add(first_due(type_, every, now, anchor), schedule)
        if task.initialising:
            made = task.initial_schedules.setdefault(self._node, [])
            schedule.place = sum(other.name is None for other in made)
            made.append(schedule)
        elif schedule.name is None and not self._warned:
            self._warned = True
            log.warning(
                "node '%s' of task %s scheduled %s after init: that schedule ends when the task moves or is restarted. "
                "Schedule a method of the processor, or functools.partial of one with plain arguments",
                self._node, task.task_id, describe_callable(callback),
            )  # fmt: skip
        return schedule

    @property
    def schedules(self) -> list[Scheduled]:
        found: list[Scheduled] = []
        for punctuations in self._task.punctuations.values():
            waiting = (schedule for _, schedule in sorted(punctuations.entries, key=itemgetter(0)))
            for schedule in (punctuations.running, *waiting):
                if schedule is not None and self._made(schedule) and not schedule.cancelled:
                    found.append(schedule)
        return found

    def _made(self, schedule: Schedule) -> bool:
        return schedule.node == self._node and schedule.owner == self._number

    def make_schedule(
        self, interval_ms: int, type_: PunctuationType, callback: Punctuator, name: CallName | None
    ) -> Schedule:
        """A schedule of this node that is not due yet."""
        punctuate = self._punctuate
        return Schedule(
            self._node, self._number, interval_ms, type_, callback, name, lambda now: punctuate(callback, now)
        )

    def schedule_again(self, interval_ms: int, type_: PunctuationType, name: CallName) -> Schedule | None:
        """A schedule that user code made in another process; None if its callback is not there any more."""
        callback = found_by(name, self._processor)
        return None if callback is None else self.make_schedule(interval_ms, type_, callback, name)

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
        processor: object,
        punctuate: Callable[[Punctuator, int], None],
        forward: Callable[[Any, str | None], None],
    ) -> None:
        super().__init__(task, node, processor, punctuate)
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


def transformer_context(task: TaskContext, node: str, transformer: object) -> TransformerContext:
    """The context for a `ValueTransformer` that runs in that node."""
    if not isinstance(task, HostContext):
        raise StreamsError("user code needs a host context", detail=f"node '{node}' got a {type(task).__name__}")
    return RuntimeTransformerContext(task, node, transformer, lambda callback, now: callback(now))
