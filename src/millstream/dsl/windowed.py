"""Grouped streams cut into windows of event time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from millstream.dsl import prefixes
from millstream.dsl.aggregation import (
    Group,
    aggregated_table,
    count_one,
    nothing,
    reducing,
    session_windowed_key,
    time_windowed_key,
    zero,
)
from millstream.dsl.functions import checked
from millstream.dsl.ktable import KTable
from millstream.dsl.options import Materialized
from millstream.dsl.stores import session_store, window_size, window_store
from millstream.errors import ArgumentError
from millstream.processors.windows.sessions import SessionWindowAggregate
from millstream.processors.windows.sliding import SlidingWindowAggregate
from millstream.processors.windows.time_windows import TimeWindowAggregate
from millstream.records import Windowed
from millstream.serdes import Serde, Serdes
from millstream.windows import EmitStrategy, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class TimeWindowedKStream(Generic[K, V]):
    """A grouped stream in tumbling, hopping, sliding or unlimited windows. Made by `KGroupedStream.windowed_by`."""

    def __init__(
        self,
        group: Group,
        windows: TimeWindows | SlidingWindows | UnlimitedWindows,
        emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
    ) -> None:
        self._group = group
        self._windows = windows
        self._emit = emit

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream[K, V]:
        """When results are passed on: at every update, or once when the window closes."""
        if strategy is EmitStrategy.ON_WINDOW_CLOSE and isinstance(self._windows, UnlimitedWindows):
            raise ArgumentError("ON_WINDOW_CLOSE emit strategy cannot be used for UnlimitedWindows")
        return TimeWindowedKStream(self._group, self._windows, strategy)

    def count(self, name: str | None = None, materialized: Materialized | None = None) -> KTable[Windowed[K], int]:
        """How many records each key has in each window."""
        if materialized is not None and materialized.store_name is None:
            self._group.place.dsl.graph.new_store_name(prefixes.AGGREGATE)  # as in KGroupedStream.count
        return self._aggregate(zero, count_one, prefixes.AGGREGATE, name, materialized, Serdes.long)

    def reduce(
        self, reducer: Callable[[V, V], V], name: str | None = None, materialized: Materialized | None = None
    ) -> KTable[Windowed[K], V]:
        """Combine each key's values in each window: `reducer(aggregate, value)`."""
        checked(reducer, "reduce", "aggregate", "value")
        value = self._group.place.value
        return self._aggregate(nothing, reducing(reducer), prefixes.REDUCE, name, materialized, value)

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[Windowed[K], A]:
        """Fold each key's values in each window: `aggregator(key, value, aggregate)`."""
        checked(initializer, "the initializer of aggregate")
        checked(aggregator, "the aggregator of aggregate", "key", "value", "aggregate")
        return self._aggregate(initializer, aggregator, prefixes.AGGREGATE, name, materialized, None)

    def _aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        prefix: str,
        name: str | None,
        materialized: Materialized | None,
        value: Serde[Any] | None,
    ) -> KTable[Any, Any]:
        options = materialized or Materialized()
        place, windows = self._group.place, self._windows
        on_close = self._emit is EmitStrategy.ON_WINDOW_CLOSE
        store_name = options.store_name or place.dsl.graph.new_store_name(prefix)
        node_name = place.dsl.name(prefix, name)
        store = window_store(place.dsl.config, options, store_name, windows, place.key, value, emit_on_close=on_close)
        operator: Any = SlidingWindowAggregate if isinstance(windows, SlidingWindows) else TimeWindowAggregate
        return aggregated_table(
            self._group,
            node_name,
            lambda store, send_old: partial(
                operator, store, windows, initializer, aggregator, send_old=send_old, emit_on_close=on_close
            ),
            store,
            options.store_name,
            layout="window",
            grace_ms=windows.grace_ms,
            key=time_windowed_key(store, window_size(windows)),
        )


class SessionWindowedKStream(Generic[K, V]):
    """A grouped stream in sessions. Made by `KGroupedStream.windowed_by`."""

    def __init__(
        self, group: Group, windows: SessionWindows, emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    ) -> None:
        self._group = group
        self._windows = windows
        self._emit = emit

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        """When results are passed on: at every update, or once when the session closes."""
        return SessionWindowedKStream(self._group, self._windows, strategy)

    def count(self, name: str | None = None, materialized: Materialized | None = None) -> KTable[Windowed[K], int]:
        """How many records each session has."""
        if materialized is not None and materialized.store_name is None:
            self._group.place.dsl.graph.new_store_name(prefixes.AGGREGATE)  # as in KGroupedStream.count
        return self._aggregate(
            zero,
            count_one,
            lambda key, one, two: one + two,
            prefixes.AGGREGATE,
            name,
            materialized,
            Serdes.long,
        )

    def reduce(
        self, reducer: Callable[[V, V], V], name: str | None = None, materialized: Materialized | None = None
    ) -> KTable[Windowed[K], V]:
        """Combine each session's values: `reducer(aggregate, value)`."""
        checked(reducer, "reduce", "aggregate", "value")
        aggregator = reducing(reducer)
        return self._aggregate(
            nothing,
            aggregator,
            lambda key, one, two: aggregator(key, two, one),
            prefixes.REDUCE,
            name,
            materialized,
            self._group.place.value,
        )

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        merger: Callable[[K, A, A], A],
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[Windowed[K], A]:
        """Fold each session's values; `merger(key, a, b)` makes one aggregate of two when sessions grow together."""
        checked(initializer, "the initializer of aggregate")
        checked(aggregator, "the aggregator of aggregate", "key", "value", "aggregate")
        checked(merger, "the merger of aggregate", "key", "a", "b")
        return self._aggregate(initializer, aggregator, merger, prefixes.AGGREGATE, name, materialized, None)

    def _aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        merger: Callable[[Any, Any, Any], Any],
        prefix: str,
        name: str | None,
        materialized: Materialized | None,
        value: Serde[Any] | None,
    ) -> KTable[Any, Any]:
        options = materialized or Materialized()
        place, windows = self._group.place, self._windows
        on_close = self._emit is EmitStrategy.ON_WINDOW_CLOSE
        store_name = options.store_name or place.dsl.graph.new_store_name(prefix)
        node_name = place.dsl.name(prefix, name)
        store = session_store(place.dsl.config, options, store_name, windows, place.key, value, emit_on_close=on_close)
        return aggregated_table(
            self._group,
            node_name,
            lambda store, send_old: partial(
                SessionWindowAggregate,
                store,
                windows,
                initializer,
                aggregator,
                merger,
                send_old=send_old,
                emit_on_close=on_close,
            ),
            store,
            options.store_name,
            layout="session",
            grace_ms=windows.gap_ms + windows.grace_ms,
            key=session_windowed_key(store),
        )
