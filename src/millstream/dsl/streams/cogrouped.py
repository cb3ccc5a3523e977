"""Several grouped streams aggregated into one table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar, overload

from millstream.dsl import prefixes
from millstream.dsl.functions import checked
from millstream.dsl.options import Materialized, chosen
from millstream.dsl.place import Place, check_same_builder
from millstream.dsl.stores import key_value_store, session_store, window_size, window_store
from millstream.dsl.streams.aggregation import (
    Group,
    Make,
    add_aggregate,
    check_windows,
    session_windowed_key,
    time_windowed_key,
)
from millstream.dsl.streams.grouped import KGroupedStream
from millstream.dsl.streams.ktable import KTable
from millstream.dsl.unknown import UnknownSerde, made_by
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
    """Grouped streams with an aggregator each, over one aggregate. Made by `KGroupedStream.cogroup`.

    All streams must have the same kind of key. They share one store, and every update of it is one result.

    >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
    >>> carts, orders = (builder.stream(topic, Consumed(*text)).group_by_key() for topic in ("carts", "orders"))
    >>> both = carts.cogroup(lambda key, item, all: [*all, f"saw {item}"])
    >>> both = both.cogroup(orders, lambda key, item, all: [*all, f"bought {item}"])
    >>> table = both.aggregate(list, Materialized("history", value=Serdes.json))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input_topic("carts", *text).pipe("ann", "tea")
    ...     driver.input_topic("orders", *text).pipe("ann", "tea")
    ...     driver.key_value_store("history").get("ann")
    ['saw tea', 'bought tea']
    """

    def __init__(self, parts: dict[Group, AnyAggregator]) -> None:
        self._parts = parts

    def cogroup(self, grouped: KGroupedStream[K, V], aggregator: Callable[[K, V, A], A]) -> CogroupedKStream[K, A]:
        """Add a grouped stream.

        Use it once for every further stream; each has an aggregator of its own over the same aggregate.

        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, numbers = StreamsBuilder(), (Serdes.string, Serdes.long)
        >>> won, lost = (builder.stream(topic, Consumed(*numbers)).group_by_key() for topic in ("won", "lost"))
        >>> both = won.cogroup(lambda key, n, sum: sum + n).cogroup(lost, lambda key, n, sum: sum - n)
        >>> table = both.aggregate(lambda: 0, Materialized("points", value=Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("won", *numbers).pipe("ann", 3)
        ...     driver.input_topic("lost", *numbers).pipe("ann", 1)
        ...     driver.key_value_store("points").get("ann")
        2
        """
        if not isinstance(grouped, KGroupedStream):
            raise TopologyError("cogroup needs a grouped stream", detail=f"got {type(grouped).__name__}")
        checked(aggregator, "cogroup", "key", "value", "aggregate")
        if self._parts:
            check_same_builder(_first(self._parts).place.dsl, grouped._group.place.dsl, "cogroup")
        self._parts[grouped._group] = aggregator
        return self

    def aggregate(
        self, initializer: Callable[[], A], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[K, A]:
        """Fold all streams' values of each key into one aggregate.

        Use it to end a cogroup without windows. The initializer makes the first aggregate of a key.

        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, numbers = StreamsBuilder(), (Serdes.string, Serdes.long)
        >>> won, lost = (builder.stream(topic, Consumed(*numbers)).group_by_key() for topic in ("won", "lost"))
        >>> both = won.cogroup(lambda key, n, sum: sum + n).cogroup(lost, lambda key, n, sum: sum - n)
        >>> both.aggregate(lambda: 100, Materialized(value=Serdes.long)).to_stream().to("points")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("lost", *numbers).pipe("ann", 30)
        ...     driver.output_topic("points", *numbers).read_key_values()
        [('ann', 70)]
        """
        checked(initializer, "the initializer of aggregate")
        options, store_name, key, value = _store_basics(self._parts, materialized)
        place = _first(self._parts).place
        return _add(
            self._parts,
            lambda aggregator: (
                lambda store, send_old: partial(StreamAggregate, store, initializer, aggregator, send_old=send_old)
            ),
            key_value_store(place.dsl.config, options, store_name, key, value),
            options,
            name,
            key=key,
            value=value,
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
        """Aggregate per key and window of event time.

        Use it for one picture of a key and window drawn from several topics.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder, TimeWindows
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, numbers = StreamsBuilder(), (Serdes.string, Serdes.long)
        >>> sold, back = (builder.stream(topic, Consumed(*numbers)).group_by_key() for topic in ("sold", "back"))
        >>> both = sold.cogroup(lambda key, n, sum: sum + n).cogroup(back, lambda key, n, sum: sum - n)
        >>> daily = both.windowed_by(TimeWindows.of_size(timedelta(days=1)))
        >>> table = daily.aggregate(lambda: 0, Materialized("net", value=Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("sold", *numbers).pipe("tea", 5, timestamp=0)
        ...     driver.input_topic("back", *numbers).pipe("tea", 2, timestamp=1000)
        ...     driver.window_store("net").fetch("tea", 0)
        3
        """
        check_windows(windows)
        if isinstance(windows, SessionWindows):
            return SessionWindowedCogroupedKStream(self._parts, windows)
        return TimeWindowedCogroupedKStream(self._parts, windows)


class TimeWindowedCogroupedKStream(Generic[K, A]):
    """Cogrouped streams in tumbling, hopping, sliding or unlimited windows. Made by `CogroupedKStream.windowed_by`.

    >>> from datetime import timedelta
    >>> from millstream import Consumed, Serdes, StreamsBuilder, TimeWindows
    >>> clicks = StreamsBuilder().stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
    >>> one = clicks.cogroup(lambda key, click, count: count + 1)
    >>> type(one.windowed_by(TimeWindows.of_size(timedelta(minutes=1)))).__name__
    'TimeWindowedCogroupedKStream'
    """

    def __init__(
        self, parts: dict[Group, AnyAggregator], windows: TimeWindows | SlidingWindows | UnlimitedWindows
    ) -> None:
        self._parts = parts
        self._windows = windows

    def aggregate(
        self, initializer: Callable[[], A], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[Windowed[K], A]:
        """Fold all streams' values of each key and window into one aggregate.

        Use it to end a cogroup in windows. The initializer makes the first aggregate of a key and window.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder, TimeWindows
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, numbers = StreamsBuilder(), (Serdes.string, Serdes.long)
        >>> sold, back = (builder.stream(topic, Consumed(*numbers)).group_by_key() for topic in ("sold", "back"))
        >>> both = sold.cogroup(lambda key, n, sum: sum + n).cogroup(back, lambda key, n, sum: sum - n)
        >>> minutes = both.windowed_by(TimeWindows.of_size(timedelta(minutes=1)))
        >>> minutes.aggregate(lambda: 0, Materialized(value=Serdes.long)).to_stream().to("net")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("sold", *numbers).pipe_key_values([("tea", 5), ("tea", 2)], start=0)
        ...     driver.output_topic("net", Serdes.windowed_string, Serdes.long).read_values()
        [5, 7]
        """
        checked(initializer, "the initializer of aggregate")
        options, store_name, key, value = _store_basics(self._parts, materialized)
        windows = self._windows
        operator: Any = SlidingWindowAggregate if isinstance(windows, SlidingWindows) else TimeWindowAggregate
        store = window_store(
            _first(self._parts).place.dsl.config, options, store_name, windows, key, value, emit_on_close=False
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
            key=time_windowed_key(key, window_size(windows)),
            value=value,
        )


class SessionWindowedCogroupedKStream(Generic[K, A]):
    """Cogrouped streams in sessions. Made by `CogroupedKStream.windowed_by`.

    >>> from datetime import timedelta
    >>> from millstream import Consumed, Serdes, SessionWindows, StreamsBuilder
    >>> clicks = StreamsBuilder().stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
    >>> one = clicks.cogroup(lambda key, click, count: count + 1)
    >>> type(one.windowed_by(SessionWindows.of_inactivity_gap(timedelta(minutes=1)))).__name__
    'SessionWindowedCogroupedKStream'
    """

    def __init__(self, parts: dict[Group, AnyAggregator], windows: SessionWindows) -> None:
        self._parts = parts
        self._windows = windows

    def aggregate(
        self,
        initializer: Callable[[], A],
        merger: Callable[[K, A, A], A],
        materialized: Materialized | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Fold all streams' values of each session into one aggregate.

        Use it to end a cogroup in sessions. `merger(key, a, b)` makes one aggregate of two when sessions grow together.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, SessionWindows, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> seen, bought = (builder.stream(topic, Consumed(*text)).group_by_key() for topic in ("seen", "bought"))
        >>> both = seen.cogroup(lambda key, item, n: n + 1).cogroup(bought, lambda key, item, n: n + 10)
        >>> visits = both.windowed_by(SessionWindows.of_inactivity_gap(timedelta(minutes=30)))
        >>> kept = Materialized("n", value=Serdes.long)
        >>> table = visits.aggregate(lambda: 0, lambda key, a, b: a + b, kept)
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("seen", *text).pipe("ann", "tea", timestamp=0)
        ...     driver.input_topic("bought", *text).pipe("ann", "tea", timestamp=60_000)
        ...     [n for session, n in driver.session_store("n").fetch("ann")]
        [11]
        """
        checked(initializer, "the initializer of aggregate")
        checked(merger, "the merger of aggregate", "key", "a", "b")
        options, store_name, key, value = _store_basics(self._parts, materialized)
        windows = self._windows
        store = session_store(
            _first(self._parts).place.dsl.config, options, store_name, windows, key, value, emit_on_close=False
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
            key=session_windowed_key(key),
            value=value,
        )


def _first(parts: dict[Group, AnyAggregator]) -> Group:
    return next(iter(parts))


def _store_basics(
    parts: dict[Group, AnyAggregator], materialized: Materialized | None
) -> tuple[Materialized, str, Serde[Any], Serde[Any]]:
    """The store's options, its name and its serdes: the key's is the first that any stream knows."""
    options = chosen(materialized, Materialized, "aggregate")
    graph = _first(parts).place.dsl.graph
    store_name = options.store_name or graph.new_store_name(prefixes.COGROUP_AGGREGATE)
    keys = [group.place.key for group in parts]
    key = options.key or next((key for key in keys if not isinstance(key, UnknownSerde)), keys[0])
    value = options.value or made_by("cogroup", parts[_first(parts)])
    return options, store_name, key, value


def _add(
    parts: dict[Group, AnyAggregator],
    make_for: Callable[[AnyAggregator], Make],
    store: StoreBuilder,
    options: Materialized,
    name: str | None,
    *,
    key: Serde[Any],
    value: Serde[Any],
    layout: str = "key_value",
    grace_ms: int | None = None,
) -> KTable[Any, Any]:
    """One aggregate per stream, all on one store, and the merge of their results."""
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
    place = Place(dsl, node, merge_name, key, value, sources)
    return KTable(place, queryable_store_name=options.store_name)
