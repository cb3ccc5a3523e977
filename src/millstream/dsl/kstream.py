"""`KStream`: a stream of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millstream.dsl import prefixes
from millstream.dsl.functions import checked, takes_key
from millstream.dsl.options import (
    Grouped,
    Joined,
    Materialized,
    Produced,
    Repartitioned,
    StreamJoined,
)
from millstream.dsl.stream import Place, repartitioned
from millstream.errors import TopologyError
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
    """

    def __init__(self, place: Place, *, repartition_needed: bool) -> None:
        self._place = place
        # The key changed, so equal keys may lie in different partitions until a repartition.
        self._repartition_needed = repartition_needed
        self._repartitioned: Place | None = None

    # --- one record at a time

    def filter(self, predicate: Callable[[K, V], bool], name: str | None = None) -> KStream[K, V]:
        """Keep the records for which the predicate is true."""
        checked(predicate, "filter", "key", "value")
        return self._then(prefixes.FILTER, name, partial(stateless.Filter, predicate))

    def filter_not(self, predicate: Callable[[K, V], bool], name: str | None = None) -> KStream[K, V]:
        """Keep the records for which the predicate is false."""
        checked(predicate, "filter_not", "key", "value")
        return self._then(prefixes.FILTER, name, partial(stateless.FilterNot, predicate))

    def map(self, mapper: Callable[[K, V], tuple[K2, V2]], name: str | None = None) -> KStream[K2, V2]:
        """Replace key and value by the `(key, value)` tuple that the mapper returns."""
        checked(mapper, "map", "key", "value")
        return self._then(
            prefixes.MAP, name, partial(stateless.Map, mapper), keep_key=False, keep_value=False, changes_key=True
        )

    def map_values(self, mapper: Callable[[V], V2] | Callable[[K, V], V2], name: str | None = None) -> KStream[K, V2]:
        """Replace the value; the key stays."""
        with_key = takes_key(mapper, "map_values", "value")
        operator: Any = stateless.MapValuesWithKey if with_key else stateless.MapValues
        return self._then(prefixes.MAP_VALUES, name, partial(operator, mapper), keep_value=False, changes_value=True)

    def flat_map(self, mapper: Callable[[K, V], Iterable[tuple[K2, V2]]], name: str | None = None) -> KStream[K2, V2]:
        """Replace a record by any number of `(key, value)` tuples."""
        checked(mapper, "flat_map", "key", "value")
        return self._then(
            prefixes.FLAT_MAP,
            name,
            partial(stateless.FlatMap, mapper),
            keep_key=False,
            keep_value=False,
            changes_key=True,
        )

    def flat_map_values(
        self, mapper: Callable[[V], Iterable[V2]] | Callable[[K, V], Iterable[V2]], name: str | None = None
    ) -> KStream[K, V2]:
        """Replace a value by any number of values under the same key."""
        with_key = takes_key(mapper, "flat_map_values", "value")
        operator: Any = stateless.FlatMapValuesWithKey if with_key else stateless.FlatMapValues
        return self._then(
            prefixes.FLAT_MAP_VALUES, name, partial(operator, mapper), keep_value=False, changes_value=True
        )

    def select_key(self, mapper: Callable[[K, V], K2], name: str | None = None) -> KStream[K2, V]:
        """Replace the key; the value stays."""
        checked(mapper, "select_key", "key", "value")
        return self._then(
            prefixes.KEY_SELECT, name, partial(stateless.SelectKey, mapper), keep_key=False, changes_key=True
        )

    def peek(self, action: Callable[[K, V], object], name: str | None = None) -> KStream[K, V]:
        """Show every record to an action and pass it on."""
        checked(action, "peek", "key", "value")
        return self._then(prefixes.PEEK, name, partial(stateless.Peek, action))

    def foreach(self, action: Callable[[K, V], object], name: str | None = None) -> None:
        """End the stream in an action."""
        checked(action, "foreach", "key", "value")
        self._then(prefixes.FOREACH, name, partial(stateless.Foreach, action))

    def print(
        self,
        label: str | None = None,
        file: str | None = None,
        mapper: Callable[[K, V], str] | None = None,
        name: str | None = None,
    ) -> None:
        """End the stream in lines of text, `[label]: key, value`, on standard output or in a file."""
        if mapper is not None:
            checked(mapper, "print", "key", "value")
        self._then(prefixes.PRINTER, name, partial(stateless.Print, label or self._place.name, mapper, file))

    # --- shape

    def split(self, name: str | None = None) -> BranchedKStream[K, V]:
        """Begin to branch: each record goes to the first branch whose predicate is true."""
        from millstream.dsl.branched import BranchedKStream  # streams and branches need each other

        return BranchedKStream(self._place, self._repartition_needed, name)

    def merge(self, other: KStream[K, V], name: str | None = None) -> KStream[K, V]:
        """All records of both streams, in no order between the two."""
        mine, theirs = self._place, other._place
        node_name = mine.dsl.name(prefixes.MERGE, name)
        node = mine.dsl.graph.add(
            ProcessorNode,
            name=node_name,
            parents=(mine.node, theirs.node),
            factory=stateless.PassThrough,
            merges=True,
        )
        place = Place(
            mine.dsl,
            node,
            node_name,
            mine.key if mine.key is theirs.key else None,
            mine.value if mine.value is theirs.value else None,
            mine.sources | theirs.sources,
        )
        return KStream(place, repartition_needed=self._repartition_needed or other._repartition_needed)

    def repartition(self, repartitioned: Repartitioned | None = None) -> KStream[K, V]:
        """Send all records through a topic, so that equal keys meet in one partition."""
        options = repartitioned or Repartitioned()
        place = self._place
        graph = place.dsl.graph
        key, value = options.key or place.key, options.value or place.value
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
        """Write the records to a topic, or each to the topic that `extractor(key, value, context)` names."""
        options = produced or Produced()
        place = self._place
        if isinstance(topic, str):
            check_name(topic, "topic")
        else:
            checked(topic, "to", "key", "value", "context")
        place.dsl.graph.add(
            SinkNode,
            name=place.dsl.name(prefixes.SINK, options.name),
            parents=(place.node,),
            topic=topic,
            key=options.key or place.key,
            value=options.value or place.value,
            partitioner=options.partitioner,
        )

    def to_table(self, name: str | None = None, materialized: Materialized | None = None) -> KTable[K, V]:
        """Read the stream as a table: each record is the new value of its key, a null value deletes it."""
        from millstream.dsl.ktable import KTable
        from millstream.dsl.stores import key_value_store

        options = materialized or Materialized()
        place = self._place
        key, value = options.key or place.key, options.value or place.value
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
        """Group the records by their key, to aggregate them."""
        from millstream.dsl.grouped import KGroupedStream

        options = grouped or Grouped()
        place = replace(self._place, key=options.key or self._place.key, value=options.value or self._place.value)
        return KGroupedStream(place, repartition_needed=self._repartition_needed, name=options.name)

    def group_by(self, mapper: Callable[[K, V], K2], grouped: Grouped | None = None) -> KGroupedStream[K2, V]:
        """Group the records by a new key, to aggregate them; they go through a repartition topic."""
        from millstream.dsl.grouped import KGroupedStream

        checked(mapper, "group_by", "key", "value")
        options = grouped or Grouped()
        selected = self._then(
            prefixes.KEY_SELECT, options.name, partial(stateless.SelectKey, mapper), keep_key=False, changes_key=True
        )
        place = replace(selected._place, key=options.key, value=options.value or self._place.value)
        return KGroupedStream(place, repartition_needed=True, name=options.name)

    # --- processors of the user's own

    def process(
        self, supplier: Callable[[], Processor[K, V, K2, V2]], *stores: str, name: str | None = None
    ) -> KStream[K2, V2]:
        """Run a `Processor`, connected to the named stores."""
        return self._process(supplier, prefixes.PROCESSOR, name, processor_operator(supplier), stores, keep_key=False)

    def process_values(
        self, supplier: Callable[[], FixedKeyProcessor[K, V, V2]], *stores: str, name: str | None = None
    ) -> KStream[K, V2]:
        """Run a `FixedKeyProcessor`, connected to the named stores; keys stay, so nothing needs repartitioning."""
        return self._process(
            supplier, prefixes.PROCESS_VALUES, name, fixed_key_operator(supplier), stores, keep_key=True
        )

    # --- joins

    @overload
    def join(
        self, other: KTable[K, VO], joiner: Callable[..., R], joined: Joined | None = None, /
    ) -> KStream[K, R]: ...

    @overload
    def join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., R],
        windows: JoinWindows,
        joined: StreamJoined | None = None,
        /,
    ) -> KStream[K, R]: ...

    @overload
    def join(
        self,
        other: GlobalKTable[K2, VO],
        key_selector: Callable[[K, V], K2],
        joiner: Callable[..., R],
        /,
        *,
        name: str | None = None,
    ) -> KStream[K, R]: ...

    def join(self, other: Any, *arguments: Any, name: str | None = None) -> KStream[K, Any]:
        """Join each record with its match; records without one are dropped.

        - with a table: the row of the record's key;
        - with a stream: the records of the same key within the windows;
        - with a global table: the row of the key that the selector finds.
        """
        return self._join("inner", other, arguments, name)

    @overload
    def left_join(
        self, other: KTable[K, VO], joiner: Callable[..., R], joined: Joined | None = None, /
    ) -> KStream[K, R]: ...

    @overload
    def left_join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., R],
        windows: JoinWindows,
        joined: StreamJoined | None = None,
        /,
    ) -> KStream[K, R]: ...

    @overload
    def left_join(
        self,
        other: GlobalKTable[K2, VO],
        key_selector: Callable[[K, V], K2],
        joiner: Callable[..., R],
        /,
        *,
        name: str | None = None,
    ) -> KStream[K, R]: ...

    def left_join(self, other: Any, *arguments: Any, name: str | None = None) -> KStream[K, Any]:
        """As `join`, but a record without a match is joined with None."""
        return self._join("left", other, arguments, name)

    def outer_join(
        self,
        other: KStream[K, VO],
        joiner: Callable[..., R],
        windows: JoinWindows,
        joined: StreamJoined | None = None,
        /,
    ) -> KStream[K, R]:
        """As `join` of two streams, but records of either side without a match are joined with None."""
        return self._join("outer", other, (joiner, windows, joined), None)

    # --- inside

    def _join(self, kind: str, other: Any, arguments: tuple[Any, ...], name: str | None) -> KStream[K, Any]:
        from millstream.dsl import stream_joins
        from millstream.dsl.ktable import GlobalKTable, KTable

        match other:
            case KStream():
                return stream_joins.join_streams(kind, self, other, *arguments)
            case KTable():
                return stream_joins.join_table(kind, self, other, *arguments)
            case GlobalKTable():
                return stream_joins.join_global_table(kind, self, other, *arguments, name=name)
            case _:
                raise TopologyError(
                    "a stream can be joined with a KStream, a KTable or a GlobalKTable",
                    detail=f"got {type(other).__name__}",
                )

    def _then(
        self,
        prefix: str,
        name: str | None,
        factory: OperatorFactory,
        *,
        keep_key: bool = True,
        keep_value: bool = True,
        changes_key: bool = False,
        changes_value: bool = False,
    ) -> KStream[Any, Any]:
        """The stream behind one more operator."""
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
            key=place.key if keep_key else None,
            value=place.value if keep_value else None,
        )
        return KStream(result, repartition_needed=self._repartition_needed or changes_key)

    def _process(
        self,
        supplier: Callable[[], Any],
        prefix: str,
        name: str | None,
        factory: OperatorFactory,
        stores: tuple[str, ...],
        *,
        keep_key: bool,
    ) -> KStream[Any, Any]:
        place = self._place
        own_stores = tuple(check_supplier(supplier))
        node_name = check_name(name) if name is not None else place.dsl.name(prefix)
        node = place.dsl.graph.add(
            ProcessorNode,
            name=node_name,
            parents=(place.node,),
            factory=factory,
            stores=own_stores,
            store_names=stores,
        )
        result = replace(place, node=node, name=node_name, key=place.key if keep_key else None, value=None)
        return KStream(result, repartition_needed=self._repartition_needed or not keep_key)

    def _ready_for_join(self, base: str | None, key: Serde[Any] | None, value: Serde[Any] | None) -> Place:
        """Where a join can read this stream: behind a repartition, if the key changed.

        Joins without a name share one repartition of a stream.
        """
        place = self._place
        if not self._repartition_needed:
            return place
        key, value = key or place.key, value or place.value
        if self._repartitioned is None or base is not None:
            self._repartitioned = repartitioned(place, base or place.name, key, value)
        else:
            place.dsl.graph.new_repartition_names(place.name)  # the indices are used up all the same
        return self._repartitioned
