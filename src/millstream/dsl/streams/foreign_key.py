"""The join of a table with another by a key found in its rows, as a small dialogue over two internal topics.

The left table subscribes each row to the right table's row it refers to; the right table answers, now and whenever that
row changes. Each side stays partitioned by its own key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from millstream.dsl import prefixes
from millstream.dsl.options import Materialized, TableJoined
from millstream.dsl.place import Dsl, Place
from millstream.dsl.stores import key_value_store, table_supplier
from millstream.dsl.streams.ktable import KTable
from millstream.dsl.unknown import needed_for, wrapped
from millstream.graph.nodes import (
    ForeignKeyResultNode,
    ForeignKeySendNode,
    ForeignKeyUpdateNode,
    ProcessorNode,
    SinkNode,
    SourceNode,
    ViewReaderNode,
)
from millstream.processors.foreign_key.left import ResponseJoin, SubscriptionSend
from millstream.processors.foreign_key.right import ForeignTableUpdate, SubscriptionJoin, SubscriptionReceive
from millstream.processors.foreign_key.store import SubscriptionStoreBuilder
from millstream.processors.foreign_key.wire import ResponseWrapperSerde, SubscriptionWrapperSerde
from millstream.processors.tables.view import ViewFactory
from millstream.serdes import Serde

AnyTable = KTable[Any, Any]


def foreign_key_join(
    left_table: AnyTable,
    right_table: AnyTable,
    joiner: Callable[[Any, Any], Any],
    foreign_key: Callable[[Any, Any], Any],
    options: TableJoined,
    materialized: Materialized,
    made: Serde[Any],
    *,
    left: bool,
) -> AnyTable:
    """Add the nodes of a foreign-key join. `made` is what the joiner's results are written with."""
    dialogue = _Dialogue(left_table._place, right_table._place, options, left_join=left)
    subscriptions = dialogue.subscribe(foreign_key)
    responses = dialogue.answer(subscriptions)
    resolver = dialogue.resolve(responses, joiner)
    return dialogue.result(resolver, materialized, made)


class _Names:
    """The names of a join's nodes, topics and store, taken in Kafka Streams' order."""

    def __init__(self, dsl: Dsl, given: str | None) -> None:
        def name(prefix: str, suffix: str) -> str:
            return dsl.name(prefix, given, suffix)

        self.subscriptions = f"{name(prefixes.SUBSCRIPTION_REGISTRATION, '-subscription-registration')}-topic"
        self.send = name(prefixes.SUBSCRIPTION_REGISTRATION, "-subscription-registration-processor")
        self.subscription_sink = name(prefixes.TABLE_SINK, "-subscription-registration-sink")
        self.subscription_source = name(prefixes.TABLE_SOURCE, "-subscription-registration-source")
        self.store = name(f"{prefixes.SUBSCRIPTION}STATE-STORE-", "-subscription-store")
        self.receive = name(prefixes.SUBSCRIPTION_PROCESSOR, "-subscription-receive")
        self.join = name(prefixes.SUBSCRIPTION_PROCESSOR, "-subscription-join-foreign")
        self.update = name(prefixes.SUBSCRIPTION_PROCESSOR, "-foreign-join-subscription")
        self.responses = f"{name(prefixes.SUBSCRIPTION_RESPONSE, '-subscription-response')}-topic"
        self.response_sink = name(prefixes.TABLE_SINK, "-subscription-response-sink")
        self.response_source = name(prefixes.TABLE_SOURCE, "-subscription-response-source")
        self.resolver = name(prefixes.SUBSCRIPTION_RESPONSE_RESOLVER, "-subscription-response-resolver")
        self.result = name(prefixes.FOREIGN_KEY_OUTPUT, "-result")


class _Dialogue:
    """What both sides of a join know of each other; each step adds its nodes and gives the id of the last one."""

    def __init__(self, mine: Place, theirs: Place, options: TableJoined, *, left_join: bool) -> None:
        self._mine, self._theirs = mine, theirs
        self._options, self._left_join = options, left_join
        self._graph = mine.dsl.graph
        self._key = needed_for("Materialized(key=...) of the left table", mine.key)
        self._value = needed_for("Materialized(value=...) of the left table", mine.value)
        self._other_key = needed_for("Materialized(key=...) of the right table", theirs.key)
        self._other_value = needed_for("Materialized(value=...) of the right table", theirs.value)
        self._names = _Names(mine.dsl, options.name)
        for topic in (self._names.subscriptions, self._names.responses):
            self._graph.add_internal_topic(topic)

    def subscribe(self, foreign_key: Callable[[Any, Any], Any]) -> int:
        """The left table subscribes its rows to those of the right table."""
        names = self._names
        topic = names.subscriptions
        serde = wrapped(lambda key: SubscriptionWrapperSerde(key, f"{topic}-pk"), self._key)
        send = self._graph.add(
            ForeignKeySendNode,
            name=names.send,
            parents=(self._mine.node,),
            factory=partial(
                SubscriptionSend,
                foreign_key=foreign_key,
                foreign_key_serde=self._other_key,
                value_serde=self._value,
                topic=topic,
                left_join=self._left_join,
            ),
        )
        sink = self._graph.add(
            SinkNode,
            name=names.subscription_sink,
            parents=(send,),
            topic=topic,
            key=self._other_key,
            value=serde,
            partitioner=self._options.other_partitioner,
        )
        return self._graph.add(
            SourceNode,
            name=names.subscription_source,
            parents=(sink,),
            topics=(topic,),
            key=self._other_key,
            value=serde,
        )

    def answer(self, subscriptions: int) -> int:
        """The right table answers: at once when it is subscribed to, and whenever its row changes."""
        names = self._names
        persistent = table_supplier(self._mine.dsl.config, None, names.store).persistent
        receive = self._graph.add(
            ProcessorNode,
            name=names.receive,
            parents=(subscriptions,),
            factory=partial(SubscriptionReceive, store=names.store),
            stores=(SubscriptionStoreBuilder(names.store, self._other_key, self._key, persistent=persistent),),
        )
        join = self._graph.add(
            ViewReaderNode,
            name=names.join,
            parents=(receive,),
            table=self._theirs.node,
            make=lambda view: partial(SubscriptionJoin, foreign_view=view),
        )
        update = self._graph.add(
            ForeignKeyUpdateNode,
            name=names.update,
            parents=(self._theirs.node,),
            factory=partial(ForeignTableUpdate, store=names.store),
            store_names=(names.store,),
        )
        serde = wrapped(ResponseWrapperSerde, self._other_value)
        sink = self._graph.add(
            SinkNode,
            name=names.response_sink,
            parents=(join, update),
            topic=names.responses,
            key=self._key,
            value=serde,
            partitioner=self._options.partitioner,
        )
        return self._graph.add(
            SourceNode,
            name=names.response_source,
            parents=(sink,),
            topics=(names.responses,),
            key=self._key,
            value=serde,
        )

    def resolve(self, responses: int, joiner: Callable[[Any, Any], Any]) -> int:
        """The left table joins the answers to its rows, unless they have changed since."""
        value, left_join, topic = self._value, self._left_join, self._names.subscriptions

        def make_resolver(view: ViewFactory) -> partial[ResponseJoin]:
            return partial(
                ResponseJoin, left_view=view, value_serde=value, topic=topic, joiner=joiner, left_join=left_join
            )

        return self._graph.add(
            ViewReaderNode, name=self._names.resolver, parents=(responses,), table=self._mine.node, make=make_resolver
        )

    def result(self, resolver: int, materialized: Materialized, made: Serde[Any]) -> AnyTable:
        """The table of the results."""
        mine, theirs, names, dsl = self._mine, self._theirs, self._names, self._mine.dsl
        key, value = materialized.key or mine.key, materialized.value or made
        store_name = materialized.store_name or self._graph.new_store_name(prefixes.FOREIGN_KEY_OUTPUT)
        store = key_value_store(dsl.config, materialized, store_name, key, value)
        node = self._graph.add(
            ForeignKeyResultNode,
            name=names.result,
            parents=(resolver,),
            store=store,
            stored=materialized.store_name is not None,
            versioned=store.is_versioned,
            left=mine.node,
            right=theirs.node,
        )
        sources = mine.sources | {names.response_source}
        self._graph.copartition(theirs.sources | {names.subscription_source})
        self._graph.copartition(sources)
        place = Place(dsl, node, names.result, key, value, sources)
        return KTable(place, queryable_store_name=materialized.store_name)
