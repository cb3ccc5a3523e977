"""Several grouped streams aggregated into one table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar, overload

from millstream.dsl import prefixes
from millstream.dsl.aggregation import Group, Make, add_aggregate, session_windowed_key, time_windowed_key
from millstream.dsl.functions import checked
from millstream.dsl.grouped import KGroupedStream
from millstream.dsl.ktable import KTable
from millstream.dsl.options import Materialized
from millstream.dsl.stores import key_value_store, session_store, window_size, window_store
from millstream.dsl.stream import Place
from millstream.errors import TopologyError
from millstream.graph.nodes import CogroupMergeNode
from millstream.processors.aggregate import StreamAggregate
from millstream.processors.windows.sessions import SessionWindowAggregate
from millstream.processors.windows.sliding import SlidingWindowAggregate
from millstream.processors.windows.time_windows import TimeWindowAggregate
from millstream.records import Windowed
from millstream.serdes import Serde
from millstream.state import StoreBuilder
from millstream.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")

AnyAggregator = Callable[[Any, Any, Any], Any]


class CogroupedKStream(Generic[K, A]):
    """Grouped streams with an aggregator each, over one aggregate. Made by `KGroupedStream.cogroup`."""

    def __init__(self, parts: dict[Group, AnyAggregator]) -> None:
        self._parts = parts

    def cogroup(self, grouped: KGroupedStream[K, V], aggregator: Callable[[K, V, A], A]) -> CogroupedKStream[K, A]:
        """Add a grouped stream."""
        if not isinstance(grouped, KGroupedStream):
            raise TopologyError("cogroup needs a grouped stream", detail=f"got {type(grouped).__name__}")
        checked(aggregator, "cogroup", "key", "value", "aggregate")
        self._parts[grouped._group] = aggregator
        return self

    def aggregate(
        self, initializer: Callable[[], A], name: str | None = None, materialized: Materialized | None = None
    ) -> KTable[K, A]:
        """Fold all streams' values of each key into one aggregate."""
        checked(initializer, "the initializer of aggregate")
        options, store_name, key = _store_basics(self._parts, materialized)
        place = _first(self._parts).place
        return _add(
            self._parts,
            lambda aggregator: (
                lambda store, send_old: partial(StreamAggregate, store, initializer, aggregator, send_old=send_old)
            ),
            key_value_store(place.dsl.config, options, store_name, key, None),
            options,
            name,
        )

    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedCogroupedKStream[K, A]: ...

    @overload
    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | UnlimitedWindows
    ) -> TimeWindowedCogroupedKStream[K, A]: ...

    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | UnlimitedWindows | SessionWindows
    ) -> TimeWindowedCogroupedKStream[K, A] | SessionWindowedCogroupedKStream[K, A]:
        """Aggregate per key and window of event time."""
        if isinstance(windows, SessionWindows):
            return SessionWindowedCogroupedKStream(self._parts, windows)
        return TimeWindowedCogroupedKStream(self._parts, windows)


class TimeWindowedCogroupedKStream(Generic[K, A]):
    """Cogrouped streams in tumbling, hopping, sliding or unlimited windows."""

    def __init__(
        self, parts: dict[Group, AnyAggregator], windows: TimeWindows | SlidingWindows | UnlimitedWindows
    ) -> None:
        self._parts = parts
        self._windows = windows

    def aggregate(
        self, initializer: Callable[[], A], name: str | None = None, materialized: Materialized | None = None
    ) -> KTable[Windowed[K], A]:
        """Fold all streams' values of each key and window into one aggregate."""
        checked(initializer, "the initializer of aggregate")
        options, store_name, key = _store_basics(self._parts, materialized)
        windows = self._windows
        operator: Any = SlidingWindowAggregate if isinstance(windows, SlidingWindows) else TimeWindowAggregate
        store = window_store(
            _first(self._parts).place.dsl.config, options, store_name, windows, key, None, emit_on_close=False
        )
        return _add(
            self._parts,
            lambda aggregator: (
                lambda store, send_old: partial(
                    operator, store, windows, initializer, aggregator, send_old=send_old, emit_on_close=False
                )
            ),
            store,
            options,
            name,
            layout="window",
            grace_ms=windows.grace_ms,
            key=time_windowed_key(store, window_size(windows)),
        )


class SessionWindowedCogroupedKStream(Generic[K, A]):
    """Cogrouped streams in sessions."""

    def __init__(self, parts: dict[Group, AnyAggregator], windows: SessionWindows) -> None:
        self._parts = parts
        self._windows = windows

    def aggregate(
        self,
        initializer: Callable[[], A],
        merger: Callable[[K, A, A], A],
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[Windowed[K], A]:
        """Fold all streams' values of each session into one aggregate."""
        checked(initializer, "the initializer of aggregate")
        checked(merger, "the merger of aggregate", "key", "a", "b")
        options, store_name, key = _store_basics(self._parts, materialized)
        windows = self._windows
        store = session_store(
            _first(self._parts).place.dsl.config, options, store_name, windows, key, None, emit_on_close=False
        )
        return _add(
            self._parts,
            lambda aggregator: (
                lambda store, send_old: partial(
                    SessionWindowAggregate,
                    store,
                    windows,
                    initializer,
                    aggregator,
                    merger,
                    send_old=send_old,
                    emit_on_close=False,
                )
            ),
            store,
            options,
            name,
            layout="session",
            grace_ms=windows.gap_ms + windows.grace_ms,
            key=session_windowed_key(store),
        )


def _first(parts: dict[Group, AnyAggregator]) -> Group:
    return next(iter(parts))


def _store_basics(
    parts: dict[Group, AnyAggregator], materialized: Materialized | None
) -> tuple[Materialized, str, Serde[Any] | None]:
    options = materialized or Materialized()
    graph = _first(parts).place.dsl.graph
    store_name = options.store_name or graph.new_store_name(prefixes.COGROUP_AGGREGATE)
    key = next((group.place.key for group in parts if group.place.key is not None), None)
    return options, store_name, key


def _add(
    parts: dict[Group, AnyAggregator],
    make_for: Callable[[AnyAggregator], Make],
    store: StoreBuilder,
    options: Materialized,
    name: str | None,
    *,
    layout: str = "key_value",
    grace_ms: int | None = None,
    key: Serde[Any] | None = None,
) -> KTable[Any, Any]:
    """One aggregate a stream, all on one store, and the merge of their results."""
    dsl = _first(parts).place.dsl
    parents = {group: group.partitioned(store.name) for group in parts}
    sources = frozenset[str]().union(*(place.sources for place in parents.values()))
    dsl.graph.copartition(sources)
    aggregates = [
        add_aggregate(
            parents[group],
            dsl.name(prefixes.COGROUP_AGGREGATE, name, f"-cogroup-agg-{index}"),
            make_for(aggregator),
            store,
            layout,
            grace_ms,
        )
        for index, (group, aggregator) in enumerate(parts.items())
    ]
    merge_name = dsl.name(prefixes.COGROUP_MERGE, name, "-cogroup-merge")
    node = dsl.graph.add(
        CogroupMergeNode,
        name=merge_name,
        parents=aggregates,
        store_name=store.name,
        layout=layout,
        versioned=store.is_versioned,
    )
    place = Place(dsl, node, merge_name, key or store.key, store.value, sources)
    return KTable(place, queryable_store_name=options.store_name)
