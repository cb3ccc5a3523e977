"""`KTable` and `GlobalKTable`: the latest value of every key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from millstream.dsl import prefixes
from millstream.dsl.functions import check_store_names, checked, with_key
from millstream.dsl.options import Grouped, Materialized, TableJoined, chosen
from millstream.dsl.place import Dsl, Place, check_same_builder
from millstream.dsl.stores import key_value_store, suppress_buffer
from millstream.dsl.unknown import call, made_by, unknown_key, unknown_value
from millstream.errors import ArgumentError, TopologyError
from millstream.graph.nodes import (
    Node,
    ProcessorNode,
    SuppressNode,
    TableFilterNode,
    TableGroupByNode,
    TableMapValuesNode,
    TableNode,
    TableOperatorNode,
    TableTableJoinNode,
    TableTransformNode,
)
from millstream.processors.api import ValueTransformer
from millstream.processors.tables.to_stream import TableToStream
from millstream.serdes import Serde
from millstream.state import StoreBuilder
from millstream.suppressed import Suppressed
from millstream.topology.names import check_name
from millstream.topology.suppliers import check_supplier

if TYPE_CHECKING:
    from millstream.dsl.streams.grouped_table import KGroupedTable
    from millstream.dsl.streams.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
VO = TypeVar("VO")
R = TypeVar("R")


class GlobalKTable(Generic[K, V]):
    """A table of which every task holds all rows. Only streams can be joined with it, by any key.

    Use it for small tables that many records look up: nothing needs to be co-partitioned, and the key may come from
    anywhere in the record. Made by `StreamsBuilder.global_table`, joined by `KStream.join`.

    >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder = StreamsBuilder()
    >>> cities = builder.global_table("cities", Consumed(Serdes.string, Serdes.string), Materialized("city-names"))
    >>> cities.queryable_store_name
    'city-names'
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input_topic("cities", Serdes.string, Serdes.string).pipe("00100", "Rome")
    ...     driver.key_value_store("city-names").get("00100")
    'Rome'
    """

    def __init__(self, dsl: Dsl, store_name: str, queryable_store_name: str | None) -> None:
        self._dsl = dsl
        self._store_name = store_name
        #: The name of its store, if the user gave one.
        self.queryable_store_name = queryable_store_name


class KTable(Generic[K, V]):
    """A table: each update replaces its key's row, a null value deletes it.

    Made by `StreamsBuilder.table`, `KStream.to_table` or an aggregation. Functions are not asked about deleted rows,
    unless said otherwise.

    A table is kept in a store if you name one with `Materialized`, or if a join or a `group_by` needs it; else its
    updates just pass through. `queryable_store_name` is the name you gave, or None.

    >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder = StreamsBuilder()
    >>> users = builder.table("users", Consumed(Serdes.string, Serdes.string), Materialized("users"))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     topic = driver.input_topic("users", Serdes.string, Serdes.string)
    ...     topic.pipe_key_values([("u1", "Ann"), ("u2", "Bob"), ("u1", "Anna"), ("u2", None)])
    ...     list(driver.key_value_store("users").all())
    [('u1', 'Anna')]
    """

    def __init__(self, place: Place, *, queryable_store_name: str | None) -> None:
        self._place = place
        #: The name of its store, if the user gave one.
        self.queryable_store_name = queryable_store_name

    # --- row by row

    def filter(
        self, predicate: Callable[[K, V], bool], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """The rows for which the predicate is true; a row that no longer is gets deleted.

        Use it for a part of a table. Unlike with a stream, a row that stops being true gives a deletion (a null).

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> stock = builder.table("stock", Consumed(Serdes.string, Serdes.long))
        >>> stock.filter(lambda item, count: count < 10).to_stream().to("to-order")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("stock", Serdes.string, Serdes.long).pipe_key_values([("tea", 3), ("tea", 30)])
        ...     driver.output_topic("to-order", Serdes.string, Serdes.long).read_key_values()
        [('tea', 3), ('tea', None)]
        """
        return self._filter(predicate, name, materialized, negate=False)

    def filter_not(
        self, predicate: Callable[[K, V], bool], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """The rows for which the predicate is false.

        Use it as `filter`, when you have a function that tells what you do not want.

        >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> stock = builder.table("stock", Consumed(Serdes.string, Serdes.long))
        >>> there = stock.filter_not(lambda item, count: count == 0, Materialized("there"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("stock", Serdes.string, Serdes.long).pipe_key_values([("tea", 3), ("milk", 0)])
        ...     list(driver.key_value_store("there").all())
        [('tea', 3)]
        """
        return self._filter(predicate, name, materialized, negate=True)

    @overload
    def map_values(
        self, mapper: Callable[[V], V2], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[K, V2]: ...

    @overload
    def map_values(
        self, mapper: Callable[[K, V], V2], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[K, V2]: ...

    def map_values(
        self, mapper: Callable[..., Any], materialized: Materialized | None = None, name: str | None = None
    ) -> KTable[K, Any]:
        """Compute each row's value anew.

        Use it to give a table another shape. The mapper gets the value, or `(key, value)` if it has two parameters.
        Keys stay; to change them, `group_by` or `to_stream` and start again.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> users = builder.table("users", Consumed(Serdes.string, Serdes.json))
        >>> users.map_values(lambda user: user["name"]).to_stream().to("names", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     users = driver.input_topic("users", Serdes.string, Serdes.json)
        ...     users.pipe_key_values([("u1", {"name": "Ann"}), ("u1", None)])
        ...     driver.output_topic("names", Serdes.string, Serdes.string).read_key_values()
        [('u1', 'Ann'), ('u1', None)]
        """
        return self._table_operator(
            TableMapValuesNode,
            prefixes.TABLE_MAP_VALUES,
            name,
            materialized,
            "map_values",
            value=made_by("map_values", mapper),
            mapper=with_key(mapper, "map_values", "value"),
        )

    def transform_values(
        self,
        supplier: Callable[[], ValueTransformer[K, V, V2]],
        *stores: str,
        materialized: Materialized | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """Compute each row's value with a `ValueTransformer`, which can use stores and is asked about deletions too.

        Use it when `map_values` is not enough: for a value that depends on a store, or on the record's time or headers.

        Args:
            supplier: the transformer's class, or a function that makes a new one each time.
            stores: names of stores added with `StreamsBuilder.add_state_store`.
            name: of the node.
            materialized: keeps the result; without it a join computes rows anew when it looks them up.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder, ValueTransformer
        >>> from millstream.testing import TopologyTestDriver
        >>> class Dated(ValueTransformer):
        ...     def transform(self, key, value):
        ...         return None if value is None else f"{value} since {self.context.timestamp}"
        >>> builder = StreamsBuilder()
        >>> users = builder.table("users", Consumed(Serdes.string, Serdes.string))
        >>> users.transform_values(Dated).to_stream().to("out", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("users", Serdes.string, Serdes.string).pipe("u1", "Ann", timestamp=7)
        ...     driver.output_topic("out", Serdes.string, Serdes.string).read_value()
        'Ann since 7'
        """
        own_stores = tuple(check_supplier(supplier))
        check_store_names(stores)
        return self._table_operator(
            TableTransformNode,
            prefixes.TABLE_TRANSFORM_VALUES,
            name,
            materialized,
            "transform_values",
            value=made_by("transform_values", supplier),
            uses_store_index=False,
            supplier=supplier,
            stores=own_stores,
            store_names=stores,
        )

    def to_stream(self, mapper: Callable[[K, V], Any] | None = None, name: str | None = None) -> KStream[Any, V]:
        """The stream of the table's updates, under their keys or the keys that the mapper gives.

        Use it to write a table to a topic, or to go on with its updates as events. A deleted row comes as a null value.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string))
        >>> clicks.group_by_key().count().to_stream().to("counts", Produced(Serdes.string, Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("clicks", Serdes.string, Serdes.string).pipe_key_values([("ann", "/"), ("ann", "/")])
        ...     driver.output_topic("counts", Serdes.string, Serdes.long).read_key_values()
        [('ann', 1), ('ann', 2)]
        """
        from millstream.dsl.streams.kstream import KStream  # streams and tables need each other

        place = self._then(ProcessorNode, prefixes.TABLE_TO_STREAM, name, factory=TableToStream)
        stream: KStream[K, V] = KStream(place, repartition_needed=False)
        return stream if mapper is None else stream.select_key(mapper)

    def suppress(self, suppressed: Suppressed) -> KTable[K, V]:
        """Hold updates back: until a time limit, or until their window closes.

        Use it to get one final result per window, or fewer updates per key. Time here is event time: without new
        records nothing is let go.

        >>> from datetime import timedelta
        >>> from millstream import BufferConfig, Consumed, Serdes, StreamsBuilder, Suppressed, TimeWindows
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> clicks = builder.stream("clicks", Consumed(Serdes.string, Serdes.string))
        >>> counts = clicks.group_by_key().windowed_by(TimeWindows.of_size(timedelta(seconds=10))).count()
        >>> counts.suppress(Suppressed.until_window_closes(BufferConfig.unbounded())).to_stream().to("final")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     clicks = driver.input_topic("clicks", Serdes.string, Serdes.string)
        ...     clicks.pipe_key_values([("ann", "/")] * 3, start=0, advance=timedelta(seconds=6))
        ...     driver.output_topic("final", Serdes.windowed_string, Serdes.long).read_values()
        [2]
        """
        if not isinstance(suppressed, Suppressed):
            raise ArgumentError(
                "suppress takes Suppressed",
                detail=f"it was given {suppressed!r}",
                hint="give Suppressed.until_window_closes(...) or Suppressed.until_time_limit(...)",
            )
        place = self._place
        graph = place.dsl.graph
        if graph.graph().output_versioned(place.node):
            raise TopologyError("a versioned table cannot be suppressed", hint="suppress a table without versions")
        name = place.dsl.name(prefixes.TABLE_SUPPRESS) if suppressed.name is None else check_name(suppressed.name)
        wait_ms = suppressed.wait_ms
        if wait_ms is None:
            wait_ms = self._window_grace(place.node, [])
        store_name = (
            graph.new_store_name(prefixes.TABLE_SUPPRESS) if suppressed.name is None else f"{suppressed.name}-store"
        )
        node = graph.add(
            SuppressNode,
            name=name,
            parents=(place.node,),
            buffer=suppress_buffer(suppressed.buffer, store_name, place.key, place.value),
            wait_ms=wait_ms,
            until_window_closes=suppressed.wait_ms is None,
            max_records=suppressed.buffer.record_limit,
            max_bytes=suppressed.buffer.byte_limit,
            shut_down_when_full=suppressed.buffer.stops_when_full,
        )
        return KTable(replace(place, node=node, name=name), queryable_store_name=None)

    def group_by(
        self, mapper: Callable[[K, V], tuple[K2, V2]], grouped: Grouped | None = None
    ) -> KGroupedTable[K2, V2]:
        """Group the rows by a new key, to aggregate them; the mapper gives `(key, value)`.

        Use it to count or sum over the rows as they are now: a row that changes leaves its old group. Both serdes are
        needed, as the rows go through a repartition topic.

        >>> from millstream import Consumed, Grouped, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> homes = builder.table("homes", Consumed(Serdes.string, Serdes.string))
        >>> by_city = homes.group_by(lambda user, city: (city, user), Grouped(Serdes.string, Serdes.string))
        >>> table = by_city.count(Materialized("people"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     topic = driver.input_topic("homes", Serdes.string, Serdes.string)
        ...     topic.pipe_key_values([("ann", "Rome"), ("bob", "Rome"), ("ann", "Oslo")])
        ...     list(driver.key_value_store("people").all())
        [('Oslo', 1), ('Rome', 1)]
        """
        from millstream.dsl.streams.grouped_table import KGroupedTable

        checked(mapper, "group_by", "key", "value")
        options = chosen(grouped, Grouped, "group_by")
        place = self._then(TableGroupByNode, prefixes.TABLE_SELECT, options.name, mapper=mapper)
        origin = call("group_by", mapper)
        key, value = options.key or unknown_key(origin), options.value or unknown_value(origin)
        return KGroupedTable(replace(place, key=key, value=value), options.name)

    # --- joins

    def join(
        self,
        other: KTable[Any, VO],
        joiner: Callable[..., R],
        materialized: Materialized | None = None,
        name: str | None = None,
        *,
        foreign_key: Callable[..., Any] | None = None,
        table_joined: TableJoined | None = None,
    ) -> KTable[K, R]:
        """Join rows of equal keys, or each row with the row that its foreign key names; without a match there is none.

        Use it for a table that follows two others: it is updated when either changes.

        Args:
            other: the table to join with.
            joiner: `(left, right)`, or `(key, left, right)` for equal keys.
            name: of the join's nodes.
            materialized: how the result is kept; by default it is not.
            foreign_key: `(value)` or `(key, value)` to the key of the other table.
            table_joined: names and partitioners of a foreign-key join.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> names, cities = (builder.table(topic, Consumed(*text)) for topic in ("names", "cities"))
        >>> joined = names.join(cities, lambda name, city: f"{name} of {city}")
        >>> joined.to_stream().to("out", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("names", *text).pipe("u1", "Ann")
        ...     driver.input_topic("cities", *text).pipe_key_values([("u1", "Rome"), ("u1", "Oslo")])
        ...     driver.output_topic("out", *text).read_values()
        ['Ann of Rome', 'Ann of Oslo']

        With a foreign key, rows of one table refer to rows of another:

        >>> from millstream import Materialized
        >>> builder = StreamsBuilder()
        >>> orders = builder.table("orders", Consumed(Serdes.string, Serdes.json))
        >>> users = builder.table("users", Consumed(*text))
        >>> result = orders.join(
        ...     users, lambda order, user: f"{order['item']} for {user}", foreign_key=lambda order: order["user"],
        ...     materialized=Materialized("who-gets-what", value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders", Serdes.string, Serdes.json).pipe("o1", {"item": "tea", "user": "u1"})
        ...     driver.input_topic("users", *text).pipe("u1", "Ann")
        ...     driver.key_value_store("who-gets-what").get("o1")
        'tea for Ann'
        """
        if foreign_key is not None:
            return self._foreign_key_join(other, joiner, foreign_key, table_joined, name, materialized, left=False)
        return self._join("inner", other, joiner, name, materialized, table_joined)

    def left_join(
        self,
        other: KTable[Any, VO],
        joiner: Callable[..., R],
        materialized: Materialized | None = None,
        name: str | None = None,
        *,
        foreign_key: Callable[..., Any] | None = None,
        table_joined: TableJoined | None = None,
    ) -> KTable[K, R]:
        """As `join`, but a left row without a match is joined with None.

        Use it when a row must be there whether the other table knows about it or not. Arguments are those of `join`.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> names, cities = (builder.table(topic, Consumed(*text)) for topic in ("names", "cities"))
        >>> joined = names.left_join(cities, lambda name, city: f"{name} of {city}")
        >>> joined.to_stream().to("out", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("names", *text).pipe("u1", "Ann")
        ...     driver.input_topic("cities", *text).pipe("u1", "Rome")
        ...     driver.output_topic("out", *text).read_values()
        ['Ann of None', 'Ann of Rome']
        """
        if foreign_key is not None:
            return self._foreign_key_join(other, joiner, foreign_key, table_joined, name, materialized, left=True)
        return self._join("left", other, joiner, name, materialized, table_joined)

    def outer_join(
        self,
        other: KTable[K, VO],
        joiner: Callable[..., R],
        materialized: Materialized | None = None,
        name: str | None = None,
    ) -> KTable[K, R]:
        """As `join`, but rows of either table without a match are joined with None.

        Use it for a table of every key that either table has. There is no outer join by foreign key.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, numbers = StreamsBuilder(), (Serdes.string, Serdes.long)
        >>> north, south = (builder.table(topic, Consumed(*numbers)) for topic in ("north", "south"))
        >>> total = north.outer_join(south, lambda one, two: (one or 0) + (two or 0))
        >>> total.to_stream().to("total", Produced(value=Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("south", *numbers).pipe("tea", 5)
        ...     driver.input_topic("north", *numbers).pipe("tea", 2)
        ...     driver.output_topic("total", *numbers).read_values()
        [5, 7]
        """
        return self._join("outer", other, joiner, name, materialized, None)

    # --- inside

    def _join(
        self,
        kind: Literal["inner", "left", "outer"],
        other: KTable[Any, Any],
        joiner: Callable[..., Any],
        name: str | None,
        materialized: Materialized | None,
        table_joined: TableJoined | None,
    ) -> KTable[K, Any]:
        operator = "join" if kind == "inner" else f"{kind}_join"
        self._check_other(other, operator)
        if table_joined is not None:
            raise ArgumentError("table_joined belongs to a foreign-key join", hint="give foreign_key= as well")
        made = made_by(operator, joiner)
        joiner = with_key(joiner, operator, "left", "right")
        place, theirs = self._place, other._place
        dsl = place.dsl
        sources = place.sources | theirs.sources
        dsl.graph.copartition(sources)
        if materialized is not None and chosen(materialized, Materialized, operator).store_name is None:
            # Unlike other operators, a join keeps its result for an unnamed Materialized too.
            materialized = replace(materialized, name=dsl.graph.new_store_name(prefixes.TABLE_MERGE))
        store, key, value = self._result_store(materialized, operator, None, made)
        merge_name = dsl.name(prefixes.TABLE_MERGE, name)
        this_name = dsl.name(prefixes.TABLE_JOIN_THIS, name, "-join-this")
        other_name = dsl.name(prefixes.TABLE_JOIN_OTHER, name, "-join-other")
        node = dsl.graph.add(
            TableTableJoinNode,
            name=merge_name,
            parents=(place.node, theirs.node),
            kind=kind,
            left=place.node,
            right=theirs.node,
            this_name=this_name,
            other_name=other_name,
            joiner=joiner,
            store=store,
            versioned=store is not None and store.is_versioned,
        )
        result = Place(dsl, node, merge_name, key, value, sources)
        return KTable(result, queryable_store_name=store.name if store else None)

    def _foreign_key_join(
        self,
        other: KTable[Any, Any],
        joiner: Callable[..., Any],
        foreign_key: Callable[..., Any],
        table_joined: TableJoined | None,
        name: str | None,
        materialized: Materialized | None,
        *,
        left: bool,
    ) -> KTable[K, Any]:
        from millstream.dsl.streams.foreign_key import foreign_key_join

        operator = "left_join" if left else "join"
        self._check_other(other, operator)
        materialized = chosen(materialized, Materialized, operator)
        checked(joiner, f"{operator} by foreign key", "left", "right")
        foreign_key = with_key(foreign_key, "foreign_key", "value")
        options = chosen(table_joined, TableJoined, operator)
        if name is not None and options.name not in (None, name):
            raise ArgumentError("the join has two names", detail=f"name='{name}', table_joined has '{options.name}'")
        options = replace(options, name=options.name or name)
        made = made_by(operator, joiner)
        return foreign_key_join(self, other, joiner, foreign_key, options, materialized, made, left=left)

    def _check_other(self, other: Any, operator: str) -> None:
        """A join's other side is a table of the same builder."""
        if not isinstance(other, KTable):
            raise TopologyError(
                "a table can be joined with a KTable",
                detail=f"got {type(other).__name__}",
                hint="join the stream with the table instead, or make it a table with to_table()",
            )
        check_same_builder(self._place.dsl, other._place.dsl, operator)

    def _filter(
        self,
        predicate: Callable[[K, V], bool],
        name: str | None,
        materialized: Materialized | None,
        *,
        negate: bool,
    ) -> KTable[K, V]:
        operator = "filter_not" if negate else "filter"
        checked(predicate, operator, "key", "value")
        return self._table_operator(
            TableFilterNode,
            prefixes.TABLE_FILTER,
            name,
            materialized,
            operator,
            value=self._place.value,
            predicate=predicate,
            negate=negate,
        )

    def _table_operator(
        self,
        kind: type[TableOperatorNode],
        prefix: str,
        name: str | None,
        materialized: Materialized | None,
        operator: str,
        *,
        value: Serde[Any],
        uses_store_index: bool = True,
        **fields: Any,
    ) -> KTable[K, Any]:
        """The table behind one more operator, kept in a store only if the user named one."""
        store, key, value = self._result_store(materialized, operator, prefix if uses_store_index else None, value)
        versioned = None if store is None else store.is_versioned
        place = self._then(kind, prefix, name, store=store, versioned=versioned, **fields)
        return KTable(replace(place, key=key, value=value), queryable_store_name=store.name if store else None)

    def _result_store(
        self, materialized: Materialized | None, operator: str, prefix: str | None, value: Serde[Any]
    ) -> tuple[StoreBuilder | None, Serde[Any], Serde[Any]]:
        """The store of a result and its serdes. An unnamed Materialized gives serdes only, and uses an index up."""
        key = self._place.key
        if materialized is None:
            return None, key, value
        chosen(materialized, Materialized, operator)
        key, value = materialized.key or key, materialized.value or value
        if materialized.store_name is None:
            if prefix is not None:
                self._place.dsl.graph.new_store_name(prefix)
            return None, key, value
        store = key_value_store(self._place.dsl.config, materialized, materialized.store_name, key, value)
        return store, key, value

    def _then(self, kind: type[Node], prefix: str, name: str | None, **fields: Any) -> Place:
        place = self._place
        node_name = place.dsl.name(prefix, name)
        node = place.dsl.graph.add(kind, name=node_name, parents=(place.node,), **fields)
        return replace(place, node=node, name=node_name)

    def _window_grace(self, node_id: int, path: list[str]) -> int:
        """How long after a window's end its result may change: the longest of all windows above."""
        node = self._place.dsl.graph.node(node_id)
        path = [node.name, *path]
        if node.grace_ms is not None:
            return node.grace_ms
        if not node.parents:
            raise TopologyError(
                f"Window close time is only defined for windowed computations. Got [{'->'.join(['root', *path])}].",
                hint="suppress the result of a windowed aggregation, or use Suppressed.until_time_limit",
            )
        return max(self._window_grace(parent, path) for parent in node.parents)

    def _history_ms(self) -> int | None:
        """How long the versions of this table are kept."""
        graph = self._place.dsl.graph
        node = graph.node(self._place.node)
        while True:
            if isinstance(node, TableNode | TableOperatorNode) and node.store is not None:
                history: int | None = node.store.supplier.history_retention_ms
                return history
            if not node.parents:
                return None
            node = graph.node(node.parents[0])
