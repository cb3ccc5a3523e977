"""What a lane must know to do its part: the application, as the driver sends it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from millstream.changelogs import Changelog
from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.kafka.admin import Admin
from millstream.spark.plan import Plan, TaskId
from millstream.spark.state.checkpoint import marker_name
from millstream.spark.state.markers import Committed
from millstream.spark.state.origin import Origin
from millstream.topology.nodes import OffsetReset, ProcessorNode, SourceNode
from millstream.topology.topology import Topology


@dataclass(frozen=True)
class Program:
    """An application on its way to its lanes (by cloudpickle, like every function that Spark runs).

    Args:
        run_id: names this run of the application; lanes of other runs are other processes.
        topology: what to do.
        plan: when to do it.
        config: how to do it.
        lanes: how many lanes share the tasks.
        checkpoint: where tasks keep their state.
        driver: process id of the driver, if lanes run on its machine and are to end with it.
        checkpoint_id: names the checkpoint, so that progress on another one is not mistaken for progress on this one.
        markers: the partition of the progress topic for each task and wave.
        changelogs: where the changes of stores are kept in Kafka.
        whole: the ids of changelog topics that have all changes, by store; others were made when there was state.
        origin: what the checkpoint was rebuilt from; None if it has been there from the start.
    """

    run_id: str
    topology: Topology
    plan: Plan
    config: StreamsConfig
    lanes: int
    checkpoint: str
    driver: int | None
    checkpoint_id: str = ""
    markers: Mapping[str, int] = field(default_factory=dict, hash=False)
    changelogs: Mapping[str, Changelog] = field(default_factory=dict, hash=False)
    whole: Mapping[str, str] = field(default_factory=dict, hash=False)
    origin: Origin | None = None

    @property
    def progress_topic(self) -> str:
        """The topic by whose committed offsets tasks tell which batches' outputs are out."""
        return f"{self.config.application_id}-progress"

    def transactional_id(self, lane: int) -> str:
        """The transactional id of a lane: whoever takes the lane over shuts out who had it before."""
        return f"{self.config.application_id}-lane-{lane}"

    def marker(self, task_id: TaskId, wave: int) -> int:
        """The partition of the progress topic that tells how far a task's outputs of a wave are committed."""
        return self.markers[marker_name(task_id, wave)]

    @property
    def notes(self) -> tuple[str, int]:
        """The partition that has what tasks know beside the rows of their stores.

        One for all: which partition a marker has may differ from checkpoint to checkpoint.
        """
        return self.progress_topic, 0

    def committed(self, batch: int) -> Committed:
        """What stands beside the input offsets of a batch."""
        return Committed(self.checkpoint_id, self.checkpoint, batch, self.lanes)

    @property
    def has_user_code(self) -> bool:
        """Whether a processor of the user's own could schedule punctuations."""
        return any(
            isinstance(node, ProcessorNode) and node.factory().hosts_user_code for node in self.topology.nodes.values()
        )

    @property
    def is_pure(self) -> bool:
        """Whether results depend on records alone: not on a batch's time, nor on global tables, which move with it."""
        return not self.has_user_code and not self.topology.global_stores

    def source_topics(self, known: Mapping[str, int]) -> dict[str, int]:
        """The topics that tasks read, by name or by pattern, among those known, with their partition counts."""
        names = {topic for part in self.plan.parts.values() for topic in part.topics} - set(self.plan.internal)
        patterns = [
            node.pattern
            for node in self.topology.nodes.values()
            if isinstance(node, SourceNode) and node.pattern is not None
        ]
        return {
            topic: count
            for topic, count in known.items()
            if topic in names or any(pattern.fullmatch(topic) for pattern in patterns)
        }

    def reset_of(self, topic: str) -> OffsetReset:
        """Where to go on with a topic that does not have the offset to go on at."""
        return next(
            (
                node.offset_reset
                for node in self.topology.nodes.values()
                if isinstance(node, SourceNode) and topic in self.plan.topics_of(node) and node.offset_reset
            ),
            self.config.offset_reset,
        )

    def start_of(self, partition: tuple[str, int], begin: int, end: int, admin: Admin) -> int:
        """Where a partition without an offset to go on at is read from, of what is there."""
        reset = self.reset_of(partition[0])
        if isinstance(reset, timedelta):
            since = int((time.time() - reset.total_seconds()) * 1000)
            found = admin.offsets_for_times({partition: since}).get(partition)
            return end if found is None else found
        if reset == "none":
            raise StreamsError(
                f"there is no committed offset for {partition[0]}, partition {partition[1]}",
                detail="offset_reset is 'none', so the application does not choose one by itself",
                hint="commit offsets for the group, or set offset_reset to 'earliest' or 'latest'",
            )
        return end if reset == "latest" else begin

    def real_name(self, topic: str) -> str:
        """A topic's name on the broker."""
        return f"{self.config.application_id}-{topic}" if topic in self.topology.internal_topics else topic
