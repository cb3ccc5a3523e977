"""`KGroupedStream`: the records of a stream in groups, to aggregate."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millstream.dsl import prefixes
from millstream.dsl.functions import checked
from millstream.dsl.options import Materialized, chosen
from millstream.dsl.place import Place
from millstream.dsl.stores import key_value_store
from millstream.dsl.streams.aggregation import Group, Make, aggregated_table, check_windows, count_one, zero
from millstream.dsl.streams.ktable import KTable
from millstream.dsl.unknown import made_by
from millstream.processors.aggregate import StreamAggregate, StreamReduce
from millstream.serdes import Serde, Serdes
from millstream.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows

if TYPE_CHECKING:
    from millstream.dsl.streams.cogrouped import CogroupedKStream
    from millstream.dsl.streams.windowed import SessionWindowedKStream, TimeWindowedKStream

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class KGroupedStream(Generic[K, V]):
    """A grouped stream. Made by `KStream.group_by_key` and `group_by`. Null keys and values are not aggregated.

    Use it to aggregate for ever (`count`, `reduce`, `aggregate`), per window (`windowed_by`) or together with other
    streams (`cogroup`). Every result is a table; name its store with `Materialized` to look into it.

    >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder = StreamsBuilder()
    >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
    >>> counts, latest = clicks.count(), clicks.reduce(lambda old, new: new, Materialized("latest"))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input_topic("clicks", Serdes.string, Serdes.string).pipe_key_values([("ann", "/"), ("ann", "/faq")])
    ...     driver.key_value_store("latest").get("ann")
    '/faq'
    """

    def __init__(self, place: Place, *, repartition_needed: bool, name: str | None) -> None:
        self._group = Group(place, repartition_needed=repartition_needed, name=name)

    def count(self, materialized: Materialized | None = None, name: str | None = None) -> KTable[K, int]:
        """How many records each key has.

        Use it for totals that only grow. Counts are longs: the serde is known.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string))
        >>> clicks.group_by_key().count().to_stream().to("counts")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("clicks", Serdes.string, Serdes.string).pipe_key_values([("ann", "/"), ("ann", "/")])
        ...     driver.output_topic("counts", Serdes.string, Serdes.long).read_key_values()
        [('ann', 1), ('ann', 2)]
        """
        if materialized is not None and chosen(materialized, Materialized, "count").store_name is None:
            # Kafka Streams uses an index up here, and topologies must keep their names.
            self._group.place.dsl.graph.new_store_name(prefixes.AGGREGATE)
        return self._aggregate(
            lambda store, send_old: partial(StreamAggregate, store, zero, count_one, send_old=send_old),
            prefixes.AGGREGATE,
            name,
            materialized,
            "count",
            Serdes.long,
        )

    def reduce(
        self, reducer: Callable[[V, V], V], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """Combine each key's values: `reducer(aggregate, value)`; the first value is the first aggregate.

        Use it when the result is of the kind of the values: a sum, a maximum, the latest.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> bids = builder.stream("bids", Consumed(Serdes.string, Serdes.long))
        >>> bids.group_by_key().reduce(max).to_stream().to("highest")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     bids = driver.input_topic("bids", Serdes.string, Serdes.long)
        ...     bids.pipe_key_values([("vase", 5), ("vase", 9), ("vase", 7)])
        ...     driver.output_topic("highest", Serdes.string, Serdes.long).read_values()
        [5, 9, 9]
        """
        checked(reducer, "reduce", "aggregate", "value")
        return self._aggregate(
            lambda store, send_old: partial(StreamReduce, store, reducer, send_old=send_old),
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
        materialized: Materialized | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """Fold each key's values: `aggregator(key, value, aggregate)`; None deletes the aggregate.

        Use it when the result is of another kind than the values. Its serde is not known: give it with `Materialized`.

        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json)).group_by_key()
        >>> kept = Materialized(value=Serdes.long)
        >>> spent = orders.aggregate(lambda: 0, lambda key, order, total: total + order["amount"], kept)
        >>> spent.to_stream().to("spent")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders", Serdes.string, Serdes.json).pipe_key_values([("ann", {"amount": 3})] * 2)
        ...     driver.output_topic("spent", Serdes.string, Serdes.long).read_key_values()
        [('ann', 3), ('ann', 6)]
        """
        checked(initializer, "the initializer of aggregate")
        checked(aggregator, "the aggregator of aggregate", "key", "value", "aggregate")
        return self._aggregate(
            lambda store, send_old: partial(StreamAggregate, store, initializer, aggregator, send_old=send_old),
            prefixes.AGGREGATE,
            name,
            materialized,
            "aggregate",
            made_by("aggregate", aggregator),
        )

    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream[K, V]: ...

    @overload
    def windowed_by(self, windows: TimeWindows | SlidingWindows | UnlimitedWindows) -> TimeWindowedKStream[K, V]: ...

    def windowed_by(
        self, windows: TimeWindows | SlidingWindows | UnlimitedWindows | SessionWindows
    ) -> TimeWindowedKStream[K, V] | SessionWindowedKStream[K, V]:
        """Aggregate per key and window of event time.

        Use it for "per minute", "per session" and the like. Time and sliding windows and `UnlimitedWindows` give a
        `TimeWindowedKStream`, sessions a `SessionWindowedKStream`.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder, TimeWindows
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string)).group_by_key()
        >>> minute = TimeWindows.of_size(timedelta(minutes=1))
        >>> table = clicks.windowed_by(minute).count(Materialized("clicks-per-minute"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     clicks = driver.input_topic("clicks", Serdes.string, Serdes.string)
        ...     clicks.pipe_key_values([("ann", "/")] * 4, start=0, advance=timedelta(seconds=25))
        ...     list(driver.window_store("clicks-per-minute").fetch_range("ann", 0, 60_000))
        [(0, 3), (60000, 1)]
        """
        from millstream.dsl.streams.windowed import SessionWindowedKStream, TimeWindowedKStream

        check_windows(windows)
        if isinstance(windows, SessionWindows):
            return SessionWindowedKStream(self._group, windows)
        return TimeWindowedKStream(self._group, windows)

    def cogroup(self, aggregator: Callable[[K, V, A], A]) -> CogroupedKStream[K, A]:
        """Begin to aggregate several grouped streams into one table.

        Use it for one picture of a key drawn from several topics, where a join of aggregates would need more stores and
        give more updates. See `CogroupedKStream`.

        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, numbers = StreamsBuilder(), (Serdes.string, Serdes.long)
        >>> paid, spent = (builder.stream(topic, Consumed(*numbers)).group_by_key() for topic in ("paid", "spent"))
        >>> both = paid.cogroup(lambda key, n, total: total + n).cogroup(spent, lambda key, n, total: total - n)
        >>> table = both.aggregate(lambda: 0, Materialized("balance", value=Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("paid", *numbers).pipe("ann", 10)
        ...     driver.input_topic("spent", *numbers).pipe("ann", 4)
        ...     driver.key_value_store("balance").get("ann")
        6
        """
        from millstream.dsl.streams.cogrouped import CogroupedKStream

        stream: CogroupedKStream[K, A] = CogroupedKStream({})
        return stream.cogroup(self, aggregator)

    def _aggregate(
        self,
        make: Make,
        prefix: str,
        name: str | None,
        materialized: Materialized | None,
        operator: str,
        value: Serde[Any],
    ) -> KTable[K, Any]:
        options = chosen(materialized, Materialized, operator)
        place = self._group.place
        key, value = options.key or place.key, options.value or value
        store_name = options.store_name or place.dsl.graph.new_store_name(prefix)
        node_name = place.dsl.name(prefix, name)
        store = key_value_store(place.dsl.config, options, store_name, key, value)
        return aggregated_table(self._group, node_name, make, store, options.store_name, key=key, value=value)
