"""When an application has processed what was there at its start."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from millstream.config import StreamsConfig
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
        self._outside = query.external_inputs
        self._between = [at for task in query.tasks for at in task.inputs if at not in set(self._outside)]
        self._all = {task.name for task in query.tasks}
        self._wanted: dict[Partition, int] | None = None
        self._config = query.config

    def is_done(self, lanes: Iterable[Figures], config: StreamsConfig) -> bool:
        """Whether everything is processed, by what lanes tell."""
        told = list(lanes)
        with closing(Admin(config)) as admin:
            if self._wanted is None:
                self._wanted = admin.end_offsets(self._outside, committed=True)
            if not all(lane.is_settled for lane in told) or {name for lane in told for name in lane.tasks} != self._all:
                return False
            while self._is_reached(told):
                ends = admin.end_offsets(self._between, committed=True)
                if all(self._wanted.get(at) == end for at, end in ends.items()):
                    return True
                self._wanted |= ends
        return False

    def _is_reached(self, told: list[Figures]) -> bool:
        if self._wanted is None:
            return False
        reached = {name: offset for lane in told for name, offset in lane.reached.items()}
        return all(
            reached.get(f"{topic}-{partition}", -1) >= end for (topic, partition), end in self._wanted.items() if end
        )
