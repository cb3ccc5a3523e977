"""What all aggregations of a grouped stream have in common: their node, behind a repartition if one is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.dsl.place import Place, repartitioned
from millstream.dsl.streams.ktable import KTable
from millstream.dsl.unknown import wrapped
from millstream.errors import TopologyError
from millstream.graph.nodes import AggregateNode
from millstream.processors.operator import OperatorFactory
from millstream.serdes import Serde
from millstream.serdes.windowed import SessionWindowedSerde, TimeWindowedSerde
from millstream.state import StoreBuilder
from millstream.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows

#: Makes an operator's factory, told the store's name and whether old values are wanted.
Make = Callable[[str, bool], OperatorFactory]


class Group:
    """A grouped stream on its way to aggregations."""

    def __init__(self, place: Place, *, repartition_needed: bool, name: str | None) -> None:
        self.place = place
        self.repartition_needed = repartition_needed
        self.name = name
        # One topic serves all aggregations of a grouping that the user named.
        self._repartitioned: Place | None = None

    def partitioned(self, store_name: str) -> Place:
        """Where an aggregation can read the group: equal keys in one partition."""
        place = self.place
        if not self.repartition_needed:
            return place
        if self._repartitioned is not None and self.name is not None:
            place.dsl.graph.new_repartition_names(self.name)  # the indices are used up all the same
            place.dsl.graph.use_again(self._repartitioned.node)
        else:
            self._repartitioned = repartitioned(place, self.name or store_name, place.key, place.value)
        return self._repartitioned


def add_aggregate(parent: Place, name: str, make: Make, store: StoreBuilder, layout: str, grace_ms: int | None) -> int:
    """Add an aggregation's node."""
    return parent.dsl.graph.add(
        AggregateNode,
        name=name,
        parents=(parent.node,),
        make=lambda send_old: make(store.name, send_old),
        store=store,
        layout=layout,
        grace_ms=grace_ms,
        versioned=store.is_versioned,
    )


def aggregated_table(
    group: Group,
    name: str,
    make: Make,
    store: StoreBuilder,
    queryable: str | None,
    *,
    key: Serde[Any],
    value: Serde[Any],
    layout: str = "key_value",
    grace_ms: int | None = None,
) -> KTable[Any, Any]:
    """The table that an aggregation gives, with the serdes of its keys, windowed or not, and values."""
    parent = group.partitioned(store.name)
    node = add_aggregate(parent, name, make, store, layout, grace_ms)
    place = Place(parent.dsl, node, name, key, value, parent.sources)
    return KTable(place, queryable_store_name=queryable)


def time_windowed_key(key: Serde[Any], size_ms: int) -> Serde[Any]:
    """The serde of a time-windowed table's keys."""
    return wrapped(lambda inner: TimeWindowedSerde(inner, size_ms), key)


def session_windowed_key(key: Serde[Any]) -> Serde[Any]:
    """The serde of a session-windowed table's keys."""
    return wrapped(SessionWindowedSerde, key)


def check_windows(windows: object) -> None:
    """Windows that an aggregation can use; those of joins are not."""
    if not isinstance(windows, TimeWindows | SlidingWindows | SessionWindows | UnlimitedWindows):
        raise TopologyError(
            "windowed_by needs windows",
            detail=f"got {windows!r}",
            hint="give TimeWindows, SlidingWindows, SessionWindows or UnlimitedWindows",
        )


def count_one(key: Any, value: Any, count: int) -> int:
    """The aggregator of `count`."""
    return count + 1


def zero() -> int:
    """The initializer of `count`."""
    return 0


def nothing() -> None:
    """The initializer of a windowed `reduce`: its first value is its first aggregate."""


def reducing(reducer: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """A reducer as an aggregator."""

    def aggregator(key: Any, value: Any, aggregate: Any) -> Any:
        return value if aggregate is None else reducer(aggregate, value)

    return aggregator
