"""The nodes of the logical graph: what a DSL call asked for, before it is a processor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from millstream.processors.operator import OperatorFactory
from millstream.serdes.serde import AnySerde
from millstream.windows import JoinWindows

#: Anything with `.name`, `.logging` and `.build()`: a StoreBuilder, an operator's own builder or a user's.
AnyStoreBuilder = Any


@dataclass(frozen=True, kw_only=True)
class Node:
    """One DSL call.

    `id` is the order of creation; `priority` the order of writing (a node that is used again moves back). `name` is the
    name of the processor whose output the node's children read.
    """

    id: int
    name: str
    parents: tuple[int, ...]
    priority: int
    changes_key: bool = False
    changes_value: bool = False
    merges: bool = False
    #: A left or outer join that accepts null keys: repartitions above it must let them through.
    accepts_null_keys: bool = False
    #: Whether a table's result has versions; None: as its parents.
    versioned: bool | None = None
    #: How long a windowed result may still change after its window's end.
    grace_ms: int | None = None


@dataclass(frozen=True, kw_only=True)
class SourceNode(Node):
    """`stream(...)`, or the reading end of an internal topic."""

    topics: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    key: AnySerde | None = None
    value: AnySerde | None = None
    timestamp_extractor: Any = None
    offset_reset: Any = None


@dataclass(frozen=True, kw_only=True)
class TableNode(Node):
    """A table fed by records, which has a store only when somebody needs it.

    `stored` says that the user named the store; the graph's demands find who else needs it.
    """

    store: AnyStoreBuilder
    stored: bool


@dataclass(frozen=True, kw_only=True)
class TableSourceNode(TableNode):
    """`table(...)`: a source and the table on it."""

    topic: str
    source_name: str
    key: AnySerde | None
    value: AnySerde | None
    timestamp_extractor: Any = None
    offset_reset: Any = None
    #: Optimised: the topic itself serves as the store's changelog.
    reuses_topic: bool = False


@dataclass(frozen=True, kw_only=True)
class GlobalTableNode(Node):
    """`global_table(...)`."""

    topic: str
    source_name: str
    store: AnyStoreBuilder
    key: AnySerde | None
    value: AnySerde | None


@dataclass(frozen=True, kw_only=True)
class StateStoreNode(Node):
    """`add_state_store(...)`."""

    store: AnyStoreBuilder


@dataclass(frozen=True, kw_only=True)
class GlobalStoreNode(Node):
    """`add_global_store(...)`."""

    store: AnyStoreBuilder
    topic: str
    source_name: str
    key: AnySerde | None
    value: AnySerde | None
    timestamp_extractor: Any
    supplier: Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class ProcessorNode(Node):
    """An operator that needs to know nothing of the rest of the graph."""

    factory: OperatorFactory
    #: Stores that come with it, and stores it is connected to.
    stores: tuple[AnyStoreBuilder, ...] = ()
    store_names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SplitNode(Node):
    """`split(...)`: its children are pass-through nodes, one per branch."""

    branches: tuple[tuple[Callable[[Any, Any], bool], str], ...] = ()
    default: str | None = None


@dataclass(frozen=True, kw_only=True)
class JoinWindowNode(ProcessorNode):
    """One side of a stream-stream join: keeps the records that the other side looks for."""


@dataclass(frozen=True, kw_only=True)
class SinkNode(Node):
    """`to(...)`, or the writing end of an internal topic."""

    topic: Any
    key: AnySerde | None
    value: AnySerde | None
    partitioner: Any = None


@dataclass(frozen=True, kw_only=True)
class RepartitionNode(Node):
    """A filter for null keys, a sink, a topic and a source. `name` is the source's."""

    topic: str
    sink_name: str
    filter_name: str
    key: AnySerde | None
    value: AnySerde | None
    partitions: int | None = None
    partitioner: Any = None
    #: Made by the DSL itself, so it may be merged with others; `repartition()` stays as the user wrote it.
    mergeable: bool = True


@dataclass(frozen=True, kw_only=True)
class TableRepartitionNode(Node):
    """The topic between a table's `group_by` and its aggregate. `name` is the source's, `value` a serde of changes."""

    topic: str
    sink_name: str
    key: AnySerde | None
    value: AnySerde | None


@dataclass(frozen=True, kw_only=True)
class AggregateNode(Node):
    """An aggregation: always has a store. `make` is told whether old values are wanted."""

    make: Callable[[bool], OperatorFactory]
    store: AnyStoreBuilder
    #: "key_value", "window" or "session": how its rows are looked up.
    layout: str


@dataclass(frozen=True, kw_only=True)
class CogroupMergeNode(Node):
    """Where the aggregates of a cogroup meet; it reads their common store."""

    store_name: str
    layout: str


@dataclass(frozen=True, kw_only=True)
class TableOperatorNode(Node):
    """Base of the operators from one table to another; `store` only if the user named one."""

    store: AnyStoreBuilder | None


@dataclass(frozen=True, kw_only=True)
class TableFilterNode(TableOperatorNode):
    """`KTable.filter` and `filter_not`."""

    predicate: Callable[[Any, Any], bool]
    negate: bool


@dataclass(frozen=True, kw_only=True)
class TableMapValuesNode(TableOperatorNode):
    """`KTable.map_values`."""

    mapper: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class TableTransformNode(TableOperatorNode):
    """`KTable.transform_values`."""

    supplier: Callable[[], Any]
    stores: tuple[AnyStoreBuilder, ...]
    store_names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SuppressNode(Node):
    """`KTable.suppress`."""

    buffer: AnyStoreBuilder
    wait_ms: int
    until_window_closes: bool
    max_records: int | None
    max_bytes: int | None
    shut_down_when_full: bool


@dataclass(frozen=True, kw_only=True)
class TableGroupByNode(Node):
    """`KTable.group_by`."""

    mapper: Callable[[Any, Any], tuple[Any, Any]]


@dataclass(frozen=True, kw_only=True)
class StreamTableJoinNode(Node):
    """A stream joined with a table; the table is looked up, not read."""

    table: int
    left: bool
    joiner: Callable[..., Any]
    joiner_takes_key: bool
    #: How long records are held back for the table, and where.
    wait_ms: int | None = None
    buffer: AnyStoreBuilder | None = None


@dataclass(frozen=True, kw_only=True)
class StreamStreamJoinNode(Node):
    """Two streams joined within a window of time. `name` is that of the merge at its end."""

    this_name: str
    other_name: str
    this_windowed_name: str
    other_windowed_name: str
    this_store: AnyStoreBuilder
    other_store: AnyStoreBuilder
    outer_store: AnyStoreBuilder | None
    left_outer: bool
    right_outer: bool
    windows: JoinWindows
    joiner: Callable[[Any, Any, Any], Any]
    #: Optimised: both sides are the same stream, one store is enough.
    self_join: bool = False


@dataclass(frozen=True, kw_only=True)
class TableTableJoinNode(Node):
    """Two tables joined on their keys. `name` is that of the merge at its end; the parents are the two tables."""

    kind: Literal["inner", "left", "outer"]
    left: int
    right: int
    this_name: str
    other_name: str
    joiner: Callable[[Any, Any, Any], Any]
    store: AnyStoreBuilder | None


@dataclass(frozen=True, kw_only=True)
class ViewReaderNode(Node):
    """An operator of a foreign-key join that looks a table up. `make` is given the table's view."""

    table: int
    make: Callable[[Any], OperatorFactory]


@dataclass(frozen=True, kw_only=True)
class ForeignKeySendNode(Node):
    """The left table's end of a foreign-key join: subscribes its rows to the right table's."""

    factory: OperatorFactory


@dataclass(frozen=True, kw_only=True)
class ForeignKeyUpdateNode(Node):
    """The right table's end of a foreign-key join: tells its subscribers of a change."""

    factory: OperatorFactory
    store_names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ForeignKeyResultNode(TableNode):
    """The table that a foreign-key join gives."""

    left: int
    right: int


@dataclass(frozen=True)
class Graph:
    """Nodes by id, plus what is known across them. Rules turn one graph into another; none changes it."""

    nodes: Mapping[int, Node]
    #: The next index for a generated name.
    next_index: int = 0
    #: Sources that must have equally many partitions, by name.
    copartitioned: tuple[frozenset[str], ...] = ()
    internal_topics: tuple[tuple[str, int | None], ...] = ()
    _children: dict[int, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, node_id: int) -> Node:
        return self.nodes[node_id]

    def by_creation(self) -> Iterator[Node]:
        """The nodes in the order of the calls that made them."""
        return iter(sorted(self.nodes.values(), key=lambda node: node.id))

    def children(self, node_id: int) -> tuple[int, ...]:
        """The nodes that read from this one."""
        if not self._children and self.nodes:
            found: dict[int, list[int]] = {node: [] for node in self.nodes}
            for node in self.by_creation():
                for parent in node.parents:
                    found[parent].append(node.id)
            self._children.update({node: tuple(children) for node, children in found.items()})
        return self._children[node_id]

    def reaches(self, node_id: int, accept: Callable[[Node], bool]) -> bool:
        """Whether a node downstream of this one is accepted."""
        seen: set[int] = set()
        waiting = [node_id]
        while waiting:
            for child in self.children(waiting.pop()):
                if child not in seen:
                    if accept(self[child]):
                        return True
                    seen.add(child)
                    waiting.append(child)
        return False

    def output_versioned(self, node_id: int) -> bool:
        """Whether the table at this node has versions."""
        node = self[node_id]
        if node.versioned is not None:
            return node.versioned
        return any(self.output_versioned(parent) for parent in node.parents)
