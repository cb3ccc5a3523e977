"""`KGroupedTable`: the rows of a table in groups, to aggregate."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from millstream.dsl import prefixes
from millstream.dsl.functions import checked
from millstream.dsl.options import Materialized, chosen
from millstream.dsl.place import Place
from millstream.dsl.stores import key_value_store
from millstream.dsl.streams.ktable import KTable
from millstream.dsl.unknown import made_by, wrapped
from millstream.graph.names import repartition_topic
from millstream.graph.nodes import AggregateNode, TableRepartitionNode
from millstream.processors.operator import OperatorFactory
from millstream.processors.tables.group_by import GroupedTableAggregate, GroupedTableReduce
from millstream.serdes import Serde, Serdes
from millstream.serdes.change import ChangeSerde

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class KGroupedTable(Generic[K, V]):
    """A grouped table. Made by `KTable.group_by`.

    When a row changes, its old value is subtracted from its old group and its new value added to its new one. Use it
    for totals over the rows as they are now.

    >>> from millstream import Consumed, Grouped, Materialized, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder = StreamsBuilder()
    >>> pay = builder.table("pay", Consumed(Serdes.string, Serdes.json))
    >>> teams = pay.group_by(lambda who, row: (row["team"], row["pay"]), Grouped(Serdes.string, Serdes.long))
    >>> table = teams.reduce(lambda sum, new: sum + new, lambda sum, old: sum - old, Materialized("cost"))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     rows = driver.input_topic("pay", Serdes.string, Serdes.json)
    ...     rows.pipe_key_values([("ann", {"team": "a", "pay": 5}), ("ann", {"team": "b", "pay": 6})])
    ...     list(driver.key_value_store("cost").all())
    [('a', 0), ('b', 6)]
    """

    def __init__(self, place: Place, name: str | None) -> None:
        self._place = place
        self._name = name
        # One topic serves all aggregates of a grouping that the user named.
        self._repartition: int | None = None

    def count(self, materialized: Materialized | None = None, name: str | None = None) -> KTable[K, int]:
        """How many rows each group has.

        Use it to count what is, not what happened: a deleted row counts no more.

        >>> from millstream import Consumed, Grouped, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> homes = builder.table("homes", Consumed(Serdes.string, Serdes.string))
        >>> by_city = homes.group_by(lambda user, city: (city, user), Grouped(Serdes.string, Serdes.string))
        >>> table = by_city.count(Materialized("people"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     homes = driver.input_topic("homes", Serdes.string, Serdes.string)
        ...     homes.pipe_key_values([("ann", "Rome"), ("bob", "Rome"), ("ann", None)])
        ...     driver.key_value_store("people").get("Rome")
        1
        """
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
            "count",
            Serdes.long,
        )

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        materialized: Materialized | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Combine the rows of each group: `adder(aggregate, new)`, `subtractor(aggregate, old)`.

        Use it for sums. The subtractor must undo what the adder did; for a maximum, which cannot be undone, keep all
        values with `aggregate`.

        >>> from millstream import Consumed, Grouped, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, numbers = StreamsBuilder(), (Serdes.string, Serdes.long)
        >>> stock = builder.table("stock", Consumed(*numbers))
        >>> all_shops = stock.group_by(lambda shop, count: ("all", count), Grouped(*numbers))
        >>> kept = Materialized("sum")
        >>> table = all_shops.reduce(lambda sum, new: sum + new, lambda sum, old: sum - old, kept)
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("stock", *numbers).pipe_key_values([("rome", 10), ("oslo", 5), ("rome", 7)])
        ...     driver.key_value_store("sum").get("all")
        12
        """
        checked(adder, "the adder of reduce", "aggregate", "value")
        checked(subtractor, "the subtractor of reduce", "aggregate", "value")
        return self._aggregate(
            lambda store, send_old: partial(GroupedTableReduce, store, adder, subtractor, send_old=send_old),
            prefixes.TABLE_REDUCE,
            name,
            materialized,
            "reduce",
            self._place.value,
        )

    def aggregate(
        self,
        initializer: Callable[[], A],
        adder: Callable[[K, V, A], A],
        subtractor: Callable[[K, V, A], A],
        materialized: Materialized | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """Fold the rows of each group: `adder(key, new, aggregate)`, `subtractor(key, old, aggregate)`.

        Use it when the result is of another kind than the values. Its serde is not known: give it with `Materialized`.

        >>> from millstream import Consumed, Grouped, Materialized, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
        >>> homes = builder.table("homes", Consumed(*text))
        >>> table = homes.group_by(lambda user, city: (city, user), Grouped(*text)).aggregate(
        ...     list,
        ...     lambda city, user, users: [*users, user],
        ...     lambda city, user, users: [other for other in users if other != user],
        ...     Materialized("people", value=Serdes.json),
        ... )
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("homes", *text).pipe_key_values([("ann", "Rome"), ("bob", "Rome"), ("ann", "Oslo")])
        ...     list(driver.key_value_store("people").all())
        [('Oslo', ['ann']), ('Rome', ['bob'])]
        """
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
            "aggregate",
            made_by("aggregate", adder),
        )

    def _aggregate(
        self,
        make: Callable[[str, bool], OperatorFactory],
        prefix: str,
        name: str | None,
        materialized: Materialized | None,
        operator: str,
        value: Serde[Any],
    ) -> KTable[K, Any]:
        options = chosen(materialized, Materialized, operator)
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
                value=wrapped(ChangeSerde, place.value),
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
