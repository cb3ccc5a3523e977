"""What a task of a host on Kafka knows of its surroundings."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.kafka.partitioner import partition_for
from millstream.processors.user_context import HostContext

#: Kafka Streams looks for closed windows at most once a second, by the wall clock, so that what is closed may wait for
#: a record that comes later.
NO_THROTTLE = {"emit_interval_ms_windowed_aggregation": 0, "emit_interval_ms_outer_join": 0}


class PlacedContext(HostContext):
    """The context of a task that writes to topics with several partitions."""

    #: How many partitions topics have, by their real names.
    partitions: Mapping[str, int] = {}

    def partition_count(self, topic: str) -> int:
        """How many partitions a topic has; 1 for one that is not known."""
        return self.partitions.get(topic, 1)

    def default_partition(self, topic: str, key: bytes) -> int | None:
        """Where Kafka's partitioner puts a key."""
        count = self.partitions.get(topic)
        return None if count is None else partition_for(key, count)
