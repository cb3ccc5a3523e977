"""A lane's copy of a query's global tables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from millstream.errors import MillstreamError
from millstream.hosting.lanes.query import HostedQuery
from millstream.hosting.range_consumer import RangeConsumer
from millstream.kafka.admin import Admin, Partition
from millstream.task.globals import GlobalState
from millstream.task.records import RawRecord
from millstream.topology.nodes import OffsetReset


class GlobalTables:
    """Made with all that is in their topics, which may take long; what comes later is added as it comes.

    Args:
        query: whose tables they are.
        on_lost: is told when a topic cannot be read any more.
    """

    def __init__(self, query: HostedQuery, on_lost: Callable[[GlobalTables, MillstreamError], None]) -> None:
        self.query = query
        self._on_lost = on_lost
        self.state = GlobalState(query.topology, query.config)
        with closing(Admin(query.config)) as admin:
            #: Where they go on to read; see `inputs.Reader`.
            self.next: dict[Partition, int] = admin.end_offsets(query.global_inputs, committed=True)
        with closing(RangeConsumer(query.config, from_the_first=True)) as consumer:
            for partition, records in consumer.read({at: (0, end) for at, end in self.next.items() if end}):
                self.add(partition, records)

    def reset_of(self, topic: str) -> OffsetReset:
        """All that there is belongs to a table."""
        return "earliest"

    def moved(self, partition: Partition) -> None:
        """It goes on elsewhere in a partition."""

    def lost(self, error: MillstreamError) -> None:
        """They cannot go on."""
        self._on_lost(self, error)

    def add(self, partition: Partition, records: list[RawRecord]) -> int:
        """Take records; none of them is for a task."""
        self.state.apply(*partition, records)
        return 0

    def close(self) -> None:
        """Let them go."""
        self.state.close()
