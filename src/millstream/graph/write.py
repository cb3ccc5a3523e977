"""Writing a graph into a topology."""

from __future__ import annotations

import heapq
from functools import partial, singledispatch
from itertools import count

from millstream.extractors import FailOnInvalidTimestamp
from millstream.graph import nodes as n
from millstream.graph.demands import Demands
from millstream.graph.views import view_of
from millstream.processors.joins.self_join import SelfJoin
from millstream.processors.joins.stream_stream import StreamStreamJoin
from millstream.processors.joins.stream_table import StreamTableJoin
from millstream.processors.joins.table_table import TableJoinMerge, TableTableJoin
from millstream.processors.operator import OperatorFactory
from millstream.processors.stateless import Branch, DropNullKeys, PassThrough
from millstream.processors.suppress.suppress import Suppress
from millstream.processors.tables.filter import TableFilter
from millstream.processors.tables.group_by import TableGroupBy
from millstream.processors.tables.map_values import TableMapValues
from millstream.processors.tables.source import GlobalTableSource, TableSource
from millstream.processors.tables.transform import TableTransformValues
from millstream.topology import Topology
from millstream.topology.partitions import check_fixed_partitions


class Writer:
    """A graph on its way into a topology."""

    def __init__(self, graph: n.Graph) -> None:
        self.graph = graph
        self.demands = Demands(graph)
        self.topology = Topology()

    def write(self) -> Topology:
        """Write every node once all its parents are written, in order of priority."""
        for topic, partitions in self.graph.internal_topics:
            self.topology.add_internal_topic(topic, partitions)
        ties = count()
        roots = [node for node in self.graph.nodes.values() if not node.parents]
        waiting = [(node.priority, next(ties), node.id) for node in roots]
        heapq.heapify(waiting)
        written: set[int] = set()
        while waiting:
            _, _, node_id = heapq.heappop(waiting)
            node = self.graph[node_id]
            if node_id not in written and written.issuperset(node.parents):
                write_node(node, self)
                written.add(node_id)
            for child in self.graph.children(node_id):
                if child not in written:
                    heapq.heappush(waiting, (self.graph[child].priority, next(ties), child))
        for group in self.graph.copartitioned:
            self.topology.copartition(group)
        check_fixed_partitions(self.topology)
        return self.topology

    def parent_names(self, node: n.Node) -> list[str]:
        """The processors that a node reads from."""
        return [self.graph[parent].name for parent in node.parents]

    def add_operator(
        self,
        name: str,
        factory: OperatorFactory,
        parents: list[str],
        *,
        stores: tuple[n.AnyStoreBuilder, ...] = (),
        store_names: tuple[str, ...] = (),
    ) -> None:
        """Add a processor with the stores that come with it, connected to others."""
        self.topology.add_operator(name, factory, *parents)
        for store in stores:
            self.topology.add_state_store(store, name)
        if store_names:
            self.topology.connect_processor_and_state_stores(name, *store_names)

    def add_topic(self, node: n.RepartitionNode | n.TableRepartitionNode, parents: list[str]) -> None:
        """Add a repartition topic with its two ends."""
        partitions = node.partitions if isinstance(node, n.RepartitionNode) else None
        partitioner = node.partitioner if isinstance(node, n.RepartitionNode) else None
        self.topology.add_internal_topic(node.topic, partitions)
        key, value = node.key, node.value
        self.topology.add_sink(node.sink_name, node.topic, *parents, key=key, value=value, partitioner=partitioner)
        self.topology.add_source(
            node.name, node.topic, key=key, value=value, timestamp_extractor=FailOnInvalidTimestamp()
        )


@singledispatch
def write_node(node: n.Node, to: Writer) -> None:
    """Write one node's processors, stores and topics."""
    raise AssertionError(f"nobody knows how to write a {type(node).__name__}")


@write_node.register
def _(node: n.SourceNode, to: Writer) -> None:
    to.topology.add_source(
        node.name,
        *node.topics,
        pattern=node.pattern,
        key=node.key,
        value=node.value,
        timestamp_extractor=node.timestamp_extractor,
        offset_reset=node.offset_reset,
    )


@write_node.register
def _(node: n.TableSourceNode, to: Writer) -> None:
    to.topology.add_source(
        node.source_name,
        node.topic,
        key=node.key,
        value=node.value,
        timestamp_extractor=node.timestamp_extractor,
        offset_reset=node.offset_reset,
    )
    _write_table(node, to, [node.source_name])
    if node.reuses_topic and to.demands.stored(node.id):
        to.topology.connect_source_topic(node.store.name, node.topic)


@write_node.register
def _(node: n.TableNode, to: Writer) -> None:
    _write_table(node, to, to.parent_names(node))


def _write_table(node: n.TableNode, to: Writer, parents: list[str]) -> None:
    stored = to.demands.stored(node.id)
    factory = partial(TableSource, node.store.name if stored else None, send_old=to.demands.old_values(node.id))
    to.add_operator(node.name, factory, parents, stores=(node.store,) if stored else ())


@write_node.register
def _(node: n.GlobalTableNode, to: Writer) -> None:
    to.topology.add_global_operator(
        node.store,
        node.source_name,
        node.topic,
        node.name,
        partial(GlobalTableSource, node.store.name),
        key=node.key,
        value=node.value,
    )


@write_node.register
def _(node: n.StateStoreNode, to: Writer) -> None:
    to.topology.add_state_store(node.store)


@write_node.register
def _(node: n.GlobalStoreNode, to: Writer) -> None:
    to.topology.add_global_store(
        node.store,
        node.source_name,
        node.topic,
        node.name,
        node.supplier,
        key=node.key,
        value=node.value,
        timestamp_extractor=node.timestamp_extractor,
    )


@write_node.register
def _(node: n.ProcessorNode, to: Writer) -> None:
    to.add_operator(node.name, node.factory, to.parent_names(node), stores=node.stores, store_names=node.store_names)


@write_node.register
def _(node: n.SplitNode, to: Writer) -> None:
    to.add_operator(node.name, partial(Branch, node.branches, node.default), to.parent_names(node))


@write_node.register
def _(node: n.SinkNode, to: Writer) -> None:
    to.topology.add_sink(
        node.name,
        node.topic,
        *to.parent_names(node),
        key=node.key,
        value=node.value,
        partitioner=node.partitioner,
    )


@write_node.register
def _(node: n.RepartitionNode, to: Writer) -> None:
    keeps_nulls = to.graph.reaches(node.id, lambda below: below.accepts_null_keys)
    to.add_operator(node.filter_name, PassThrough if keeps_nulls else DropNullKeys, to.parent_names(node))
    to.add_topic(node, [node.filter_name])


@write_node.register
def _(node: n.TableRepartitionNode, to: Writer) -> None:
    to.add_topic(node, to.parent_names(node))


@write_node.register
def _(node: n.AggregateNode, to: Writer) -> None:
    factory = node.make(to.demands.old_values(node.id))
    to.add_operator(node.name, factory, to.parent_names(node), stores=(node.store,))


@write_node.register
def _(node: n.CogroupMergeNode, to: Writer) -> None:
    to.add_operator(node.name, PassThrough, to.parent_names(node))


@write_node.register
def _(node: n.TableFilterNode, to: Writer) -> None:
    factory = partial(
        TableFilter,
        node.predicate,
        negate=node.negate,
        store=node.store.name if node.store else None,
        send_old=to.demands.old_values(node.id),
        versioned=to.graph.output_versioned(node.parents[0]),
    )
    to.add_operator(node.name, factory, to.parent_names(node), stores=(node.store,) if node.store else ())


@write_node.register
def _(node: n.TableMapValuesNode, to: Writer) -> None:
    factory = partial(
        TableMapValues,
        node.mapper,
        store=node.store.name if node.store else None,
        send_old=to.demands.old_values(node.id),
    )
    to.add_operator(node.name, factory, to.parent_names(node), stores=(node.store,) if node.store else ())


@write_node.register
def _(node: n.TableTransformNode, to: Writer) -> None:
    factory = partial(
        TableTransformValues,
        node.supplier,
        store=node.store.name if node.store else None,
        send_old=to.demands.old_values(node.id),
    )
    stores = (*((node.store,) if node.store else ()), *node.stores)
    to.add_operator(node.name, factory, to.parent_names(node), stores=stores, store_names=node.store_names)


@write_node.register
def _(node: n.SuppressNode, to: Writer) -> None:
    factory = partial(
        Suppress,
        node.buffer.name,
        wait_ms=node.wait_ms,
        until_window_closes=node.until_window_closes,
        max_records=node.max_records,
        max_bytes=node.max_bytes,
        shut_down_when_full=node.shut_down_when_full,
    )
    to.add_operator(node.name, factory, to.parent_names(node), stores=(node.buffer,))


@write_node.register
def _(node: n.TableGroupByNode, to: Writer) -> None:
    to.add_operator(node.name, partial(TableGroupBy, node.mapper), to.parent_names(node))


@write_node.register
def _(node: n.StreamTableJoinNode, to: Writer) -> None:
    view = view_of(to.graph, node.table)
    factory = partial(
        StreamTableJoin,
        view=view,
        joiner=node.joiner,
        joiner_takes_key=node.joiner_takes_key,
        left=node.left,
        grace_ms=node.wait_ms,
        buffer=node.buffer.name if node.buffer else None,
    )
    to.add_operator(
        node.name,
        factory,
        to.parent_names(node),
        stores=(node.buffer,) if node.buffer else (),
        store_names=view.store_names,
    )


@write_node.register
def _(node: n.StreamStreamJoinNode, to: Writer) -> None:
    windows = node.windows
    if node.self_join:
        self_join = partial(
            SelfJoin,
            store=node.this_store.name,
            before_ms=windows.before_ms,
            after_ms=windows.after_ms,
            grace_ms=windows.grace_ms,
            retention_ms=windows.retention_ms,
            joiner=node.joiner,
        )
        to.add_operator(node.name, self_join, [node.this_windowed_name])
        to.topology.add_state_store(node.this_store, node.this_windowed_name, node.name)
        return
    # Without the wait for closed windows unmatched records are reported at once and nobody keeps them.
    outer_store = node.outer_store if windows.waits_for_close else None
    sides = (
        (True, node.this_name, node.this_windowed_name, node.other_store.name, node.left_outer),
        (False, node.other_name, node.other_windowed_name, node.this_store.name, node.right_outer),
    )
    for left_side, name, parent, other_store, outer in sides:
        factory = partial(
            StreamStreamJoin,
            left_side=left_side,
            other_store=other_store,
            outer_store=outer_store.name if outer_store else None,
            before_ms=windows.before_ms,
            after_ms=windows.after_ms,
            grace_ms=windows.grace_ms,
            outer=outer,
            spurious_fix=windows.waits_for_close,
            joiner=node.joiner,
            shared=f"join {node.name}",
        )
        to.add_operator(name, factory, [parent])
    to.add_operator(node.name, PassThrough, [node.this_name, node.other_name])
    to.topology.add_state_store(node.this_store, node.this_windowed_name, node.other_name)
    to.topology.add_state_store(node.other_store, node.other_windowed_name, node.this_name)
    if outer_store is not None:
        to.topology.add_state_store(outer_store, node.this_name, node.other_name)


@write_node.register
def _(node: n.TableTableJoinNode, to: Writer) -> None:
    send_old = to.demands.old_values(node.id)
    left, right = view_of(to.graph, node.left), view_of(to.graph, node.right)
    for left_side, name, parent, other in (
        (True, node.this_name, node.left, right),
        (False, node.other_name, node.right, left),
    ):
        factory = partial(
            TableTableJoin, kind=node.kind, left_side=left_side, other=other, joiner=node.joiner, send_old=send_old
        )
        to.add_operator(name, factory, [to.graph[parent].name])
    merge = partial(TableJoinMerge, store=node.store.name if node.store else None, send_old=send_old)
    to.add_operator(node.name, merge, [node.this_name, node.other_name])
    to.topology.connect_processor_and_state_stores(node.this_name, *right.store_names)
    to.topology.connect_processor_and_state_stores(node.other_name, *left.store_names)
    if node.store is not None:
        to.topology.add_state_store(node.store, node.name)


@write_node.register
def _(node: n.ViewReaderNode, to: Writer) -> None:
    view = view_of(to.graph, node.table)
    to.add_operator(node.name, node.make(view), to.parent_names(node), store_names=view.store_names)


@write_node.register
def _(node: n.ForeignKeySendNode, to: Writer) -> None:
    to.add_operator(node.name, node.factory, to.parent_names(node))


@write_node.register
def _(node: n.ForeignKeyUpdateNode, to: Writer) -> None:
    to.add_operator(node.name, node.factory, to.parent_names(node), store_names=node.store_names)


def write(graph: n.Graph) -> Topology:
    """The topology of a graph."""
    return Writer(graph).write()
