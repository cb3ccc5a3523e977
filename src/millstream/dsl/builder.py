"""`StreamsBuilder`: where a topology begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from millstream.config import StreamsConfig
from millstream.dsl import prefixes
from millstream.dsl.options import Consumed, Materialized, chosen
from millstream.dsl.place import Dsl, Place
from millstream.dsl.stores import check_store_builder, key_value_store
from millstream.dsl.streams.kstream import KStream
from millstream.dsl.streams.ktable import GlobalKTable, KTable
from millstream.dsl.unknown import unknown_key, unknown_value
from millstream.errors import ArgumentError, TopologyError
from millstream.graph.explicit_names import check_explicit_names
from millstream.graph.nodes import (
    GlobalStoreNode,
    GlobalTableNode,
    SourceNode,
    StateStoreNode,
    TableSourceNode,
)
from millstream.graph.rules import optimize
from millstream.graph.write import write
from millstream.serdes import Serde
from millstream.topology import Topology
from millstream.topology.names import check_name
from millstream.topology.wrapping import wrap_processors

K = TypeVar("K")
V = TypeVar("V")


class StreamsBuilder:
    """Builds a topology from streams and tables.

    Begin here: `stream`, `table` or `global_table` read topics, the objects they give have the operators, `build` makes
    the topology.

    >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
    >>> words.map_values(str.upper).to("loud", Produced(value=Serdes.string))
    >>> print(builder.build().describe())
    Topologies:
       Sub-topology: 0
        Source: KSTREAM-SOURCE-0000000000 (topics: [words])
          --> KSTREAM-MAPVALUES-0000000001
        Processor: KSTREAM-MAPVALUES-0000000001 (stores: [])
          --> KSTREAM-SINK-0000000002
          <-- KSTREAM-SOURCE-0000000000
        Sink: KSTREAM-SINK-0000000002 (topic: loud)
          <-- KSTREAM-MAPVALUES-0000000001
    <BLANKLINE>
    <BLANKLINE>

    Args:
        config: settings that shape the topology: the kind of stores, its optimisation, what is around processors.
    """

    def __init__(self, config: StreamsConfig | None = None) -> None:
        self._dsl = Dsl(config or StreamsConfig())

    @overload
    def stream(self, topic: str | Iterable[str] | re.Pattern[str], consumed: Consumed[K, V]) -> KStream[K, V]: ...

    @overload
    def stream(self, topic: str | Iterable[str] | re.Pattern[str], consumed: None = None) -> KStream[Any, Any]: ...

    def stream(
        self, topic: str | Iterable[str] | re.Pattern[str], consumed: Consumed[Any, Any] | None = None
    ) -> KStream[Any, Any]:
        """A stream of the records of a topic, of several topics, or of all topics that match a pattern.

        Use it for events. A pattern is an `re.Pattern`; it must match the whole name of a topic.

        >>> import re
        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> builder.stream(re.compile("orders-.*"), Consumed(Serdes.string, Serdes.string)).to("all-orders")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders-eu", Serdes.string, Serdes.string).pipe("o1", "tea")
        ...     driver.input_topic("orders-us", Serdes.string, Serdes.string).pipe("o2", "coffee")
        ...     driver.output_topic("all-orders", Serdes.string, Serdes.string).read_values()
        ['tea', 'coffee']
        """
        options = chosen(consumed, Consumed, "stream")
        pattern = topic if isinstance(topic, re.Pattern) else None
        topics = () if isinstance(topic, re.Pattern) else _topics(topic)
        origin = f"topic {', '.join(topics)}" if pattern is None else f"topics like {pattern.pattern}"
        key, value = _serdes(options, Materialized(), origin)
        name = self._dsl.name(prefixes.SOURCE, options.name)
        node = self._dsl.graph.add(
            SourceNode,
            name=name,
            topics=topics,
            pattern=pattern,
            key=key,
            value=value,
            timestamp_extractor=options.timestamp_extractor,
            offset_reset=options.offset_reset,
        )
        place = Place(self._dsl, node, name, key, value, frozenset({name}))
        return KStream(place, repartition_needed=False)

    @overload
    def table(self, topic: str, consumed: Consumed[K, V], materialized: Materialized | None = None) -> KTable[K, V]: ...

    @overload
    def table(
        self, topic: str, consumed: None = None, materialized: Materialized | None = None
    ) -> KTable[Any, Any]: ...

    def table(
        self, topic: str, consumed: Consumed[Any, Any] | None = None, materialized: Materialized | None = None
    ) -> KTable[Any, Any]:
        """A table of a topic: each record is the new row of its key.

        Use it for topics that say how things are, not what happened, usually compacted ones. A null value deletes a
        row.

        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> users = builder.table("users", Consumed(Serdes.string, Serdes.string), Materialized("users"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     users = driver.input_topic("users", Serdes.string, Serdes.string)
        ...     users.pipe_key_values([("u1", "Ann"), ("u1", "Anna")])
        ...     driver.key_value_store("users").get("u1")
        'Anna'
        """
        options = chosen(consumed, Consumed, "table")
        kept = chosen(materialized, Materialized, "table")
        check_name(topic, "topic")
        key, value = _serdes(options, kept, f"topic {topic}")
        store_name = kept.store_name or self._dsl.graph.new_store_name(f"{topic}-")
        source_name = self._dsl.name(prefixes.SOURCE, options.name, "-source")
        name = self._dsl.name(prefixes.TABLE_SOURCE, options.name)
        store = key_value_store(self._dsl.config, kept, store_name, key, value)
        node = self._dsl.graph.add(
            TableSourceNode,
            name=name,
            topic=topic,
            source_name=source_name,
            store=store,
            stored=kept.store_name is not None,
            versioned=store.is_versioned,
            key=key,
            value=value,
            timestamp_extractor=options.timestamp_extractor,
            offset_reset=options.offset_reset,
        )
        place = Place(self._dsl, node, name, key, value, frozenset({source_name}))
        return KTable(place, queryable_store_name=kept.store_name)

    @overload
    def global_table(
        self, topic: str, consumed: Consumed[K, V], materialized: Materialized | None = None
    ) -> GlobalKTable[K, V]: ...

    @overload
    def global_table(
        self, topic: str, consumed: None = None, materialized: Materialized | None = None
    ) -> GlobalKTable[Any, Any]: ...

    def global_table(
        self, topic: str, consumed: Consumed[Any, Any] | None = None, materialized: Materialized | None = None
    ) -> GlobalKTable[Any, Any]:
        """A table of a topic that every task holds as a whole.

        Use it for small tables that records look up by something other than their key. See `GlobalKTable`.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> rates = builder.global_table("rates", Consumed(Serdes.string, Serdes.double))
        >>> prices = builder.stream("prices", Consumed(Serdes.string, Serdes.json))
        >>> in_euro = prices.join(rates, lambda key, price: price["in"], lambda price, rate: price["sum"] * rate)
        >>> in_euro.to("euro", Produced(value=Serdes.double))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("rates", Serdes.string, Serdes.double).pipe("usd", 0.5)
        ...     driver.input_topic("prices", Serdes.string, Serdes.json).pipe("tea", {"sum": 3, "in": "usd"})
        ...     driver.output_topic("euro", Serdes.string, Serdes.double).read_key_value()
        ('tea', 1.5)
        """
        options = chosen(consumed, Consumed, "global_table")
        kept = chosen(materialized, Materialized, "global_table")
        check_name(topic, "topic")
        key, value = _serdes(options, kept, f"topic {topic}")
        store_name = kept.store_name or self._dsl.graph.new_store_name(f"{topic}-")
        source_name = self._dsl.name(prefixes.SOURCE, options.name, "-source")
        name = self._dsl.name(prefixes.TABLE_SOURCE, options.name)
        store = key_value_store(self._dsl.config, kept, store_name, key, value).without_logging()
        if store.is_versioned:
            raise ArgumentError("a global table cannot have versions", hint="give it a key-value store, or none at all")
        self._dsl.graph.add(
            GlobalTableNode, name=name, topic=topic, source_name=source_name, store=store, key=key, value=value
        )
        return GlobalKTable(self._dsl, store.name, kept.store_name)

    def add_state_store(self, builder: Any) -> StreamsBuilder:
        """Add a store that processors can be connected to by name.

        Use it for the state of your own processors. `builder` comes from `Stores`, or is anything with `name`,
        `logging` and `build()`.

        >>> from millstream import Consumed, Processor, Serdes, Stores, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> class Unique(Processor):
        ...     def process(self, record):
        ...         if self.context.state_store("seen").put_if_absent(record.key, record.value) is None:
        ...             self.context.forward(record)
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> _ = builder.add_state_store(Stores.key_value_store(Stores.in_memory_key_value("seen"), *text))
        >>> builder.stream("in", Consumed(*text)).process(Unique, "seen").foreach(lambda key, value: print(key, value))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("in", *text).pipe_key_values([("a", "1"), ("a", "2"), ("b", "3")])
        a 1
        b 3
        """
        check_store_builder(builder, "add_state_store")
        self._dsl.graph.add(StateStoreNode, name=builder.name, store=builder)
        return self

    def add_global_store(
        self, builder: Any, topic: str, consumed: Consumed[Any, Any], supplier: Callable[[], Any]
    ) -> StreamsBuilder:
        """Add a global store that a processor of your own fills from a topic.

        Use it when a global table needs to be kept in another form than that of its topic. The store must not have
        logging: the topic is its log. Other processors read it by name, without being connected.

        >>> from millstream import Consumed, Processor, Serdes, Stores, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> class Upper(Processor):
        ...     def process(self, record):
        ...         self.context.state_store("cities").put(record.key, record.value.upper())
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> store = Stores.key_value_store(Stores.in_memory_key_value("cities"), *text).without_logging()
        >>> _ = builder.add_global_store(store, "cities", Consumed(*text), Upper)
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("cities", *text).pipe("00100", "Rome")
        ...     driver.key_value_store("cities").get("00100")
        'ROME'
        """
        check_store_builder(builder, "add_global_store")
        options = chosen(consumed, Consumed, "add_global_store")
        key, value = _serdes(options, Materialized(), f"topic {topic}")
        source_name = self._dsl.name(prefixes.SOURCE)
        self._dsl.graph.add(
            GlobalStoreNode,
            name=self._dsl.name(prefixes.TABLE_SOURCE),
            source_name=source_name,
            store=builder,
            topic=check_name(topic, "topic"),
            key=key,
            value=value,
            timestamp_extractor=options.timestamp_extractor,
            supplier=supplier,
        )
        return self

    def build(self, config: StreamsConfig | None = None) -> Topology:
        """The topology, optimised as the configuration says.

        Use it once all operators are there; the builder may be used further, and built again.

        >>> from millstream import Consumed, Serdes, StreamsBuilder, StreamsConfig
        >>> builder = StreamsBuilder()
        >>> users = builder.table("users", Consumed(Serdes.string, Serdes.string))
        >>> topology = builder.build(StreamsConfig(topology_optimization="all"))
        >>> list(topology.nodes)
        ['KSTREAM-SOURCE-0000000001', 'KTABLE-SOURCE-0000000002']
        """
        config = config or self._dsl.config
        topology = write(optimize(self._dsl.graph.graph(), frozenset(config.optimizations)))
        if config.processor_wrapper is not None:
            wrap_processors(topology, config.processor_wrapper)
        if config.ensure_explicit_internal_resource_naming:
            check_explicit_names(topology)
        return topology


def _topics(topic: str | Iterable[str]) -> tuple[str, ...]:
    topics = tuple(topic) if isinstance(topic, Iterable) and not isinstance(topic, str) else (topic,)
    if not topics:
        raise TopologyError("a stream needs at least one topic", hint="name a topic, or give a pattern")
    return tuple(check_name(name, "topic") for name in topics)


def _serdes(consumed: Consumed[Any, Any], materialized: Materialized, origin: str) -> tuple[Serde[Any], Serde[Any]]:
    """The serdes of a topic: those given, or unknown ones."""
    return (
        consumed.key or materialized.key or unknown_key(origin, "Consumed(key=...)"),
        consumed.value or materialized.value or unknown_value(origin, "Consumed(value=...)"),
    )
