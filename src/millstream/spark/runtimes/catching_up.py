"""When an application has processed what was there at its start."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

from millstream.hosting.lanes.messages import Figures
from millstream.hosting.lanes.query import HostedQuery
from millstream.kafka.admin import Admin, Partition


class CatchingUp:
    """Knows how far inputs are to be read, and sees whether they are.

    What lies between two parts of a topology grows while the first one works. So it is looked at once all is done that
    is known of, and again: if it has not grown, nothing was under way.

    Args:
        query: the application.
    """

    def __init__(self, query: HostedQuery) -> None:
        self._config = query.config
        outside = query.external_inputs
        topics = {topic for topic, _ in outside}
        self._between = [at for task in query.tasks for at in task.inputs if at[0] not in topics]
        self._tasks = {task.name for task in query.tasks}
        self._wanted = self._ends(outside)

    def is_done(self, told: Collection[Figures]) -> bool:
        """Whether everything is processed, by what lanes tell."""
        if not all(lane.is_settled for lane in told) or {name for lane in told for name in lane.tasks} != self._tasks:
            return False
        while self._is_reached(told):
            ends = self._ends(self._between)
            if all(self._wanted.get(at) == end for at, end in ends.items()):
                return True
            self._wanted |= ends
        return False

    def _ends(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        with closing(Admin(self._config)) as admin:
            return admin.end_offsets(partitions, committed=True)

    def _is_reached(self, told: Collection[Figures]) -> bool:
        reached = {name: offset for lane in told for name, offset in lane.reached.items()}
        return all(
            reached.get(f"{topic}-{partition}", -1) >= end for (topic, partition), end in self._wanted.items() if end
        )
