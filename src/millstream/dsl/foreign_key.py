"""The join of a table with another by a key found in its rows, as a small dialogue over two internal topics.

The left table subscribes each row to the right table's row it refers to; the right table answers, now and whenever that
row changes. Each side stays partitioned by its own key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from millstream.dsl import prefixes
from millstream.dsl.ktable import KTable
from millstream.dsl.options import Materialized, TableJoined
from millstream.dsl.stores import key_value_store
from millstream.dsl.stream import Place
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
    """Add the nodes of a foreign-key join; the order of names is Kafka Streams'. `made` is what the joiner's are."""
    mine, theirs = left_table._place, right_table._place
    dsl, graph = mine.dsl, mine.dsl.graph

    def name(prefix: str, suffix: str) -> str:
        return dsl.name(prefix, options.name, suffix)

    key = needed_for("Materialized(key=...) of the left table", mine.key)
    value = needed_for("Materialized(value=...) of the left table", mine.value)
    other_key = needed_for("Materialized(key=...) of the right table", theirs.key)
    other_value = needed_for("Materialized(value=...) of the right table", theirs.value)

    subscriptions = f"{name(prefixes.SUBSCRIPTION_REGISTRATION, '-subscription-registration')}-topic"
    graph.add_internal_topic(subscriptions)
    send_name = name(prefixes.SUBSCRIPTION_REGISTRATION, "-subscription-registration-processor")
    subscription_sink = name(prefixes.TABLE_SINK, "-subscription-registration-sink")
    subscription_source = name(prefixes.TABLE_SOURCE, "-subscription-registration-source")
    store_name = name(f"{prefixes.SUBSCRIPTION}STATE-STORE-", "-subscription-store")
    receive_name = name(prefixes.SUBSCRIPTION_PROCESSOR, "-subscription-receive")
    join_name = name(prefixes.SUBSCRIPTION_PROCESSOR, "-subscription-join-foreign")
    update_name = name(prefixes.SUBSCRIPTION_PROCESSOR, "-foreign-join-subscription")
    responses = f"{name(prefixes.SUBSCRIPTION_RESPONSE, '-subscription-response')}-topic"
    graph.add_internal_topic(responses)
    response_sink = name(prefixes.TABLE_SINK, "-subscription-response-sink")
    response_source = name(prefixes.TABLE_SOURCE, "-subscription-response-source")
    resolver_name = name(prefixes.SUBSCRIPTION_RESPONSE_RESOLVER, "-subscription-response-resolver")
    result_name = name(prefixes.FOREIGN_KEY_OUTPUT, "-result")

    subscription_serde = wrapped(lambda serde: SubscriptionWrapperSerde(serde, f"{subscriptions}-pk"), key)
    send = graph.add(
        ForeignKeySendNode,
        name=send_name,
        parents=(mine.node,),
        factory=partial(
            SubscriptionSend,
            foreign_key=foreign_key,
            foreign_key_serde=other_key,
            value_serde=value,
            left_join=left,
        ),
    )
    sink = graph.add(
        SinkNode,
        name=subscription_sink,
        parents=(send,),
        topic=subscriptions,
        key=other_key,
        value=subscription_serde,
        partitioner=options.other_partitioner,
    )
    source = graph.add(
        SourceNode,
        name=subscription_source,
        parents=(sink,),
        topics=(subscriptions,),
        key=other_key,
        value=subscription_serde,
    )
    receive = graph.add(
        ProcessorNode,
        name=receive_name,
        parents=(source,),
        factory=partial(SubscriptionReceive, store=store_name),
        stores=(SubscriptionStoreBuilder(store_name, other_key, key, persistent=dsl.config.dsl_store == "rocksdb"),),
    )
    join = graph.add(
        ViewReaderNode,
        name=join_name,
        parents=(receive,),
        table=theirs.node,
        make=lambda view: partial(SubscriptionJoin, foreign_view=view),
    )
    update = graph.add(
        ForeignKeyUpdateNode,
        name=update_name,
        parents=(theirs.node,),
        factory=partial(ForeignTableUpdate, store=store_name),
        store_names=(store_name,),
    )
    response_serde = wrapped(ResponseWrapperSerde, other_value)
    sink = graph.add(
        SinkNode,
        name=response_sink,
        parents=(join, update),
        topic=responses,
        key=key,
        value=response_serde,
        partitioner=options.partitioner,
    )
    source = graph.add(
        SourceNode, name=response_source, parents=(sink,), topics=(responses,), key=key, value=response_serde
    )

    def make_resolver(view: ViewFactory) -> partial[ResponseJoin]:
        return partial(ResponseJoin, left_view=view, value_serde=value, joiner=joiner, left_join=left)

    resolver = graph.add(ViewReaderNode, name=resolver_name, parents=(source,), table=mine.node, make=make_resolver)
    result_key, result_value = materialized.key or mine.key, materialized.value or made
    result_store = materialized.store_name or graph.new_store_name(prefixes.FOREIGN_KEY_OUTPUT)
    store = key_value_store(dsl.config, materialized, result_store, result_key, result_value)
    node = graph.add(
        ForeignKeyResultNode,
        name=result_name,
        parents=(resolver,),
        store=store,
        stored=materialized.store_name is not None,
        versioned=store.is_versioned,
        left=mine.node,
        right=theirs.node,
    )
    graph.copartition(theirs.sources | {subscription_source})
    graph.copartition(mine.sources | {response_source})
    place = Place(dsl, node, result_name, result_key, result_value, mine.sources | {response_source})
    return KTable(place, queryable_store_name=materialized.store_name)
