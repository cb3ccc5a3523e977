"""All tasks of a topology in this process: what one writes to a repartition topic is another's next input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, groupby
from operator import itemgetter

from millstream.config import StreamsConfig
from millstream.hosting.transient.places import Partition
from millstream.kafka.partitioner import partition_for, partition_many
from millstream.processors.user_context import HostContext
from millstream.task.context import host_context
from millstream.task.merging import by_time
from millstream.task.records import OutputRecord, RawRecord
from millstream.task.task import Task
from millstream.topology.nodes import SinkNode, SourceNode, SubTopology
from millstream.topology.partitions import resolve_partitions
from millstream.topology.topology import Topology

#: Results that are due are not held back: somebody waits for them.
_SETTINGS = {"emit_interval_ms_outer_join": 0, "emit_interval_ms_windowed_aggregation": 0}
_TOPIC = itemgetter(0)


class _Context(HostContext):
    """The context of a task here: it knows the partitions of repartition topics."""

    counts: Mapping[str, int] = {}

    def partition_count(self, topic: str) -> int:
        return self.counts.get(topic, 1)

    def default_partition(self, topic: str, key: bytes) -> int | None:
        found = self.counts.get(topic)
        return None if found is None else partition_for(key, found)


class TaskSet:
    """The tasks of a topology. What they send to topics that no task reads goes nowhere.

    Args:
        topology: what to run; results leave it by its processors.
        config: the application's configuration.
        counts: how many partitions its source topics have.

    Raises:
        TopologyError: topics that are joined differ in their partitions.
    """

    def __init__(self, topology: Topology, config: StreamsConfig, counts: Mapping[str, int]) -> None:
        self._application_id = config.application_id
        internal = resolve_partitions(topology, counts)
        self._internal = {self._real_name(topic): number for topic, number in internal.items()}
        self._counts = {**counts, **self._internal}
        self._offsets = {topic: [count() for _ in range(number)] for topic, number in self._internal.items()}
        self._readers: dict[Partition, list[Task]] = {}
        #: The tasks of each sub-topology.
        self._parts = [list(self._tasks_of(topology, config, part, internal)) for part in _upstream_first(topology)]

    @property
    def merges(self) -> bool:
        """Whether records of several partitions meet: in a task that takes more than one, or in another's input."""
        return bool(self._internal) or any(len(task.positions) > 1 for part in self._parts for task in part)

    def add(self, partition: Partition, records: list[RawRecord]) -> None:
        """Give records to the tasks that read a partition."""
        for task in self._readers.get(partition, ()):
            task.add_records(*partition, records)

    def run(self) -> None:
        """Process everything there is.

        Raises:
            MillstreamError: processing failed.
        """
        busy = True
        while busy:  # again only where parts feed each other
            busy = False
            for part in self._parts:
                busy = self._run(part) or busy

    def punctuate(self) -> None:
        """Call what is due by wall-clock time."""
        for part in self._parts:
            for task in part:
                task.maybe_punctuate_wall_clock()
                self._send([self._outputs(task)])

    @property
    def next_punctuation(self) -> int | None:
        """When something is due by wall-clock time, in milliseconds; None if nothing is."""
        times = [task.next_wall_clock_punctuation for part in self._parts for task in part]
        return min((time for time in times if time is not None), default=None)

    def close(self) -> None:
        """Close processors and stores."""
        for part in self._parts:
            for task in part:
                task.close(flush=False)

    def _run(self, part: list[Task]) -> bool:
        """Run the tasks that have records; False if none had."""
        busy = [task for task in part if task.has_records]
        for task in busy:
            task.process_all()
        self._send([self._outputs(task) for task in busy])
        return bool(busy)

    def _outputs(self, task: Task) -> list[OutputRecord]:
        task.commit()
        task.take_changes()  # nobody rebuilds this state; they would pile up
        return task.take_outputs()

    def _send(self, outputs: list[list[OutputRecord]]) -> None:
        """Bring what several tasks wrote to those that read it."""
        sent: dict[Partition, list[list[RawRecord]]] = {}
        for written in outputs:
            by_partition: dict[Partition, list[RawRecord]] = {}
            for topic, found in groupby(written, key=_TOPIC):
                if topic in self._internal:
                    self._spread(topic, list(found), by_partition)
            for partition, records in by_partition.items():
                sent.setdefault(partition, []).append(records)
        for (topic, number), sequences in sent.items():
            offsets = self._offsets[topic][number]
            ordered = by_time(sequences)
            self.add((topic, number), [(*record[:4], offset) for record, offset in zip(ordered, offsets, strict=False)])

    def _spread(self, topic: str, records: list[OutputRecord], into: dict[Partition, list[RawRecord]]) -> None:
        chosen = partition_many([record[2] for record in records], self._internal[topic])
        for at, (_, partition, key, value, timestamp, headers) in zip(chosen, records, strict=True):
            place = (topic, at if partition is None else partition)
            into.setdefault(place, []).append((key, value, timestamp, headers, 0))

    def _tasks_of(
        self, topology: Topology, config: StreamsConfig, part: SubTopology, internal: Mapping[str, int]
    ) -> Iterator[Task]:
        nodes = [topology.nodes[name] for name in part.nodes]
        topics = {
            self._real_name(topic) if topic in internal else topic
            for node in nodes
            if isinstance(node, SourceNode)
            for topic in node.topics
        }
        for number in range(max((self._counts[topic] for topic in topics), default=0)):
            task_id = f"{part.id}_{number}"
            context = host_context(config, task_id, _Context, defaults=_SETTINGS)
            context.counts = self._internal
            task = Task(topology, config, nodes=part.nodes, task_id=task_id, context=context)
            for topic in sorted(topics):
                if number < self._counts[topic]:
                    task.assign(topic, number)
                    self._readers.setdefault((topic, number), []).append(task)
            yield task

    def _real_name(self, topic: str) -> str:
        return f"{self._application_id}-{topic}"


def source_topics(topology: Topology) -> list[str]:
    """The topics that a topology reads and does not write itself."""
    sources = [node for node in topology.nodes.values() if isinstance(node, SourceNode)]
    return sorted({topic for node in sources for topic in node.topics} - set(topology.internal_topics))


def _upstream_first(topology: Topology) -> list[SubTopology]:
    """The sub-topologies, each behind those that write what it reads; where they feed each other, by their ids."""
    left = {part.id: part for part in topology.sub_topologies() if not part.is_global}
    read: dict[int, set[str]] = {}
    written: dict[int, set[str]] = {}
    for part in left.values():
        nodes = [topology.nodes[name] for name in part.nodes]
        read[part.id] = {topic for node in nodes if isinstance(node, SourceNode) for topic in node.topics}
        written[part.id] = {node.topic for node in nodes if isinstance(node, SinkNode) and isinstance(node.topic, str)}
    ordered = []
    while left:
        free = [part for part in left if not any(written[other] & read[part] for other in left if other != part)]
        chosen = free[0] if free else min(left)
        ordered.append(left.pop(chosen))
    return ordered
