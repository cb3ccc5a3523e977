"""`KStream`: a stream of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millstream.dsl import prefixes
from millstream.dsl.functions import check_store_names, checked, takes_key
from millstream.dsl.options import (
    Grouped,
    Joined,
    Materialized,
    Produced,
    Repartitioned,
    StreamJoined,
    chosen,
)
from millstream.dsl.stream import Place, check_same_builder, repartitioned
from millstream.dsl.unknown import call, needed_for, unknown_key, unknown_value
from millstream.errors import ArgumentError, TopologyError
from millstream.graph.nodes import ProcessorNode, RepartitionNode, SinkNode, TableNode
from millstream.processors import stateless
from millstream.processors.api import FixedKeyProcessor, Processor
from millstream.processors.operator import OperatorFactory
from millstream.processors.user import fixed_key_operator, processor_operator
from millstream.serdes import Serde
from millstream.topology.names import check_name
from millstream.topology.suppliers import check_supplier
from millstream.windows import JoinWindows

if TYPE_CHECKING:
    from millstream.dsl.branched import BranchedKStream
    from millstream.dsl.grouped import KGroupedStream
    from millstream.dsl.ktable import GlobalKTable, KTable
    from millstream.dsl.stream_joins import JoinKind

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
VO = TypeVar("VO")
R = TypeVar("R")


class KStream(Generic[K, V]):
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

    def __init__(self, place: Place, *, repartition_needed: bool) -> None:
        self._place = place
        # The key changed, so equal keys may lie in different partitions until a repartition.
        self._repartition_needed = repartition_needed
        self._repartitioned: Place | None = None

    # --- one record at a time

    def filter(self, predicate: Callable[[K, V], bool], name: str | None = None) -> KStream[K, V]:
        """Keep the records for which the predicate is true.

        Use it early: what is dropped here costs nothing further down.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json))
        >>> orders.filter(lambda key, order: order["amount"] > 100).to("big")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     orders = driver.input_topic("orders", Serdes.string, Serdes.json)
        ...     orders.pipe_key_values([("o1", {"amount": 20}), ("o2", {"amount": 250})])
        ...     driver.output_topic("big", Serdes.string, Serdes.json).read_key_values()
        [('o2', {'amount': 250})]
        """
        checked(predicate, "filter", "key", "value")
        return self._then(prefixes.FILTER, name, partial(stateless.Filter, predicate))

    def filter_not(self, predicate: Callable[[K, V], bool], name: str | None = None) -> KStream[K, V]:
        """Keep the records for which the predicate is false.

        Use it when you have a function that tells what you do not want.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> users = builder.stream("users", Consumed(Serdes.string, Serdes.string))
        >>> users.filter_not(lambda key, name: name.startswith("test-")).to("real-users")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("users", Serdes.string, Serdes.string).pipe_values(["ann", "test-1", "bob"])
        ...     driver.output_topic("real-users", Serdes.string, Serdes.string).read_values()
        ['ann', 'bob']
        """
        checked(predicate, "filter_not", "key", "value")
        return self._then(prefixes.FILTER, name, partial(stateless.FilterNot, predicate))

    def map(self, mapper: Callable[[K, V], tuple[K2, V2]], name: str | None = None) -> KStream[K2, V2]:
        """Replace key and value by the `(key, value)` tuple that the mapper returns.

        Use it when both change. The key may now be another, so a join or an aggregation behind it goes through a
        repartition topic; `map_values` needs none.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json))
        >>> orders.map(lambda key, o: (o["region"], o["amount"])).to("amounts", Produced(Serdes.string, Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders", Serdes.string, Serdes.json).pipe("o1", {"region": "eu", "amount": 20})
        ...     driver.output_topic("amounts", Serdes.string, Serdes.long).read_key_value()
        ('eu', 20)
        """
        checked(mapper, "map", "key", "value")
        origin = call("map", mapper)
        return self._then(
            prefixes.MAP, name, partial(stateless.Map, mapper), new_key=origin, new_value=origin, changes_key=True
        )

    @overload
    def map_values(self, mapper: Callable[[V], V2], name: str | None = None) -> KStream[K, V2]: ...

    @overload
    def map_values(self, mapper: Callable[[K, V], V2], name: str | None = None) -> KStream[K, V2]: ...

    def map_values(self, mapper: Callable[..., Any], name: str | None = None) -> KStream[K, Any]:
        """Replace the value; the key stays.

        Use it for every change of shape that leaves the key alone: nothing behind it needs repartitioning. The mapper
        gets the value, or `(key, value)` if it has two parameters.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
        >>> words.map_values(len).to("lengths", Produced(value=Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe("k", "millstream")
        ...     driver.output_topic("lengths", Serdes.string, Serdes.long).read_key_value()
        ('k', 10)
        """
        with_key = takes_key(mapper, "map_values", "value")
        operator: Any = stateless.MapValuesWithKey if with_key else stateless.MapValues
        origin = call("map_values", mapper)
        return self._then(prefixes.MAP_VALUES, name, partial(operator, mapper), new_value=origin, changes_value=True)

    def flat_map(self, mapper: Callable[[K, V], Iterable[tuple[K2, V2]]], name: str | None = None) -> KStream[K2, V2]:
        """Replace a record by any number of `(key, value)` tuples.

        Use it to take a record apart when each part has a key of its own. A mapper that gives nothing drops the record.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> carts = builder.stream("carts", Consumed(Serdes.string, Serdes.json))
        >>> carts.flat_map(lambda key, cart: cart.items()).to("items", Produced(Serdes.string, Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("carts", Serdes.string, Serdes.json).pipe("cart-1", {"apple": 3, "pear": 1})
        ...     driver.output_topic("items", Serdes.string, Serdes.long).read_key_values()
        [('apple', 3), ('pear', 1)]
        """
        checked(mapper, "flat_map", "key", "value")
        origin = call("flat_map", mapper)
        return self._then(
            prefixes.FLAT_MAP,
            name,
            partial(stateless.FlatMap, mapper),
            new_key=origin,
            new_value=origin,
            changes_key=True,
        )

    @overload
    def flat_map_values(self, mapper: Callable[[V], Iterable[V2]], name: str | None = None) -> KStream[K, V2]: ...

    @overload
    def flat_map_values(self, mapper: Callable[[K, V], Iterable[V2]], name: str | None = None) -> KStream[K, V2]: ...

    def flat_map_values(self, mapper: Callable[..., Iterable[Any]], name: str | None = None) -> KStream[K, Any]:
        """Replace a value by any number of values under the same key.

        Use it to take a record apart when the parts belong to the same key.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> lines = builder.stream("lines", Consumed(Serdes.string, Serdes.string))
        >>> lines.flat_map_values(lambda line: line.split()).to("words", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("lines", Serdes.string, Serdes.string).pipe("page-1", "to be or")
        ...     driver.output_topic("words", Serdes.string, Serdes.string).read_key_values()
        [('page-1', 'to'), ('page-1', 'be'), ('page-1', 'or')]
        """
        with_key = takes_key(mapper, "flat_map_values", "value")
        operator: Any = stateless.FlatMapValuesWithKey if with_key else stateless.FlatMapValues
        origin = call("flat_map_values", mapper)
        return self._then(
            prefixes.FLAT_MAP_VALUES, name, partial(operator, mapper), new_value=origin, changes_value=True
        )

    def select_key(self, mapper: Callable[[K, V], K2], name: str | None = None) -> KStream[K2, V]:
        """Replace the key; the value stays.

        Use it before a join or `group_by_key`, to say by what. The records then go through a repartition topic, so that
        equal keys meet.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json))
        >>> orders.select_key(lambda key, order: order["customer"]).to("by-customer", Produced(key=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders", Serdes.string, Serdes.json).pipe("o1", {"customer": "ann"})
        ...     driver.output_topic("by-customer", Serdes.string, Serdes.json).read_key_value()
        ('ann', {'customer': 'ann'})
        """
        checked(mapper, "select_key", "key", "value")
        origin = call("select_key", mapper)
        return self._then(
            prefixes.KEY_SELECT, name, partial(stateless.SelectKey, mapper), new_key=origin, changes_key=True
        )

    def peek(self, action: Callable[[K, V], object], name: str | None = None) -> KStream[K, V]:
        """Show every record to an action and pass it on.

        Use it to count or to log on the way. What the action returns is ignored; it must not change the value.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, seen = StreamsBuilder(), []
        >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
        >>> words.peek(lambda key, word: seen.append(word)).to("same-words")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe_values(["mill", "stream"])
        >>> seen
        ['mill', 'stream']
        """
        checked(action, "peek", "key", "value")
        return self._then(prefixes.PEEK, name, partial(stateless.Peek, action))

    def foreach(self, action: Callable[[K, V], object], name: str | None = None) -> None:
        """End the stream in an action.

        Use it for side effects that are no topic, such as a call of another system. They are not undone when a record
        is processed again after a failure.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> alerts = builder.stream("alerts", Consumed(Serdes.string, Serdes.string))
        >>> alerts.foreach(lambda key, text: print(f"call {key}: {text}"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("alerts", Serdes.string, Serdes.string).pipe("ann", "disk full")
        call ann: disk full
        """
        checked(action, "foreach", "key", "value")
        self._then(prefixes.FOREACH, name, partial(stateless.Foreach, action))

    def print(
        self,
        label: str | None = None,
        file: str | Path | None = None,
        mapper: Callable[[K, V], str] | None = None,
        name: str | None = None,
    ) -> None:
        """End the stream in lines of text, `[label]: key, value`, on standard output or in a file.

        Use it to look into a topology while you write it.

        Args:
            label: what each line begins with; the name of the node above if missing.
            file: a path to write to instead of standard output.
            mapper: makes the text of a record; by default `key, value`.
            name: of the node.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> builder.stream("words", Consumed(Serdes.string, Serdes.string)).print(label="words")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe("k", "mill")
        [words]: k, mill
        """
        if mapper is not None:
            checked(mapper, "print", "key", "value")
        if file is not None and not str(file):
            raise ArgumentError("print needs the name of a file", detail="it was given an empty one")
        path = None if file is None else str(file)
        self._then(prefixes.PRINTER, name, partial(stateless.Print, label or self._place.name, mapper, path))

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
        from millstream.dsl.branched import BranchedKStream  # streams and branches need each other

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
        from millstream.dsl.ktable import KTable
        from millstream.dsl.stores import key_value_store

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
        from millstream.dsl.grouped import KGroupedStream

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
        from millstream.dsl.grouped import KGroupedStream

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

    # --- joins

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

    # --- inside

    def _join(self, kind: JoinKind, other: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> KStream[K, Any]:
        from millstream.dsl.stream_joins import join  # streams and their joins need each other

        return join(kind, self, other, arguments, options)

    def _then(
        self,
        prefix: str,
        name: str | None,
        factory: OperatorFactory,
        *,
        new_key: str | None = None,
        new_value: str | None = None,
        changes_key: bool = False,
        changes_value: bool = False,
    ) -> KStream[Any, Any]:
        """The stream behind one more operator; `new_key` and `new_value` say what makes them, if it does."""
        place = self._place
        node_name = place.dsl.name(prefix, name)
        node = place.dsl.graph.add(
            ProcessorNode,
            name=node_name,
            parents=(place.node,),
            factory=factory,
            changes_key=changes_key,
            changes_value=changes_value,
        )
        result = replace(
            place,
            node=node,
            name=node_name,
            key=place.key if new_key is None else unknown_key(new_key),
            value=place.value if new_value is None else unknown_value(new_value),
        )
        return KStream(result, repartition_needed=self._repartition_needed or changes_key)

    def _process(
        self,
        supplier: Callable[[], Any],
        prefix: str,
        name: str | None,
        factory: OperatorFactory,
        stores: tuple[str, ...],
        origin: str,
        *,
        new_key: bool,
    ) -> KStream[Any, Any]:
        place = self._place
        own_stores = tuple(check_supplier(supplier))
        check_store_names(stores)
        node_name = check_name(name) if name is not None else place.dsl.name(prefix)
        node = place.dsl.graph.add(
            ProcessorNode,
            name=node_name,
            parents=(place.node,),
            factory=factory,
            stores=own_stores,
            store_names=stores,
        )
        key = unknown_key(origin) if new_key else place.key
        result = replace(place, node=node, name=node_name, key=key, value=unknown_value(origin))
        return KStream(result, repartition_needed=self._repartition_needed or new_key)

    def _ready_for_join(self, base: str | None, key: Serde[Any], value: Serde[Any]) -> Place:
        """Where a join can read this stream: behind a repartition, if the key changed.

        Joins without a name share one repartition of a stream.
        """
        place = self._place
        if not self._repartition_needed:
            return place
        if self._repartitioned is None or base is not None:
            self._repartitioned = repartitioned(place, base or place.name, key, value)
        else:
            place.dsl.graph.new_repartition_names(place.name)  # the indices are used up all the same
        return self._repartitioned


def _grouped(place: Place, options: Grouped) -> Place:
    """A stream with the serdes of its grouping."""
    return replace(
        place,
        key=options.key or needed_for("Grouped(key=...)", place.key),
        value=options.value or needed_for("Grouped(value=...)", place.value),
    )
