"""Where DSL calls leave their nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from millstream.graph.names import repartition_names, repartition_topic
from millstream.graph.nodes import Graph, Node


class GraphBuilder:
    """Collects nodes in the order of the calls, and numbers generated names as Kafka Streams does."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._next_index = 0
        self._next_priority = 0
        self._copartitioned: list[frozenset[str]] = []
        self._internal_topics: list[tuple[str, int | None]] = []

    def new_name(self, prefix: str, given: str | None = None) -> str:
        """The given name, or a generated one. A given name uses an index up as well, so others stay as they were."""
        name = f"{prefix}{self._next_index:010d}"
        self._next_index += 1
        return name if given is None else given

    def new_store_name(self, prefix: str) -> str:
        """A generated store name."""
        return self.new_name(f"{prefix}STATE-STORE-")

    def add(self, node_type: type[Node], /, *, name: str, parents: Iterable[int] = (), **fields: Any) -> int:
        """Add a node and answer its id. A node that reads one parent twice reads it once."""
        node_id = len(self._nodes)
        unique = tuple(dict.fromkeys(parents))
        self._nodes[node_id] = node_type(id=node_id, name=name, parents=unique, priority=self._next_priority, **fields)
        self._next_priority += 1
        return node_id

    def new_repartition_names(self, base: str) -> dict[str, str]:
        """The topic of a repartition and the names of its nodes."""
        topic = repartition_topic(base)
        sink_name, filter_name, source_name = repartition_names(base, topic, self._next_index)
        self._next_index += 3
        return {"topic": topic, "sink_name": sink_name, "filter_name": filter_name, "name": source_name}

    def amend(self, node_id: int, **fields: Any) -> None:
        """Complete a node that a call began and later calls add to."""
        self._nodes[node_id] = replace(self._nodes[node_id], **fields)

    def use_again(self, node_id: int) -> None:
        """A call refers to an existing node: it is written as late as that call would have it."""
        self.amend(node_id, priority=self._next_priority)
        self._next_priority += 1

    def node(self, node_id: int) -> Node:
        """A node by id."""
        return self._nodes[node_id]

    def copartition(self, sources: Iterable[str]) -> None:
        """These sources' topics must have equally many partitions."""
        group = frozenset(sources)
        if len(group) > 1:
            self._copartitioned.append(group)

    def add_internal_topic(self, topic: str) -> None:
        """A topic that belongs to the application but is no repartition of a stream."""
        self._internal_topics.append((topic, None))

    def graph(self) -> Graph:
        """What was collected so far."""
        return Graph(dict(self._nodes), self._next_index, tuple(self._copartitioned), tuple(self._internal_topics))
