"""`KTable` and `GlobalKTable`: the latest value of every key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from millstream.dsl import prefixes
from millstream.dsl.functions import checked, takes, with_key
from millstream.dsl.options import Grouped, Materialized, TableJoined
from millstream.dsl.stores import key_value_store
from millstream.dsl.stream import Place
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
from millstream.processors.suppress.buffer import SuppressBufferBuilder
from millstream.processors.tables.to_stream import TableToStream
from millstream.serdes import Serde
from millstream.serdes.deferred import DEFAULT_KEY, DEFAULT_VALUE
from millstream.state import StoreBuilder
from millstream.suppressed import Suppressed
from millstream.topology.suppliers import check_supplier

if TYPE_CHECKING:
    from millstream.dsl.grouped_table import KGroupedTable
    from millstream.dsl.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
VO = TypeVar("VO")
R = TypeVar("R")


class GlobalKTable(Generic[K, V]):
    """A table of which every task holds all rows. Only streams can be joined with it, by any key."""

    def __init__(self, store_name: str, queryable_store_name: str | None) -> None:
        self._store_name = store_name
        #: The name of its store, if the user gave one.
        self.queryable_store_name = queryable_store_name


class KTable(Generic[K, V]):
    """A table: each update replaces its key's row, a null value deletes it.

    Made by `StreamsBuilder.table`, `KStream.to_table` or an aggregation. Functions are not asked about deleted rows,
    unless said otherwise.
    """

    def __init__(self, place: Place, *, queryable_store_name: str | None) -> None:
        self._place = place
        #: The name of its store, if the user gave one.
        self.queryable_store_name = queryable_store_name

    # --- row by row

    def filter(
        self, predicate: Callable[[K, V], bool], name: str | None = None, materialized: Materialized | None = None
    ) -> KTable[K, V]:
        """The rows for which the predicate is true; a row that no longer is gets deleted."""
        return self._filter(predicate, name, materialized, negate=False)

    def filter_not(
        self, predicate: Callable[[K, V], bool], name: str | None = None, materialized: Materialized | None = None
    ) -> KTable[K, V]:
        """The rows for which the predicate is false."""
        return self._filter(predicate, name, materialized, negate=True)

    def map_values(
        self,
        mapper: Callable[[V], V2] | Callable[[K, V], V2],
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[K, V2]:
        """Compute each row's value anew."""
        mapper = with_key(mapper, "map_values", "value")
        return self._table_operator(
            TableMapValuesNode,
            prefixes.TABLE_MAP_VALUES,
            name,
            materialized,
            value=None,
            mapper=mapper,
        )

    def transform_values(
        self,
        supplier: Callable[[], ValueTransformer[K, V, V2]],
        *stores: str,
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[K, V2]:
        """Compute each row's value with a `ValueTransformer`, which can use stores and is asked about deletions too."""
        own_stores = tuple(check_supplier(supplier))
        return self._table_operator(
            TableTransformNode,
            prefixes.TABLE_TRANSFORM_VALUES,
            name,
            materialized,
            value=None,
            uses_store_index=False,
            supplier=supplier,
            stores=own_stores,
            store_names=stores,
        )

    def to_stream(self, mapper: Callable[[K, V], Any] | None = None, name: str | None = None) -> KStream[Any, V]:
        """The stream of the table's updates, under their keys or the keys that the mapper gives."""
        from millstream.dsl.kstream import KStream  # streams and tables need each other

        place = self._then(ProcessorNode, prefixes.TABLE_TO_STREAM, name, factory=TableToStream)
        stream: KStream[K, V] = KStream(place, repartition_needed=False)
        return stream if mapper is None else stream.select_key(mapper)

    def suppress(self, suppressed: Suppressed) -> KTable[K, V]:
        """Hold updates back: until a time limit, or until their window closes."""
        place = self._place
        graph = place.dsl.graph
        if graph.graph().output_versioned(place.node):
            raise TopologyError("a versioned table cannot be suppressed", hint="suppress a table without versions")
        name = suppressed.name or place.dsl.name(prefixes.TABLE_SUPPRESS)
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
            buffer=SuppressBufferBuilder(store_name, place.key or DEFAULT_KEY, place.value or DEFAULT_VALUE),
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
        """Group the rows by a new key, to aggregate them; the mapper gives `(key, value)`."""
        from millstream.dsl.grouped_table import KGroupedTable

        checked(mapper, "group_by", "key", "value")
        options = grouped or Grouped()
        place = self._then(TableGroupByNode, prefixes.TABLE_SELECT, options.name, mapper=mapper)
        return KGroupedTable(replace(place, key=options.key, value=options.value), options.name)

    # --- joins

    def join(
        self,
        other: KTable[Any, VO],
        joiner: Callable[..., R],
        name: str | None = None,
        materialized: Materialized | None = None,
        *,
        foreign_key: Callable[..., Any] | None = None,
        table_joined: TableJoined | None = None,
    ) -> KTable[K, R]:
        """Join rows of equal keys, or each row with the row that its foreign key names; rows without a match are not.

        Args:
            other: the table to join with.
            joiner: `(left, right)`, or `(key, left, right)` for equal keys.
            name: of the join's nodes.
            materialized: how the result is kept; by default it is not.
            foreign_key: `(value)` or `(key, value)` to the key of the other table.
            table_joined: names and partitioners of a foreign-key join.
        """
        if foreign_key is not None:
            return self._foreign_key_join(other, joiner, foreign_key, table_joined, name, materialized, left=False)
        return self._join("inner", other, joiner, name, materialized, table_joined)

    def left_join(
        self,
        other: KTable[Any, VO],
        joiner: Callable[..., R],
        name: str | None = None,
        materialized: Materialized | None = None,
        *,
        foreign_key: Callable[..., Any] | None = None,
        table_joined: TableJoined | None = None,
    ) -> KTable[K, R]:
        """As `join`, but a left row without a match is joined with None."""
        if foreign_key is not None:
            return self._foreign_key_join(other, joiner, foreign_key, table_joined, name, materialized, left=True)
        return self._join("left", other, joiner, name, materialized, table_joined)

    def outer_join(
        self,
        other: KTable[K, VO],
        joiner: Callable[..., R],
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[K, R]:
        """As `join`, but rows of either table without a match are joined with None."""
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
        if not isinstance(other, KTable):
            raise TopologyError("a table can be joined with a KTable", detail=f"got {type(other).__name__}")
        if table_joined is not None:
            raise ArgumentError("table_joined belongs to a foreign-key join", hint="give foreign_key= as well")
        joiner = with_key(joiner, "join", "left", "right")
        place, theirs = self._place, other._place
        dsl = place.dsl
        sources = place.sources | theirs.sources
        dsl.graph.copartition(sources)
        if materialized is not None and materialized.store_name is None:
            # Unlike other operators, a join keeps its result for an unnamed Materialized too.
            materialized = replace(materialized, name=dsl.graph.new_store_name(prefixes.TABLE_MERGE))
        store, key, value = self._result_store(materialized, None, None)
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
        from millstream.dsl.foreign_key import foreign_key_join

        checked(joiner, "a foreign-key join", "left", "right")
        if takes(foreign_key, 1, "foreign_key"):
            by_value = foreign_key
            foreign_key = lambda key, value: by_value(value)  # noqa: E731
        else:
            checked(foreign_key, "foreign_key", "key", "value")
        options = table_joined or TableJoined(name=name)
        if name is not None and options.name not in (None, name):
            raise ArgumentError("the join has two names", detail=f"name='{name}', table_joined has '{options.name}'")
        options = replace(options, name=options.name or name)
        return foreign_key_join(self, other, joiner, foreign_key, options, materialized, left=left)

    def _filter(
        self,
        predicate: Callable[[K, V], bool],
        name: str | None,
        materialized: Materialized | None,
        *,
        negate: bool,
    ) -> KTable[K, V]:
        checked(predicate, "filter_not" if negate else "filter", "key", "value")
        return self._table_operator(
            TableFilterNode,
            prefixes.TABLE_FILTER,
            name,
            materialized,
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
        *,
        value: Serde[Any] | None,
        uses_store_index: bool = True,
        **fields: Any,
    ) -> KTable[K, Any]:
        """The table behind one more operator, kept in a store only if the user named one."""
        store, key, value = self._result_store(materialized, prefix if uses_store_index else None, value)
        versioned = None if store is None else store.is_versioned
        place = self._then(kind, prefix, name, store=store, versioned=versioned, **fields)
        return KTable(replace(place, key=key, value=value), queryable_store_name=store.name if store else None)

    def _result_store(
        self, materialized: Materialized | None, prefix: str | None, value: Serde[Any] | None
    ) -> tuple[StoreBuilder | None, Serde[Any] | None, Serde[Any] | None]:
        """The store of a result and its serdes. An unnamed Materialized gives serdes only, and uses an index up."""
        key = self._place.key
        if materialized is None:
            return None, key, value
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
