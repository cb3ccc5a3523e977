"""`KStream`: a stream of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from millstream.dsl import prefixes
from millstream.dsl.functions import checked
from millstream.dsl.options import (
    Grouped,
    Materialized,
    Produced,
    Repartitioned,
    chosen,
)
from millstream.dsl.place import Place, check_same_builder, repartitioned
from millstream.dsl.streams.join_operators import JoinOperators
from millstream.dsl.streams.record_operators import RecordOperators
from millstream.dsl.unknown import call, needed_for, unknown_key, unknown_value
from millstream.errors import TopologyError
from millstream.graph.nodes import ProcessorNode, RepartitionNode, SinkNode, TableNode
from millstream.processors import stateless
from millstream.processors.api import FixedKeyProcessor, Processor
from millstream.processors.user import fixed_key_operator, processor_operator
from millstream.topology.names import check_name

if TYPE_CHECKING:
    from millstream.dsl.streams.branched import BranchedKStream
    from millstream.dsl.streams.grouped import KGroupedStream
    from millstream.dsl.streams.ktable import KTable

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")


class KStream(RecordOperators[K, V], JoinOperators[K, V]):
    """A stream of records: each one stands for itself.

    Made by `StreamsBuilder.stream`, never directly. Every method adds an operator and gives the stream of its results;
    the stream it is called on can be used again. Predicates and mappers get `(key, value)`; what cannot change the key
    gets the value, or `(key, value)` if it has two parameters.

    Every operator takes a `name`: that of its node, in `Topology.describe` and in errors. Without one a name is made
    up.

    Serdes flow along as long as keys and values stay what they are. An operator that makes new ones forgets their
    serde, so the next place where bytes are needed has to give it: `Produced`, `Grouped`, `Materialized`, or the
    configuration.

    >>> from millstream import Consumed, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder = StreamsBuilder()
    >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
    >>> words.filter(lambda key, word: word != "").to("real-words")
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe_values(["mill", "", "stream"])
    ...     driver.output_topic("real-words", Serdes.string, Serdes.string).read_values()
    ['mill', 'stream']
    """

    # --- shape

    def split(self, name: str | None = None) -> BranchedKStream[K, V]:
        """Begin to branch: each record goes to the first branch whose predicate is true.

        Use it when records of different kinds go different ways and each belongs to one only. For overlapping kinds use
        several `filter`s. `name` begins the names of the branches.

        >>> from millstream import Branched, Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> numbers = builder.stream("numbers", Consumed(Serdes.string, Serdes.long))
        >>> sizes = numbers.split("size-").branch(lambda key, n: n >= 10, Branched("big")).no_default_branch()
        >>> sizes["size-big"].to("big-numbers")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("numbers", Serdes.string, Serdes.long).pipe_values([3, 14, 15])
        ...     driver.output_topic("big-numbers", Serdes.string, Serdes.long).read_values()
        [14, 15]
        """
        from millstream.dsl.streams.branched import BranchedKStream  # streams and branches need each other

        return BranchedKStream(self._place, self._repartition_needed, name)

    def merge(self, other: KStream[K, V], name: str | None = None) -> KStream[K, V]:
        """All records of both streams, in no order between the two.

        Use it when two topics hold the same kind of thing. If both streams come straight from topics, `stream([a, b])`
        does the same.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> web, shop = (builder.stream(topic, Consumed(Serdes.string, Serdes.string)) for topic in ("web", "shop"))
        >>> web.merge(shop).to("all")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("web", Serdes.string, Serdes.string).pipe("o1", "from the web")
        ...     driver.input_topic("shop", Serdes.string, Serdes.string).pipe("o2", "from the shop")
        ...     driver.output_topic("all", Serdes.string, Serdes.string).read_values()
        ['from the web', 'from the shop']
        """
        if not isinstance(other, KStream):
            raise TopologyError("a stream can be merged with a KStream", detail=f"got {type(other).__name__}")
        mine, theirs = self._place, other._place
        check_same_builder(mine.dsl, theirs.dsl, "merge")
        node_name = mine.dsl.name(prefixes.MERGE, name)
        node = mine.dsl.graph.add(
            ProcessorNode,
            name=node_name,
            parents=(mine.node, theirs.node),
            factory=stateless.PassThrough,
            merges=True,
        )
        unlike = "a merge of streams that do not share a serde"
        place = Place(
            mine.dsl,
            node,
            node_name,
            mine.key if mine.key is theirs.key else unknown_key(unlike),
            mine.value if mine.value is theirs.value else unknown_value(unlike),
            mine.sources | theirs.sources,
        )
        return KStream(place, repartition_needed=self._repartition_needed or other._repartition_needed)

    def repartition(self, repartitioned: Repartitioned | None = None) -> KStream[K, V]:
        """Send all records through a topic, so that equal keys meet in one partition.

        Use it to spread work over more partitions, to choose the partitioner, or to share one repartition between
        several joins. Aggregations and joins repartition by themselves where they must.

        >>> from millstream import Consumed, Repartitioned, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
        >>> words.repartition(Repartitioned(name="words-by-key", partitions=8)).to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe("k", "mill")
        ...     driver.internal_topics
        {'app-words-by-key-repartition'}
        """
        options = chosen(repartitioned, Repartitioned, "repartition")
        place = self._place
        graph = place.dsl.graph
        key = options.key or needed_for("Repartitioned(key=...)", place.key)
        value = options.value or needed_for("Repartitioned(value=...)", place.value)
        base = options.name or graph.new_name(prefixes.REPARTITION)
        names = graph.new_repartition_names(base)
        node = graph.add(
            RepartitionNode,
            parents=(place.node,),
            key=key,
            value=value,
            partitions=options.partitions,
            partitioner=options.partitioner,
            mergeable=False,
            **names,
        )
        result = Place(place.dsl, node, names["name"], key, value, frozenset({names["name"]}))
        return KStream(result, repartition_needed=False)

    def to(self, topic: str | Callable[..., str], produced: Produced | None = None) -> None:
        """Write the records to a topic, or each to the topic that `extractor(key, value, context)` names.

        Use it wherever a result leaves the application. The context of an extractor tells topic, partition, offset,
        timestamp and headers (a `RecordContext`).

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json))
        >>> orders.to(lambda key, order, context: f"orders-{order['region']}")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders", Serdes.string, Serdes.json).pipe("o1", {"region": "eu"})
        ...     driver.output_topic("orders-eu", Serdes.string, Serdes.json).read_key_value()
        ('o1', {'region': 'eu'})
        """
        options = chosen(produced, Produced, "to")
        place = self._place
        if callable(topic):
            checked(topic, "to", "key", "value", "context")
        else:
            check_name(topic, "topic")
        place.dsl.graph.add(
            SinkNode,
            name=place.dsl.name(prefixes.SINK, options.name),
            parents=(place.node,),
            topic=topic,
            key=options.key or needed_for("Produced(key=...)", place.key),
            value=options.value or needed_for("Produced(value=...)", place.value),
            partitioner=options.partitioner,
        )

    def to_table(self, materialized: Materialized | None = None, name: str | None = None) -> KTable[K, V]:
        """Read the stream as a table: each record is the new value of its key, a null value deletes it.

        Use it to look up the latest record of each key of a stream that you have changed on the way. For a topic as it
        is, `StreamsBuilder.table` is shorter.

        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> moves = builder.stream("moves", Consumed(Serdes.string, Serdes.string))
        >>> table = moves.to_table(Materialized("where"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     moves = driver.input_topic("moves", Serdes.string, Serdes.string)
        ...     moves.pipe_key_values([("ann", "Rome"), ("ann", "Oslo")])
        ...     driver.key_value_store("where").get("ann")
        'Oslo'
        """
        from millstream.dsl.stores import key_value_store
        from millstream.dsl.streams.ktable import KTable

        options = chosen(materialized, Materialized, "to_table")
        place = self._place
        key = options.key or needed_for("Materialized(key=...)", place.key)
        value = options.value or needed_for("Materialized(value=...)", place.value)
        node_name = place.dsl.name(prefixes.TO_TABLE, name)
        store_name = options.store_name or place.dsl.graph.new_store_name(prefixes.TO_TABLE)
        if self._repartition_needed:
            place = repartitioned(place, node_name, key, value)
        store = key_value_store(place.dsl.config, options, store_name, key, value)
        node = place.dsl.graph.add(
            TableNode,
            name=node_name,
            parents=(place.node,),
            store=store,
            stored=options.store_name is not None,
            versioned=store.is_versioned,
        )
        return KTable(
            replace(place, node=node, name=node_name, key=key, value=value), queryable_store_name=options.store_name
        )

    # --- grouping

    def group_by_key(self, grouped: Grouped | None = None) -> KGroupedStream[K, V]:
        """Group the records by their key, to aggregate them.

        Use it when the key is already what you count or sum by. If the key was changed before, the records first go
        through a repartition topic.

        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string))
        >>> table = clicks.group_by_key().count(Materialized("clicks-by-user"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     clicks = driver.input_topic("clicks", Serdes.string, Serdes.string)
        ...     clicks.pipe_key_values([("ann", "/"), ("ann", "/faq")])
        ...     driver.key_value_store("clicks-by-user").get("ann")
        2
        """
        from millstream.dsl.streams.grouped import KGroupedStream

        options = chosen(grouped, Grouped, "group_by_key")
        return KGroupedStream(
            _grouped(self._place, options), repartition_needed=self._repartition_needed, name=options.name
        )

    def group_by(self, mapper: Callable[[K, V], K2], grouped: Grouped | None = None) -> KGroupedStream[K2, V]:
        """Group the records by a new key, to aggregate them; they go through a repartition topic.

        Use it to count or sum by something that is in the value. The new key needs a serde, the value keeps its own.

        >>> from millstream import Consumed, Grouped, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json))
        >>> by_region = orders.group_by(lambda key, order: order["region"], Grouped(key=Serdes.string))
        >>> table = by_region.count(Materialized("orders-by-region"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders", Serdes.string, Serdes.json).pipe("o1", {"region": "eu"})
        ...     driver.key_value_store("orders-by-region").get("eu")
        1
        """
        from millstream.dsl.streams.grouped import KGroupedStream

        checked(mapper, "group_by", "key", "value")
        options = chosen(grouped, Grouped, "group_by")
        origin = call("group_by", mapper)
        selected = self._then(
            prefixes.KEY_SELECT, options.name, partial(stateless.SelectKey, mapper), new_key=origin, changes_key=True
        )
        return KGroupedStream(_grouped(selected._place, options), repartition_needed=True, name=options.name)

    # --- processors of the user's own

    def process(
        self, supplier: Callable[[], Processor[K, V, K2, V2]], *stores: str, name: str | None = None
    ) -> KStream[K2, V2]:
        """Run a `Processor`, connected to the named stores.

        Use it for what no operator does: own state, timers, several results per record. Keys may change, so what
        follows may repartition; `process_values` avoids that.

        Args:
            supplier: the processor's class, or a function that makes a new one each time.
            stores: names of stores added with `StreamsBuilder.add_state_store`.
            name: of the node.

        >>> from millstream import Consumed, Processor, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> class Twice(Processor):
        ...     def process(self, record):
        ...         self.context.forward(record)
        ...         self.context.forward(record.with_value(record.value.upper()))
        >>> builder = StreamsBuilder()
        >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
        >>> words.process(Twice).to("out", Produced(Serdes.string, Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe("k", "mill")
        ...     driver.output_topic("out", Serdes.string, Serdes.string).read_values()
        ['mill', 'MILL']
        """
        origin = call("process", supplier)
        return self._process(
            supplier, prefixes.PROCESSOR, name, processor_operator(supplier), stores, origin, new_key=True
        )

    def process_values(
        self, supplier: Callable[[], FixedKeyProcessor[K, V, V2]], *stores: str, name: str | None = None
    ) -> KStream[K, V2]:
        """Run a `FixedKeyProcessor`, connected to the named stores; keys stay, so nothing needs repartitioning.

        Use it as `process`, when the key stays. Arguments are those of `process`.

        >>> from millstream import Consumed, FixedKeyProcessor, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> class AddTime(FixedKeyProcessor):
        ...     def process(self, record):
        ...         self.context.forward(record.with_value(f"{record.value} at {record.timestamp}"))
        >>> builder = StreamsBuilder()
        >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
        >>> words.process_values(AddTime).to("out", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe("k", "mill", timestamp=5)
        ...     driver.output_topic("out", Serdes.string, Serdes.string).read_value()
        'mill at 5'
        """
        origin = call("process_values", supplier)
        return self._process(
            supplier, prefixes.PROCESS_VALUES, name, fixed_key_operator(supplier), stores, origin, new_key=False
        )


def _grouped(place: Place, options: Grouped) -> Place:
    """A stream with the serdes of its grouping."""
    return replace(
        place,
        key=options.key or needed_for("Grouped(key=...)", place.key),
        value=options.value or needed_for("Grouped(value=...)", place.value),
    )
