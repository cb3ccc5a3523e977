"""The joins of a stream, as users call them; `stream_joins` adds them to the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from millstream.dsl.options import Joined, StreamJoined
from millstream.dsl.streams.kstream_base import KStreamBase
from millstream.windows import JoinWindows

if TYPE_CHECKING:
    from millstream.dsl.streams.kstream import KStream
    from millstream.dsl.streams.ktable import GlobalKTable, KTable
    from millstream.dsl.streams.stream_joins import JoinKind

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
VO = TypeVar("VO")
R = TypeVar("R")


class JoinOperators(KStreamBase[K, V]):
    """The part of `KStream` for joins."""

    @overload
    def join(self, other: KTable[K, VO], joiner: Callable[..., R], joined: Joined | None = None) -> KStream[K, R]: ...

    @overload
    def join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., R],
        windows: JoinWindows,
        joined: StreamJoined | None = None,
    ) -> KStream[K, R]: ...

    @overload
    def join(
        self,
        other: GlobalKTable[K2, VO],
        key_selector: Callable[[K, V], K2],
        joiner: Callable[..., R],
        *,
        name: str | None = None,
    ) -> KStream[K, R]: ...

    def join(self, other: Any, *arguments: Any, **options: Any) -> KStream[K, Any]:
        """Join each record with its match; records without one are dropped.

        - with a table, `join(table, joiner, Joined?)`: the row of the record's key;
        - with a stream, `join(stream, joiner, windows, StreamJoined?)`: the records of the same key within the windows;
        - with a global table, `join(table, key_selector, joiner)`: the row of the key that the selector finds.

        Use it to add what is known elsewhere to a record. The joiner gets the two values, or the key before them if it
        has three parameters. Records with a null key or a null value are skipped.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> names = builder.table("names", Consumed(*text))
        >>> orders = builder.stream("orders", Consumed(*text))
        >>> orders.join(names, lambda order, name: f"{order} for {name}").to("out", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("names", *text).pipe("u1", "Ann")
        ...     driver.input_topic("orders", *text).pipe_key_values([("u1", "tea"), ("u2", "milk")])
        ...     driver.output_topic("out", *text).read_key_values()
        [('u1', 'tea for Ann')]

        Two streams meet within a span of event time:

        >>> from datetime import timedelta
        >>> from millstream import JoinWindows
        >>> builder = StreamsBuilder()
        >>> shown, clicked = (builder.stream(topic, Consumed(*text)) for topic in ("shown", "clicked"))
        >>> close = JoinWindows.of_time_difference(timedelta(seconds=10))
        >>> shown.join(clicked, lambda ad, link: f"{ad} led to {link}", close).to("hits", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("shown", *text).pipe("ann", "banner", timestamp=1_000)
        ...     driver.input_topic("clicked", *text).pipe("ann", "shop", timestamp=4_000)
        ...     driver.output_topic("hits", *text).read_values()
        ['banner led to shop']

        A global table is looked up by any key that the record tells:

        >>> builder = StreamsBuilder()
        >>> cities = builder.global_table("cities", Consumed(*text))
        >>> orders = builder.stream("orders", Consumed(*text))
        >>> orders.join(cities, lambda key, zip_code: zip_code, lambda zip_code, city: city).to("out", Produced(*text))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("cities", *text).pipe("00100", "Rome")
        ...     driver.input_topic("orders", *text).pipe("o1", "00100")
        ...     driver.output_topic("out", *text).read_key_value()
        ('o1', 'Rome')
        """
        return self._join("inner", other, arguments, options)

    @overload
    def left_join(
        self, other: KTable[K, VO], joiner: Callable[..., R], joined: Joined | None = None
    ) -> KStream[K, R]: ...

    @overload
    def left_join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., R],
        windows: JoinWindows,
        joined: StreamJoined | None = None,
    ) -> KStream[K, R]: ...

    @overload
    def left_join(
        self,
        other: GlobalKTable[K2, VO],
        key_selector: Callable[[K, V], K2],
        joiner: Callable[..., R],
        *,
        name: str | None = None,
    ) -> KStream[K, R]: ...

    def left_join(self, other: Any, *arguments: Any, **options: Any) -> KStream[K, Any]:
        """As `join`, but a record without a match is joined with None.

        Use it when a record must not get lost because something is not known (yet). Arguments are those of `join`.
        Records with a null key are joined with None, those with a null value are skipped. With a stream, "no match" is
        known when the windows have closed: when stream time is past the difference and the grace.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> names = builder.table("names", Consumed(*text))
        >>> orders = builder.stream("orders", Consumed(*text))
        >>> orders.left_join(names, lambda order, name: f"{order} for {name}").to("out", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders", *text).pipe("u2", "milk")
        ...     driver.output_topic("out", *text).read_key_values()
        [('u2', 'milk for None')]
        """
        return self._join("left", other, arguments, options)

    def outer_join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., R],
        windows: JoinWindows,
        joined: StreamJoined | None = None,
    ) -> KStream[K, R]:
        """As `join` of two streams, but records of either side without a match are joined with None.

        Use it to see both what met and what did not, on both sides. A record without a match comes out when its window
        has closed.

        >>> from datetime import timedelta
        >>> from millstream import Consumed, JoinWindows, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> sent, paid = (builder.stream(topic, Consumed(*text)) for topic in ("sent", "paid"))
        >>> week = JoinWindows.of_time_difference(timedelta(days=7))
        >>> sent.outer_join(paid, lambda bill, money: f"{bill}, {money}", week).to("out", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("sent", *text).pipe("b1", "bill 1", timestamp=0)
        ...     driver.input_topic("paid", *text).pipe("b2", "20 euro", timestamp=8 * 24 * 60 * 60 * 1000)
        ...     driver.output_topic("out", *text).read_key_values()
        [('b1', 'bill 1, None')]
        """
        return self._join("outer", other, (joiner, windows, joined), {})

    def _join(self, kind: JoinKind, other: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> KStream[K, Any]:
        from millstream.dsl.streams.stream_joins import join  # streams and their joins need each other

        return join(kind, cast("KStream[K, V]", self), other, arguments, options)
