"""Work that is done before it is asked for.

Between two batches Spark writes its logs, asks for offsets and plans, and lanes have nothing to do. So they go on with
records that the next batch is guaranteed to take, as admission said with the last one. What comes of it is kept back
until the batch is there. Should it turn out to be another batch after all, the tasks are let go and read again from
their files: they are then as they were, and nothing was written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.hosting.range_consumer import RangeConsumer
from millstream.spark.lanes.versioned_task import VersionedTask
from millstream.spark.plan import Partition, TaskId
from millstream.spark.state.statefiles import Version
from millstream.task.records import OutputRecord

log = logging.getLogger("millstream.spark")

#: Few enough not to keep the next batch waiting.
_CHUNK = 2_000


@dataclass
class Done:
    """What was done of one partition."""

    task_id: TaskId
    start: int
    end: int
    count: int = 0
    outputs: list[OutputRecord] = field(default_factory=list)


class WorkAhead:
    """What a lane does ahead.

    Args:
        task_ids: the lane's tasks.
    """

    def __init__(self, task_ids: Mapping[TaskId, VersionedTask]) -> None:
        self._tasks = task_ids
        self._after: Version | None = None
        #: Up to where the next batch is guaranteed to go.
        self._guaranteed: dict[Partition, int] = {}
        self._done: dict[Partition, Done] = {}
        #: How long the work took.
        self._seconds = 0.0

    def allow(
        self, after: Version, takers: Mapping[Partition, TaskId], guaranteed: Mapping[Partition, tuple[int, int]]
    ) -> None:
        """From now on there may be work.

        Args:
            after: the last wave; the next is the first of the next batch.
            takers: partitions that are all that a task takes.
            guaranteed: of each partition where the next batch starts, and up to where it goes at least.
        """
        self._after = after
        self._seconds = 0.0
        self._done = {}
        self._guaranteed = {}
        for partition, (start, end) in guaranteed.items():
            if partition in takers and start < end:
                self._guaranteed[partition] = end
                self._done[partition] = Done(takers[partition], start, start)

    def work(self, inputs: RangeConsumer) -> bool:
        """Do a little; False if there is nothing to do."""
        for partition, end in self._guaranteed.items():
            done = self._done[partition]
            records = inputs.take(partition, done.end, end, _CHUNK)
            if records:
                begun = time.perf_counter()
                try:
                    done.outputs += self._tasks[done.task_id].process_ahead({partition: records})
                except Exception as error:
                    # It is met again when its batch is there, and told then.
                    log.debug("work ahead failed: %s", error)
                    self._let_go()
                    return False
                done.end = inputs.position(partition)
                done.count += len(records)
                self._seconds += time.perf_counter() - begun
                return True
        return False

    def claim(
        self, version: Version, attempt: int, ranges: Mapping[Partition, tuple[int, int]]
    ) -> tuple[dict[Partition, Done], float]:
        """What was done of the first wave of a batch, which is now to be run, and how long that took."""
        done = {partition: found for partition, found in self._done.items() if found.count}
        fits = (
            self._after is not None
            and version == Version(self._after.batch + 1, 0)
            and attempt == 0
            and all(
                partition in ranges and ranges[partition][0] == found.start and ranges[partition][1] >= found.end
                for partition, found in done.items()
            )
        )
        if not fits:
            self._let_go()
            return {}, 0.0
        self._done, self._guaranteed = {}, {}
        return done, self._seconds

    def _let_go(self) -> None:
        """Forget what was done; the tasks know that they are not clean."""
        self._done, self._guaranteed = {}, {}
