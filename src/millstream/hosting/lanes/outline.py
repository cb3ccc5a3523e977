"""What an application is, as far as its state depends on it: noted beside its tasks, and compared at each start."""

from __future__ import annotations

from contextlib import closing
from typing import Self

import msgspec

from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.hosting.following import Shape, what_cannot_follow
from millstream.hosting.lanes.query import HostedQuery
from millstream.hosting.range_consumer import RangeConsumer
from millstream.kafka.admin import Admin
from millstream.layouts import Versioned, decode_versioned
from millstream.state import StoreBuilder

_VERSION = 1


class Outline(Versioned, array_like=True, frozen=True):
    """An application's stores and tasks.

    Args:
        application: whose it is.
        tasks: how many tasks each part of the topology has.
        stores: the part that each store belongs to.
        kinds: what the rows of stores are, where that is known.
        stride: see `HostedQuery`.
    """

    application: str
    tasks: dict[int, int]
    stores: dict[str, int]
    kinds: dict[str, str]
    stride: int

    @classmethod
    def of(cls, query: HostedQuery) -> Self:
        """The outline of an application."""
        topology = query.topology
        tasks: dict[int, int] = {}
        for task in query.tasks:
            tasks[task.sub_topology] = max(tasks.get(task.sub_topology, 0), task.partition + 1)
        stores = {
            store: part.id
            for part in topology.sub_topologies()
            if not part.is_global
            for name in part.nodes
            for store in getattr(topology.nodes[name], "stores", ())
        }
        kinds = {name: store.kind.value for name, store in topology.stores.items() if isinstance(store, StoreBuilder)}
        return cls(_VERSION, query.config.application_id, tasks, stores, kinds, query.stride)

    @property
    def key(self) -> bytes:
        """Of the record."""
        return f"{self.application}/outline".encode()

    def encode(self) -> bytes:
        """As the value of a record."""
        return msgspec.msgpack.encode(self)

    @property
    def _shape(self) -> Shape:
        return Shape(self.tasks, self.stores, self.kinds)

    def check(self, now: Outline) -> None:
        """See whether an application can go on with the state that it had with this outline.

        Raises:
            StreamsError: it cannot.
        """
        problems = what_cannot_follow(self._shape, now._shape)
        if problems:
            raise StreamsError(
                "the topology has changed in a way that its state cannot follow",
                detail="; ".join(problems),
                hint="name stores and repartitions so that they keep their places (Materialized, Grouped), undo the "
                "change (for more partitions: write to a new topic that has them), or begin anew with `millstream "
                "reset` or another application_id",
            )


def read_outline(config: StreamsConfig, topic: str, application: str) -> Outline | None:
    """What an application was when it was last started; None if it never was."""
    with closing(Admin(config)) as admin:
        ends = admin.end_offsets([(topic, 0)], committed=True)
    found: bytes | None = None
    key = f"{application}/outline".encode()
    with closing(RangeConsumer(config, from_the_first=True)) as consumer:
        for _, records in consumer.read({partition: (0, end) for partition, end in ends.items() if end}):
            for record_key, value, *_ in records:
                if record_key == key:
                    found = value
    return None if found is None else decode_versioned(found, Outline, _VERSION, "the outline of an application")
