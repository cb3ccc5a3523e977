"""A task: some nodes of a topology, their stores and their clock, fed with records by a host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NoReturn

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError, ProductionError, StateStoreError, TopologyError
from millstream.processors.operator import Operator
from millstream.processors.punctuation import PunctuationType
from millstream.processors.user import UserOperator
from millstream.processors.user_context import HostContext
from millstream.state.store import LogEntry, StateStore
from millstream.task.context import host_context
from millstream.task.errors.failures import failing_node, processing_error
from millstream.task.errors.handling import ErrorHandling, FatalError
from millstream.task.globals import GlobalState
from millstream.task.metrics import TaskMetrics
from millstream.task.queues import QueueGroup, RecordQueue
from millstream.task.records import OutputRecord, RawRecord
from millstream.task.runner import Runner
from millstream.task.saving.progress import ProgressKeeper, decode
from millstream.task.serdes import node_serdes
from millstream.task.sink import SinkOperator
from millstream.task.source import Source
from millstream.task.stores import TaskStores, used_stores
from millstream.task.wiring import connect
from millstream.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode
from millstream.topology.topology import Topology
from millstream.topology.wrapping import check_wrapped


class Task:
    """Runs part of a topology for one partition.

    The host adds records, has them processed and takes the results. An error that is raised is the task's end.

    Args:
        topology: the whole topology.
        config: the application's configuration.
        nodes: the nodes to run, usually those of one sub-topology; None runs all that are not global.
        task_id: `<sub-topology>_<partition>`.
        context: the surroundings, if the host has its own kind.
        global_state: the global stores, which nodes may read.
        restore: called with the open stores, by name, before operators are initialised: it brings the stores to where
            another task left them (`StateStore.apply_changes`) and returns what that task's `save` said, or None.

    Raises:
        SerdeError: a source or a sink has no serde.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        *,
        nodes: Collection[str] | None = None,
        task_id: str = "0_0",
        context: HostContext | None = None,
        global_state: GlobalState | None = None,
        restore: Callable[[Mapping[str, StateStore]], bytes | None] | None = None,
    ) -> None:
        check_wrapped(topology, config)
        self.context = host_context(config, task_id, HostContext) if context is None else context
        self.config = config
        self._nodes = _chosen(topology, nodes)
        self._outputs: list[OutputRecord] = []
        self._errors = ErrorHandling(config, self.context, self._outputs)
        self._internal = frozenset(topology.internal_topics)
        self._sources: dict[str, Source] = {}
        self._operators: dict[str, Operator] = {}
        for node in self._nodes:
            self._create(node)
        connect(self._nodes, self._operators, self._sources, self._errors)
        # User code may add headers to any record, and later nodes see them: each record then needs its own.
        self._make_headers = any(isinstance(operator, UserOperator) for operator in self._operators.values())
        # Most operators are done when `process` returns: only the others are asked at every commit.
        self._drained = [one for one in self._operators.values() if type(one).drain is not Operator.drain]
        self._queues = QueueGroup()
        self._enforced = 0
        #: The operators that were initialised and are still to be closed.
        self._closing: list[Operator] = []
        self._runner = Runner(self.context, self._queues, self._operators, self._errors, self._make_headers)
        self.context.connected_stores.update(
            (node.name, frozenset(node.stores)) for node in self._nodes if isinstance(node, ProcessorNode)
        )
        if global_state is not None:
            self.context.global_stores = global_state.stores
        self._stores = TaskStores(topology, used_stores(self._nodes), self.context, config)
        self._progress = ProgressKeeper(self.context, self._queues, self._operators)
        self._stores.open()
        try:
            self._start(restore)
        except BaseException:
            self._stores.close()
            raise

    # --- input

    def source_topics(self) -> list[str]:
        """The topics it reads, by their real names; those of patterns are not known beforehand."""
        return [topic for source in self._sources.values() for topic in source.topics]

    def reads(self, topic: str) -> bool:
        """Whether one of its sources reads the topic."""
        return self._source_of(topic) is not None

    def assign(self, topic: str, partition: int) -> None:
        """Make a partition one of the task's inputs, which it may have to wait for."""
        self._queue(topic, partition)

    def add_records(self, topic: str, partition: int, records: Iterable[RawRecord]) -> None:
        """Buffer records of a partition, in order of offset."""
        try:
            self._queues.add(self._queue(topic, partition), records)
        except FatalError as fatal:
            self._fail(fatal, "process")

    def waiting(self, topic: str, partition: int) -> int:
        """How many records of a partition are buffered."""
        queue = self._queues.queues.get((topic, partition))
        return 0 if queue is None or queue.head is None else len(queue.raw) + 1

    @property
    def has_records(self) -> bool:
        """Whether anything is buffered."""
        return len(self._queues.ready) > 0

    def is_processable(self, lag: Callable[[str, int], int | None]) -> bool:
        """Whether to process now, or rather wait for data of an empty partition (`max_task_idle`).

        Args:
            lag: how many records a partition still has in its topic; None when that is not known.
        """
        ready, enforced = self._queues.is_processable(self.context.now(), self.config.max_task_idle_ms, lag)
        self._enforced += enforced
        return ready

    # --- processing

    def process_next(self) -> bool:
        """Process one record; False if none is buffered."""
        if not self._queues.ready:
            return False
        try:
            self._runner.next()
        except Exception as error:
            self._fail(error, "process")
        return True

    def process_all(self) -> int:
        """Process everything that is buffered, with stream-time punctuation; answers how many records that were."""
        before = self._runner.processed
        try:
            self._runner.all()
        except Exception as error:
            self._fail(error, "process")
        return self._runner.processed - before

    def process_until_one_is_empty(self) -> None:
        """Process, with stream-time punctuation, until a partition has nothing left that has something now.

        For so long it cannot change what `is_processable` says.
        """
        try:
            self._runner.until_one_is_empty()
        except Exception as error:
            self._fail(error, "process")

    def maybe_punctuate_stream_time(self) -> bool:
        """Call the stream-time punctuators that are due."""
        try:
            return self._runner.punctuate_stream_time()
        except Exception as error:
            self._fail(error, "punctuate")

    def maybe_punctuate_wall_clock(self) -> bool:
        """Call the wall-clock punctuators that are due."""
        try:
            return self._runner.punctuate_wall_clock()
        except Exception as error:
            self._fail(error, "punctuate")

    # --- results

    def commit(self, *, until_clean: bool = False) -> None:
        """Have operators finish what is under way, and flush the caches, which forwards what they held.

        Args:
            until_clean: leave nothing in the caches that the stores below do not have, so that the task can be saved
                and goes on the same here and elsewhere. Kafka Streams leaves what a flush wrote into caches that had
                been flushed before it to the next commit, and lets caches show what has expired.
        """
        self.context.commit_requested = False
        try:
            for operator in self._drained:
                self.context.forwarding()
                operator.drain()
            self._stores.flush()
            if until_clean:
                self._stores.settle()
        except Exception as error:
            self._fail(error, "commit")

    def take_outputs(self) -> list[OutputRecord]:
        """The records that sinks and dead-letter queues got since the last call."""
        outputs = self._outputs.copy()
        self._outputs.clear()
        return outputs

    @property
    def waiting_outputs(self) -> int:
        """How many records `take_outputs` would give."""
        return len(self._outputs)

    def take_changes(self) -> dict[str, dict[bytes, bytes | None]]:
        """The logged changes of stores since the last call."""
        return self._stores.take_changes()

    # --- moving to another process

    def save(self) -> bytes:
        """What a task elsewhere needs, beside the stores' changes, to go on as if it were this one.

        Call it between two batches, after `commit(until_clean=True)` and with the changes that `take_changes` gives.
        It has times, operators' clocks and schedules of punctuation (`millstream.task.saving.progress`).
        Not carried over are records that are still buffered (the host adds them again, from `positions` on), stores
        without logging, what user code keeps in attributes, and schedules that user code made later than in `init` of
        something else than a method of the processor.

        Raises:
            StateStoreError: a cache was not flushed.
        """
        self._check_flushed()
        return self._progress.save()

    def apply_changes(self, changes: Mapping[str, Iterable[LogEntry]], progress: bytes) -> None:
        """Come to where another copy of this task is after a batch that only the other one has processed.

        Args:
            changes: what the other one's `take_changes` gave.
            progress: what its `save` gave.

        Raises:
            StateStoreError: this one holds records or unflushed writes itself.
        """
        self._check_flushed()
        if self.has_records:
            raise StateStoreError(
                f"task {self.context.task_id} cannot take changes of another one",
                detail="it has records of its own that are not processed",
            )
        found = decode(progress)
        self._stores.apply_changes(changes)
        self._progress.restore_times(found)
        self._progress.restore_operators(found, fresh=False)

    def snapshot(self) -> dict[str, Iterator[tuple[bytes, bytes]]]:
        """Everything that logged stores hold, by store, as changes. Caches must be flushed."""
        self._check_flushed()
        return self._stores.snapshot()

    @property
    def next_wall_clock_punctuation(self) -> int | None:
        """When a wall-clock punctuator is due next, in milliseconds; None if there is none."""
        entries = self.context.punctuations[PunctuationType.WALL_CLOCK_TIME].entries
        return entries[0][0] if entries else None

    @property
    def positions(self) -> dict[tuple[str, int], int]:
        """Of each input partition, the offset of the next record to process; -1 if there was none yet."""
        return {(state.topic, state.partition): state.position for state in self._queues.states()}

    @property
    def state_stores(self) -> Mapping[str, StateStore]:
        """Its own open stores, by name, as their host sees them."""
        return self._stores.by_name

    @property
    def stores(self) -> dict[str, object]:
        """Its own open stores, by name."""
        return dict(self._stores.by_name)

    @property
    def metrics(self) -> TaskMetrics:
        """Totals so far."""
        runner = self._runner
        return TaskMetrics(self.context.dropped_records, runner.processed, runner.punctuated, self._enforced)

    def close(self, *, flush: bool = True) -> None:
        """Close the processors, flush what caches hold, close the stores.

        Args:
            flush: False after a failure, when what caches hold is better forgotten.
        """
        operators, self._closing = self._closing, []
        try:
            for operator in operators:
                operator.close()
            if flush:
                self.commit()
        finally:
            self._stores.close()

    def close_complete(self) -> dict[str, str]:
        """Close the processors and the stores, right after `take_changes`, and leave databases with all rows.

        Answers where they are, by store. None are left if a processor writes something while it is closed.
        """
        operators, self._closing = self._closing, []
        try:
            for operator in operators:
                operator.close()
            is_clean = self._stores.unflushed() is None and not self._stores.take_changes()
        except BaseException:
            self._stores.close()
            raise
        if is_clean:
            return self._stores.close_complete()
        self._stores.close()
        return {}

    # --- inside

    def _create(self, node: Node) -> None:
        if isinstance(node, SourceNode):
            internal = any(topic in self._internal for topic in node.topics)
            topics = tuple(self._real_name(topic) for topic in node.topics)
            self._sources[node.name] = Source(node, self.config, topics, internal)
        elif isinstance(node, SinkNode):
            serdes = node_serdes(node, self.config)
            self._operators[node.name] = SinkOperator(node, serdes, self._real_name, self.context, self._errors)
        else:
            operator = self._operators[node.name] = node.factory()
            operator.name = node.name

    def _start(self, restore: Callable[[Mapping[str, StateStore]], bytes | None] | None) -> None:
        saved = None if restore is None else restore(self._stores.by_name)
        progress = None if saved is None else decode(saved)
        if progress is not None:
            self._progress.restore_times(progress)
        self.context.initialising = True
        self._init_operators()
        self.context.initialising = False
        if progress is not None:
            self._progress.restore_operators(progress, fresh=True)

    def _init_operators(self) -> None:
        for operator in self._operators.values():
            if isinstance(operator, SinkOperator):
                continue
            try:
                operator.init(self.context)
            except Exception as error:
                if isinstance(error, MillstreamError):
                    raise
                primary = f"failed to initialize processor {operator.name}"
                raise processing_error(error, "init", operator.name, self.context, primary) from error
            self._closing.append(operator)

    def _real_name(self, topic: str) -> str:
        return f"{self.context.application_id}-{topic}" if topic in self._internal else topic

    def _source_of(self, topic: str) -> Source | None:
        for source in self._sources.values():
            if topic in source.topics or (source.pattern is not None and source.pattern.fullmatch(topic)):
                return source
        return None

    def _queue(self, topic: str, partition: int) -> RecordQueue:
        queue = self._queues.queues.get((topic, partition))
        if queue is None:
            source = self._source_of(topic)
            if source is None:
                raise TopologyError(
                    f"no source of task {self.context.task_id} reads topic '{topic}'",
                    detail=f"it reads {', '.join(self.source_topics()) or 'nothing'}",
                )
            queue = RecordQueue(source, topic, partition, self.context, self._errors, self._make_headers)
            self._queues.attach(queue)
        return queue

    def _check_flushed(self) -> None:
        store = self._stores.unflushed()
        if store is not None:
            raise StateStoreError(
                f"the cache of store '{store}' in task {self.context.task_id} was not flushed",
                hint="commit first, with until_clean=True",
            )

    def _fail(self, error: Exception, what: str) -> NoReturn:
        """Raise what the host is to know."""
        if isinstance(error, FatalError):
            raise error.error from error.error.__cause__
        if isinstance(error, ProductionError):
            raise error
        node = failing_node(error, self._operators)
        if not self._errors.guards_nodes:
            # The default handler has its say here, so that nothing needs to be caught on the way.
            try:
                self._errors.node_raised(node or "unknown", error, None, what)
            except FatalError as fatal:
                raise fatal.error from error
        raise processing_error(error, what, node, self.context) from error


def _chosen(topology: Topology, names: Collection[str] | None) -> list[Node]:
    if names is None:
        names = {name for part in topology.sub_topologies() if not part.is_global for name in part.nodes}
    return [node for node in topology.nodes.values() if node.name in names]
