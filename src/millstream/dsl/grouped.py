"""`KGroupedStream`: the records of a stream in groups, to aggregate."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millstream.dsl import prefixes
from millstream.dsl.aggregation import Group, Make, aggregated_table, count_one, zero
from millstream.dsl.functions import checked
from millstream.dsl.ktable import KTable
from millstream.dsl.options import Materialized
from millstream.dsl.stores import key_value_store
from millstream.dsl.stream import Place
from millstream.errors import TopologyError
from millstream.processors.aggregate import StreamAggregate, StreamReduce
from millstream.serdes import Serde, Serdes
from millstream.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows

if TYPE_CHECKING:
    from millstream.dsl.cogrouped import CogroupedKStream
    from millstream.dsl.windowed import SessionWindowedKStream, TimeWindowedKStream

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class KGroupedStream(Generic[K, V]):
    """A grouped stream. Made by `KStream.group_by_key` and `group_by`. Null keys and values are not aggregated."""

    def __init__(self, place: Place, *, repartition_needed: bool, name: str | None) -> None:
        self._group = Group(place, repartition_needed=repartition_needed, name=name)

    def count(self, name: str | None = None, materialized: Materialized | None = None) -> KTable[K, int]:
        """How many records each key has."""
        if materialized is not None and materialized.store_name is None:
            # Kafka Streams uses an index up here, and topologies must keep their names.
            self._group.place.dsl.graph.new_store_name(prefixes.AGGREGATE)
        return self._aggregate(
            lambda store, send_old: partial(StreamAggregate, store, zero, count_one, send_old=send_old),
            prefixes.AGGREGATE,
            name,
            materialized,
            Serdes.long,
        )

    def reduce(
        self, reducer: Callable[[V, V], V], name: str | None = None, materialized: Materialized | None = None
    ) -> KTable[K, V]:
        """Combine each key's values: `reducer(aggregate, value)`; the first value is the first aggregate."""
        checked(reducer, "reduce", "aggregate", "value")
        return self._aggregate(
            lambda store, send_old: partial(StreamReduce, store, reducer, send_old=send_old),
            prefixes.REDUCE,
            name,
            materialized,
            self._group.place.value,
        )

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[K, A]:
        """Fold each key's values: `aggregator(key, value, aggregate)`; None deletes the aggregate."""
        checked(initializer, "the initializer of aggregate")
        checked(aggregator, "the aggregator of aggregate", "key", "value", "aggregate")
        return self._aggregate(
            lambda store, send_old: partial(StreamAggregate, store, initializer, aggregator, send_old=send_old),
            prefixes.AGGREGATE,
            name,
            materialized,
            None,
        )

    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream[K, V]: ...

    @overload
    def windowed_by(self, windows: TimeWindows | SlidingWindows | UnlimitedWindows) -> TimeWindowedKStream[K, V]: ...

    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | UnlimitedWindows | SessionWindows
    ) -> TimeWindowedKStream[K, V] | SessionWindowedKStream[K, V]:
        """Aggregate per key and window of event time."""
        from millstream.dsl.windowed import SessionWindowedKStream, TimeWindowedKStream

        match windows:
            case SessionWindows():
                return SessionWindowedKStream(self._group, windows)
            case TimeWindows() | SlidingWindows() | UnlimitedWindows():
                return TimeWindowedKStream(self._group, windows)
            case _:
                raise TopologyError(
                    "windowed_by needs windows",
                    detail=f"got {windows!r}",
                    hint="give TimeWindows, SlidingWindows, SessionWindows or UnlimitedWindows",
                )

    def cogroup(self, aggregator: Callable[[K, V, A], A]) -> CogroupedKStream[K, A]:
        """Begin to aggregate several grouped streams into one table."""
        from millstream.dsl.cogrouped import CogroupedKStream

        stream: CogroupedKStream[K, A] = CogroupedKStream({})
        return stream.cogroup(self, aggregator)

    def _aggregate(
        self,
        make: Make,
        prefix: str,
        name: str | None,
        materialized: Materialized | None,
        value: Serde[Any] | None,
    ) -> KTable[K, Any]:
        options = materialized or Materialized()
        place = self._group.place
        store_name = options.store_name or place.dsl.graph.new_store_name(prefix)
        node_name = place.dsl.name(prefix, name)
        store = key_value_store(place.dsl.config, options, store_name, place.key, value)
        return aggregated_table(self._group, node_name, make, store, options.store_name)
