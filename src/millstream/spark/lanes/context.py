"""What a task on Spark knows of its surroundings."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from millstream.kafka.partitioner import partition_for
from millstream.processors.user_context import HostContext
from millstream.spark.plan import TaskId
from millstream.spark.program import Program


class LaneContext(HostContext):
    """The context of a task on Spark: the batch's clock, and the partitions of topics."""

    plan_partitions: Mapping[str, int] = {}
    batch_time: int = 0

    def now(self) -> int:
        """The batch's time, which is the same when a batch is run again."""
        return self.batch_time

    def partition_count(self, topic: str) -> int:
        """How many partitions a topic has; 1 for one that is not known."""
        return self.plan_partitions.get(topic, 1)

    def default_partition(self, topic: str, key: bytes) -> int | None:
        """Where Kafka's partitioner puts a key."""
        count = self.plan_partitions.get(topic)
        return None if count is None else partition_for(key, count)


def state_directory(program: Program, task_id: TaskId) -> Path:
    """Where a task's persistent stores keep their files while a lane works on them."""
    base = program.config.state_dir or Path(tempfile.gettempdir()) / "millstream"
    return Path(base) / program.config.application_id / task_id.name
