"""`StreamsBuilder`: where a topology begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from millstream.config import StreamsConfig
from millstream.dsl import prefixes
from millstream.dsl.kstream import KStream
from millstream.dsl.ktable import GlobalKTable, KTable
from millstream.dsl.options import Consumed, Materialized
from millstream.dsl.stores import key_value_store
from millstream.dsl.stream import Dsl, Place
from millstream.errors import ArgumentError, TopologyError
from millstream.graph.nodes import (
    GlobalStoreNode,
    GlobalTableNode,
    SourceNode,
    StateStoreNode,
    TableSourceNode,
)
from millstream.graph.rules import optimize
from millstream.graph.write import write
from millstream.topology import Topology
from millstream.topology.names import check_name


class StreamsBuilder:
    """Builds a topology from streams and tables.

    >>> from millstream import Consumed, Serdes, StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
    >>> words.map_values(str.upper).to("loud")
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
        config: settings that shape the topology: the kind of stores, and its optimisation.
    """

    def __init__(self, config: StreamsConfig | None = None) -> None:
        self._dsl = Dsl(config or StreamsConfig())

    def stream(
        self, topic: str | Sequence[str] | re.Pattern[str], consumed: Consumed | None = None
    ) -> KStream[Any, Any]:
        """A stream of the records of a topic, of several topics, or of all topics that match a pattern."""
        options = consumed or Consumed()
        name = self._dsl.name(prefixes.SOURCE, options.name)
        pattern = topic if isinstance(topic, re.Pattern) else None
        topics = () if isinstance(topic, re.Pattern) else _topics(topic)
        node = self._dsl.graph.add(
            SourceNode,
            name=name,
            topics=topics,
            pattern=pattern,
            key=options.key,
            value=options.value,
            timestamp_extractor=options.timestamp_extractor,
            offset_reset=options.offset_reset,
        )
        place = Place(self._dsl, node, name, options.key, options.value, frozenset({name}))
        return KStream(place, repartition_needed=False)

    def table(
        self, topic: str, consumed: Consumed | None = None, materialized: Materialized | None = None
    ) -> KTable[Any, Any]:
        """A table of a topic: each record is the new row of its key."""
        options, kept = consumed or Consumed(), materialized or Materialized()
        check_name(topic, "topic")
        key, value = options.key or kept.key, options.value or kept.value
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

    def global_table(
        self, topic: str, consumed: Consumed | None = None, materialized: Materialized | None = None
    ) -> GlobalKTable[Any, Any]:
        """A table of a topic that every task holds as a whole."""
        options, kept = consumed or Consumed(), materialized or Materialized()
        check_name(topic, "topic")
        key, value = options.key or kept.key, options.value or kept.value
        store_name = kept.store_name or self._dsl.graph.new_store_name(f"{topic}-")
        source_name = self._dsl.name(prefixes.SOURCE, options.name, "-source")
        name = self._dsl.name(prefixes.TABLE_SOURCE, options.name)
        store = key_value_store(self._dsl.config, kept, store_name, key, value).without_logging()
        if store.is_versioned:
            raise ArgumentError("a global table cannot have versions", hint="give it a key-value store, or none at all")
        self._dsl.graph.add(
            GlobalTableNode, name=name, topic=topic, source_name=source_name, store=store, key=key, value=value
        )
        return GlobalKTable(store.name, kept.store_name)

    def add_state_store(self, builder: Any) -> StreamsBuilder:
        """Add a store that processors can be connected to by name."""
        self._dsl.graph.add(StateStoreNode, name=builder.name, store=builder)
        return self

    def add_global_store(
        self, builder: Any, topic: str, consumed: Consumed, supplier: Callable[[], Any]
    ) -> StreamsBuilder:
        """Add a global store that a processor of your own fills from a topic."""
        source_name = self._dsl.name(prefixes.SOURCE)
        self._dsl.graph.add(
            GlobalStoreNode,
            name=self._dsl.name(prefixes.TABLE_SOURCE),
            source_name=source_name,
            store=builder,
            topic=check_name(topic, "topic"),
            key=consumed.key,
            value=consumed.value,
            timestamp_extractor=consumed.timestamp_extractor,
            supplier=supplier,
        )
        return self

    def build(self, config: StreamsConfig | None = None) -> Topology:
        """The topology, optimised as the configuration says."""
        wanted = (config or self._dsl.config).optimizations
        return write(optimize(self._dsl.graph.graph(), frozenset(wanted)))


def _topics(topic: str | Sequence[str]) -> tuple[str, ...]:
    topics = (topic,) if isinstance(topic, str) else tuple(topic)
    if not topics:
        raise TopologyError("a stream needs at least one topic")
    return tuple(check_name(name, "topic") for name in topics)
