"""A lane's copy of the global tables."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.hosting.range_consumer import RangeConsumer
from millstream.spark.plan import Partition
from millstream.spark.program import Program
from millstream.task.globals import GlobalState


class GlobalTables:
    """Kept up to the offsets that the driver noted for a batch, so that a batch sees the same when it is run again."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.state: GlobalState | None = None
        if program.topology.global_stores:
            self.state = GlobalState(program.topology, program.config)
        self._inputs: RangeConsumer | None = None
        self._position: dict[Partition, int] = {}

    def advance(self, ends: Mapping[Partition, int]) -> bool:
        """Apply the records before these offsets; True if the tables had to be built anew for that."""
        if self.state is None or not ends:
            return False
        anew = any(self._position.get(partition, 0) > end for partition, end in ends.items())
        if anew:
            self._begin_anew()
        ranges = {
            partition: (self._position.get(partition, 0), end)
            for partition, end in ends.items()
            if self._position.get(partition, 0) < end
        }
        if not ranges:
            return anew
        if self._inputs is None:
            self._inputs = RangeConsumer(self._program.config, from_the_first=True)
        for (topic, partition), records in self._inputs.read(ranges):
            self.state.apply(topic, partition, records)
        self._position.update({partition: end for partition, (_, end) in ranges.items()})
        return anew

    def close(self) -> None:
        """Give everything back."""
        if self._inputs is not None:
            self._inputs.close()
        if self.state is not None:
            self.state.close()

    def _begin_anew(self) -> None:
        """This copy knows too much: an earlier batch is run again."""
        if self.state is not None:
            self.state.close()
        self.state = GlobalState(self._program.topology, self._program.config)
        self._position.clear()
