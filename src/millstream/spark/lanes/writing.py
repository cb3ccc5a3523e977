"""The outputs of one wave on their way to the producer."""

from __future__ import annotations

from confluent_kafka import TopicPartition

from millstream.errors import ProductionError
from millstream.hosting.producing.refusals import Refusal, told
from millstream.hosting.producing.sure_writing import SureWriting
from millstream.spark.lanes.producer import LaneProducer
from millstream.spark.plan import TaskId
from millstream.spark.program import Program
from millstream.task.errors.handling import asks_about_refused
from millstream.task.records import OutputRecord


class Writing:
    """Hands outputs to the producer, but for those that are out already.

    Args:
        program: the application.
        outputs: the lane's producer.
        committed: tasks whose outputs of this wave are already out.
        at_once: write as outputs come, so that they are on their way while the next records are processed; else all
            together in the end, so that a slow wave has no long transaction.
    """

    def __init__(self, program: Program, outputs: LaneProducer, committed: set[TaskId], *, at_once: bool) -> None:
        self._program = program
        self._outputs = outputs
        self._committed = committed
        self._at_once = at_once
        self._sure = SureWriting(outputs, self._told, asks=asks_about_refused(program.config))
        self._later: list[OutputRecord] = []

    @property
    def count(self) -> int:
        """How many records were written, or will be."""
        return self._sure.count + len(self._later)

    def add(self, task_id: TaskId, records: list[OutputRecord]) -> None:
        """Write a task's outputs, unless they are out."""
        if not records or task_id in self._committed:
            return
        if self._at_once:
            self._sure.write(records)
        else:
            self._later += records

    def commit(self, offsets: list[TopicPartition], membership: bytes) -> None:
        """That was all; make it count. See `LaneProducer.commit`."""
        if self._later:
            records, self._later = self._later, []
            self._sure.write(records)
        self._sure.commit(lambda: self._outputs.commit(offsets, membership))

    def _told(self, refusal: Refusal) -> ProductionError:
        return told(refusal, self._program.config, [self._program.topology])
