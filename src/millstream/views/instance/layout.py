"""What the broker knows of the topics that views are made of, and the tasks that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream.kafka.admin import Admin
from millstream.views.catalogue import ViewStore
from millstream.views.instance.copies import Task


@dataclass(frozen=True)
class Layout:
    """Topics and tasks.

    Args:
        stores: the stores that can be asked.
        partitions: how many partitions each topic has.
        topic_ids: what tells each topic from another of the same name; left out where the broker does not say.
    """

    stores: tuple[ViewStore, ...]
    partitions: Mapping[str, int]
    topic_ids: Mapping[str, str]

    def tasks(self) -> list[Task]:
        """All tasks that have stores."""
        counts: dict[int, int] = {}
        for store in self.stores:
            if store.sub_topology is not None:
                count = self.partitions[store.topic]
                counts[store.sub_topology] = max(count, counts.get(store.sub_topology, 0))
        return [Task(number, partition) for number, count in sorted(counts.items()) for partition in range(count)]

    def stores_of(self, task: Task) -> list[ViewStore]:
        """The stores of a task."""
        return [
            store
            for store in self.stores
            if store.sub_topology == task.sub_topology and task.partition < self.partitions[store.topic]
        ]

    def topic_of_sub_topologies(self) -> dict[str, list[int]]:
        """One topic for each sub-topology, which has as many partitions as that has tasks, and the sub-topologies.

        The group shares out these, so that all stores of a task are on the same instance.
        """
        found: dict[str, list[int]] = {}
        for number in sorted({store.sub_topology for store in self.stores if store.sub_topology is not None}):
            topics = sorted(store.topic for store in self.stores if store.sub_topology == number)
            found.setdefault(max(topics, key=lambda topic: self.partitions[topic]), []).append(number)
        return found


def missing_topics(stores: Iterable[ViewStore], counts: Mapping[str, int]) -> list[str]:
    """The topics that are not there."""
    return sorted({store.topic for store in stores} - set(counts))


def look_up(stores: Iterable[ViewStore], admin: Admin) -> Layout | list[str]:
    """The layout, or the topics that are missing for one."""
    known = tuple(stores)
    counts = admin.partition_counts(store.topic for store in known)
    missing = missing_topics(known, counts)
    return missing or Layout(known, counts, admin.topic_ids(sorted(counts)))
