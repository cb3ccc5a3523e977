"""`KGroupedTable`: the rows of a table in groups, to aggregate."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from millstream.dsl import prefixes
from millstream.dsl.functions import checked
from millstream.dsl.ktable import KTable
from millstream.dsl.options import Materialized
from millstream.dsl.stores import key_value_store
from millstream.dsl.stream import Place
from millstream.graph.names import repartition_topic
from millstream.graph.nodes import AggregateNode, TableRepartitionNode
from millstream.processors.operator import OperatorFactory
from millstream.processors.tables.group_by import GroupedTableAggregate, GroupedTableReduce
from millstream.serdes import Serde, Serdes

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class KGroupedTable(Generic[K, V]):
    """A grouped table. Made by `KTable.group_by`.

    When a row changes, its old value is subtracted from its old group and its new value added to its new one.
    """

    def __init__(self, place: Place, name: str | None) -> None:
        self._place = place
        self._name = name
        # One topic serves all aggregates of a grouping that the user named.
        self._repartition: int | None = None

    def count(self, name: str | None = None, materialized: Materialized | None = None) -> KTable[K, int]:
        """How many rows each group has."""
        return self._aggregate(
            lambda store, send_old: partial(
                GroupedTableAggregate,
                store,
                lambda: 0,
                lambda key, value, count: count + 1,
                lambda key, value, count: count - 1,
                send_old=send_old,
            ),
            prefixes.TABLE_AGGREGATE,
            name,
            materialized,
            Serdes.long,
        )

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[K, V]:
        """Combine the rows of each group: `adder(aggregate, new)`, `subtractor(aggregate, old)`."""
        checked(adder, "the adder of reduce", "aggregate", "value")
        checked(subtractor, "the subtractor of reduce", "aggregate", "value")
        return self._aggregate(
            lambda store, send_old: partial(GroupedTableReduce, store, adder, subtractor, send_old=send_old),
            prefixes.TABLE_REDUCE,
            name,
            materialized,
            self._place.value,
        )

    def aggregate(
        self,
        initializer: Callable[[], A],
        adder: Callable[[K, V, A], A],
        subtractor: Callable[[K, V, A], A],
        name: str | None = None,
        materialized: Materialized | None = None,
    ) -> KTable[K, A]:
        """Fold the rows of each group: `adder(key, new, aggregate)`, `subtractor(key, old, aggregate)`."""
        checked(initializer, "the initializer of aggregate")
        checked(adder, "the adder of aggregate", "key", "value", "aggregate")
        checked(subtractor, "the subtractor of aggregate", "key", "value", "aggregate")
        return self._aggregate(
            lambda store, send_old: partial(
                GroupedTableAggregate, store, initializer, adder, subtractor, send_old=send_old
            ),
            prefixes.TABLE_AGGREGATE,
            name,
            materialized,
            None,
        )

    def _aggregate(
        self,
        make: Callable[[str, bool], OperatorFactory],
        prefix: str,
        name: str | None,
        materialized: Materialized | None,
        value: Serde[Any] | None,
    ) -> KTable[K, Any]:
        options = materialized or Materialized()
        place = self._place
        dsl, graph = place.dsl, place.dsl.graph
        key, value = options.key or place.key, options.value or value
        store_name = options.store_name or graph.new_store_name(prefixes.TABLE_AGGREGATE)
        sink_name = dsl.name(prefixes.SINK, name, "-sink")
        source_name = dsl.name(prefixes.SOURCE, name, "-source")
        node_name = dsl.name(prefix, name)
        if self._repartition is None or self._name is None:
            self._repartition = graph.add(
                TableRepartitionNode,
                name=source_name,
                parents=(place.node,),
                topic=repartition_topic(self._name or store_name),
                sink_name=sink_name,
                key=place.key,
                value=place.value,
            )
        else:
            graph.use_again(self._repartition)
        store = key_value_store(dsl.config, options, store_name, key, value)
        node = graph.add(
            AggregateNode,
            name=node_name,
            parents=(self._repartition,),
            make=lambda send_old: make(store.name, send_old),
            store=store,
            layout="key_value",
            versioned=store.is_versioned,
        )
        result = Place(dsl, node, node_name, key, value, frozenset({graph.node(self._repartition).name}))
        return KTable(result, queryable_store_name=options.store_name)
