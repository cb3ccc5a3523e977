"""The outputs of one wave on their way to the producer."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.spark.markers import Marker
from millstream.spark.outputs import Outputs
from millstream.spark.plan import Slot
from millstream.task.records import OutputRecord


class Writing:
    """Hands outputs to the producer.

    Args:
        outputs: the lane's producer.
        committed: tasks whose outputs of this wave are already out.
        at_once: write as outputs come, so that they are on their way while the next records are processed; else all
            together in the end, so that a slow wave has no long transaction.
    """

    def __init__(self, outputs: Outputs, committed: set[Slot], *, at_once: bool) -> None:
        self.count = 0
        self._outputs = outputs
        self._committed = committed
        self._at_once = at_once
        self._kept: list[OutputRecord] = []

    def add(self, slot: Slot, records: list[OutputRecord]) -> None:
        """Write a task's outputs, unless they are out."""
        if not records or slot in self._committed:
            return
        self.count += len(records)
        if self._at_once:
            self._outputs.write(records)
        else:
            self._kept += records

    def commit(self, markers: Mapping[int, Marker], membership: bytes) -> None:
        """That was all; make it count. See `Outputs.commit`."""
        if self._kept:
            self._outputs.write(self._kept)
        self._outputs.commit(markers, membership)
