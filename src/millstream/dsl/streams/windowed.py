"""Grouped streams cut into windows of event time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from millstream.dsl import prefixes
from millstream.dsl.functions import checked
from millstream.dsl.options import Materialized, chosen
from millstream.dsl.stores import session_store, window_size, window_store
from millstream.dsl.streams.aggregation import (
    Group,
    aggregated_table,
    count_one,
    nothing,
    reducing,
    session_windowed_key,
    time_windowed_key,
    zero,
)
from millstream.dsl.streams.ktable import KTable
from millstream.dsl.unknown import made_by
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
    """A grouped stream in tumbling, hopping, sliding or unlimited windows. Made by `KGroupedStream.windowed_by`.

    Keys of the resulting tables are `Windowed`: the key and its window. A record that is later than its window's grace
    is dropped and counted.

    >>> from datetime import timedelta
    >>> from millstream import Consumed, Serdes, StreamsBuilder, TimeWindows
    >>> from millstream.testing import TopologyTestDriver
    >>> builder, hour = StreamsBuilder(), timedelta(hours=1)
    >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
    >>> clicks.windowed_by(TimeWindows.of_size(hour)).count().to_stream().to("counts")
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input_topic("clicks", Serdes.string, Serdes.string).pipe("ann", "/", timestamp=5_000_000)
    ...     counts = driver.output_topic("counts", Serdes.time_windowed(Serdes.string, hour), Serdes.long)
    ...     print(*counts.read_key_value())
    [ann@3600000/7200000] 1
    """

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
        """When results are passed on: at every update, or once when the window closes.

        Use `EmitStrategy.ON_WINDOW_CLOSE` for one final result per window, without the buffer of `KTable.suppress`.
        A window is emitted by the first record after its close, and only if the store still has it: where records may
        be far apart, give `Materialized(retention=...)`.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, EmitStrategy, Serdes, StreamsBuilder, TimeWindows
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, ten = StreamsBuilder(), TimeWindows.of_size(timedelta(seconds=10))
        >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
        >>> clicks.windowed_by(ten).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count().to_stream().to("final")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     clicks = driver.input_topic("clicks", Serdes.string, Serdes.string)
        ...     clicks.pipe_key_values([("ann", "/")] * 3, start=0, advance=timedelta(seconds=6))
        ...     driver.output_topic("final", Serdes.windowed_string, Serdes.long).read_values()
        [2]
        """
        _check_strategy(strategy)
        if strategy is EmitStrategy.ON_WINDOW_CLOSE and isinstance(self._windows, UnlimitedWindows):
            raise ArgumentError(
                "ON_WINDOW_CLOSE emit strategy cannot be used for UnlimitedWindows", detail="they never close"
            )
        return TimeWindowedKStream(self._group, self._windows, strategy)

    def count(self, materialized: Materialized | None = None, name: str | None = None) -> KTable[Windowed[K], int]:
        """How many records each key has in each window.

        Use it for rates: clicks per minute, errors per hour.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder, TimeWindows
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, ten = StreamsBuilder(), TimeWindows.of_size(timedelta(seconds=10))
        >>> errors = builder.stream("errors", Consumed(Serdes.string, Serdes.string)).group_by_key()
        >>> table = errors.windowed_by(ten).count(Materialized("errors"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     errors = driver.input_topic("errors", Serdes.string, Serdes.string)
        ...     errors.pipe_key_values([("db", "timeout")] * 3, start=0, advance=timedelta(seconds=6))
        ...     list(driver.window_store("errors").fetch_range("db", 0, 10_000))
        [(0, 2), (10000, 1)]
        """
        if materialized is not None and chosen(materialized, Materialized, "count").store_name is None:
            self._group.place.dsl.graph.new_store_name(prefixes.AGGREGATE)  # as in KGroupedStream.count
        return self._aggregate(zero, count_one, prefixes.AGGREGATE, name, materialized, "count", Serdes.long)

    def reduce(
        self, reducer: Callable[[V, V], V], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[Windowed[K], V]:
        """Combine each key's values in each window: `reducer(aggregate, value)`.

        Use it when the result is of the kind of the values, as with `KGroupedStream.reduce`.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder, TimeWindows
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, day = StreamsBuilder(), TimeWindows.of_size(timedelta(days=1))
        >>> degrees = builder.stream("degrees", Consumed(Serdes.string, Serdes.long)).group_by_key()
        >>> table = degrees.windowed_by(day).reduce(max, Materialized("hottest"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     degrees = driver.input_topic("degrees", Serdes.string, Serdes.long)
        ...     degrees.pipe_key_values([("rome", 31), ("rome", 35), ("rome", 28)], start=0, advance=timedelta(hours=9))
        ...     driver.window_store("hottest").fetch("rome", 0)
        35
        """
        checked(reducer, "reduce", "aggregate", "value")
        value = self._group.place.value
        return self._aggregate(nothing, reducing(reducer), prefixes.REDUCE, name, materialized, "reduce", value)

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        materialized: Materialized | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Fold each key's values in each window: `aggregator(key, value, aggregate)`.

        Use it when the result is of another kind than the values. Its serde is not known: give it with `Materialized`.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder, TimeWindows
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, day = StreamsBuilder(), TimeWindows.of_size(timedelta(days=1))
        >>> visits = builder.stream("visits", Consumed(Serdes.string, Serdes.string)).group_by_key()
        >>> table = visits.windowed_by(day).aggregate(
        ...     list, lambda key, page, pages: [*pages, page], Materialized("pages", value=Serdes.json))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     visits = driver.input_topic("visits", Serdes.string, Serdes.string)
        ...     visits.pipe_key_values([("ann", "/"), ("ann", "/faq")], start=0)
        ...     driver.window_store("pages").fetch("ann", 0)
        ['/', '/faq']
        """
        checked(initializer, "the initializer of aggregate")
        checked(aggregator, "the aggregator of aggregate", "key", "value", "aggregate")
        value = made_by("aggregate", aggregator)
        return self._aggregate(initializer, aggregator, prefixes.AGGREGATE, name, materialized, "aggregate", value)

    def _aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        prefix: str,
        name: str | None,
        materialized: Materialized | None,
        operator: str,
        value: Serde[Any],
    ) -> KTable[Any, Any]:
        options = chosen(materialized, Materialized, operator)
        place, windows = self._group.place, self._windows
        key, value = options.key or place.key, options.value or value
        on_close = self._emit is EmitStrategy.ON_WINDOW_CLOSE
        store_name = options.store_name or place.dsl.graph.new_store_name(prefix)
        node_name = place.dsl.name(prefix, name)
        store = window_store(place.dsl.config, options, store_name, windows, key, value, emit_on_close=on_close)
        windowed: Any = SlidingWindowAggregate if isinstance(windows, SlidingWindows) else TimeWindowAggregate
        return aggregated_table(
            self._group,
            node_name,
            lambda store, send_old: partial(
                windowed, store, windows, initializer, aggregator, send_old=send_old, emit_on_close=on_close
            ),
            store,
            options.store_name,
            layout="window",
            grace_ms=windows.grace_ms,
            key=time_windowed_key(key, window_size(windows)),
            value=value,
        )


class SessionWindowedKStream(Generic[K, V]):
    """A grouped stream in sessions. Made by `KGroupedStream.windowed_by`.

    A session grows with its records, and two sessions become one when a record comes between them. The table then
    deletes the old ones (nulls) and has the new one.

    >>> from datetime import timedelta
    >>> from millstream import Consumed, SessionWindows, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder, gap = StreamsBuilder(), SessionWindows.of_inactivity_gap(timedelta(seconds=10))
    >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
    >>> clicks.windowed_by(gap).count().to_stream().to("out")
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input_topic("clicks", Serdes.string, Serdes.string).pipe_key_values(
    ...         [("ann", "/")] * 2, start=0, advance=timedelta(seconds=8))
    ...     out = driver.output_topic("out", Serdes.session_windowed_string, Serdes.long)
    ...     [(str(key), count) for key, count in out.read_key_values()]
    [('[ann@0/0]', 1), ('[ann@0/0]', None), ('[ann@0/8000]', 2)]
    """

    def __init__(
        self, group: Group, windows: SessionWindows, emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    ) -> None:
        self._group = group
        self._windows = windows
        self._emit = emit

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream[K, V]:
        """When results are passed on: at every update, or once when the session closes.

        Use `EmitStrategy.ON_WINDOW_CLOSE` for one final result per session, without the nulls of sessions that grew.
        Give `Materialized(retention=...)` with it: a session that is no longer kept is not emitted.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, EmitStrategy, Materialized, Serdes, SessionWindows, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, gap = StreamsBuilder(), SessionWindows.of_inactivity_gap(timedelta(seconds=10))
        >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
        >>> visits = clicks.windowed_by(gap).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        >>> visits.count(Materialized(retention=timedelta(hours=1))).to_stream().to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     clicks = driver.input_topic("clicks", Serdes.string, Serdes.string)
        ...     for timestamp in (0, 8_000, 60_000):
        ...         clicks.pipe("ann", "/", timestamp)
        ...     out = driver.output_topic("out", Serdes.session_windowed_string, Serdes.long)
        ...     [(str(key), count) for key, count in out.read_key_values()]
        [('[ann@0/8000]', 2)]
        """
        _check_strategy(strategy)
        return SessionWindowedKStream(self._group, self._windows, strategy)

    def count(self, materialized: Materialized | None = None, name: str | None = None) -> KTable[Windowed[K], int]:
        """How many records each session has.

        Use it to tell long visits from short ones.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, SessionWindows, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, gap = StreamsBuilder(), SessionWindows.of_inactivity_gap(timedelta(minutes=30))
        >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
        >>> table = clicks.windowed_by(gap).count(Materialized("visits"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     clicks = driver.input_topic("clicks", Serdes.string, Serdes.string)
        ...     clicks.pipe_key_values([("ann", "/")] * 3, start=0, advance=timedelta(minutes=20))
        ...     [(str(key), count) for key, count in driver.session_store("visits").fetch("ann")]
        [('[ann@0/2400000]', 3)]
        """
        if materialized is not None and chosen(materialized, Materialized, "count").store_name is None:
            self._group.place.dsl.graph.new_store_name(prefixes.AGGREGATE)  # as in KGroupedStream.count
        return self._aggregate(
            zero,
            count_one,
            lambda key, one, two: one + two,
            prefixes.AGGREGATE,
            name,
            materialized,
            "count",
            Serdes.long,
        )

    def reduce(
        self, reducer: Callable[[V, V], V], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[Windowed[K], V]:
        """Combine each session's values: `reducer(aggregate, value)`.

        Use it when the result is of the kind of the values. The reducer also combines sessions that become one.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, SessionWindows, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, gap = StreamsBuilder(), SessionWindows.of_inactivity_gap(timedelta(seconds=10))
        >>> prices = builder.stream("prices", Consumed(Serdes.string, Serdes.long)).group_by_key()
        >>> table = prices.windowed_by(gap).reduce(min, Materialized("lowest"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     prices = driver.input_topic("prices", Serdes.string, Serdes.long)
        ...     prices.pipe_key_values([("tea", 4), ("tea", 3)], start=0)
        ...     [price for session, price in driver.session_store("lowest").fetch("tea")]
        [3]
        """
        checked(reducer, "reduce", "aggregate", "value")
        aggregator = reducing(reducer)
        return self._aggregate(
            nothing,
            aggregator,
            lambda key, one, two: aggregator(key, two, one),
            prefixes.REDUCE,
            name,
            materialized,
            "reduce",
            self._group.place.value,
        )

    def aggregate(
        self,
        initializer: Callable[[], A],
        aggregator: Callable[[K, V, A], A],
        merger: Callable[[K, A, A], A],
        materialized: Materialized | None = None,
        name: str | None = None,
    ) -> KTable[Windowed[K], A]:
        """Fold each session's values; `merger(key, a, b)` makes one aggregate of two when sessions grow together.

        Use it when the result is of another kind than the values. Its serde is not known: give it with `Materialized`.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, SessionWindows, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, gap = StreamsBuilder(), SessionWindows.of_inactivity_gap(timedelta(seconds=10))
        >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
        >>> table = clicks.windowed_by(gap).aggregate(
        ...     list, lambda key, page, pages: [*pages, page], lambda key, one, two: one + two,
        ...     Materialized("paths", value=Serdes.json))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     clicks = driver.input_topic("clicks", Serdes.string, Serdes.string)
        ...     clicks.pipe_key_values([("ann", "/"), ("ann", "/faq")], start=0, advance=timedelta(seconds=5))
        ...     [pages for session, pages in driver.session_store("paths").fetch("ann")]
        [['/', '/faq']]
        """
        checked(initializer, "the initializer of aggregate")
        checked(aggregator, "the aggregator of aggregate", "key", "value", "aggregate")
        checked(merger, "the merger of aggregate", "key", "a", "b")
        value = made_by("aggregate", aggregator)
        return self._aggregate(
            initializer, aggregator, merger, prefixes.AGGREGATE, name, materialized, "aggregate", value
        )

    def _aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        merger: Callable[[Any, Any, Any], Any],
        prefix: str,
        name: str | None,
        materialized: Materialized | None,
        operator: str,
        value: Serde[Any],
    ) -> KTable[Any, Any]:
        options = chosen(materialized, Materialized, operator)
        place, windows = self._group.place, self._windows
        key, value = options.key or place.key, options.value or value
        on_close = self._emit is EmitStrategy.ON_WINDOW_CLOSE
        store_name = options.store_name or place.dsl.graph.new_store_name(prefix)
        node_name = place.dsl.name(prefix, name)
        store = session_store(place.dsl.config, options, store_name, windows, key, value, emit_on_close=on_close)
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
            key=session_windowed_key(key),
            value=value,
        )


def _check_strategy(strategy: object) -> None:
    if not isinstance(strategy, EmitStrategy):
        raise ArgumentError(
            "emit_strategy takes an EmitStrategy",
            detail=f"it was given {strategy!r}",
            hint="give EmitStrategy.ON_WINDOW_UPDATE or EmitStrategy.ON_WINDOW_CLOSE",
        )
