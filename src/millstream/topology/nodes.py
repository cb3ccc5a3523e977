"""What a topology consists of: nodes, global stores and sub-topologies."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, TypeAlias

from millstream.extractors import TimestampExtractor
from millstream.processors.operator import OperatorFactory
from millstream.serdes import AnySerde
from millstream.state.store import StateStore

#: `earliest`, `latest`, `none`, or how far back from now to start.
OffsetReset: TypeAlias = str | timedelta
#: Chooses a record's topic: called with the key, the value and the record's context.
TopicExtractor: TypeAlias = Callable[..., str]


class AnyStoreBuilder(Protocol):
    """What a topology asks of a store builder; `millstream.state.builders.StoreBuilder` is one."""

    @property
    def name(self) -> str:
        """The store's name, unique in the topology."""

    @property
    def logging(self) -> bool:
        """Whether changes are kept in a changelog."""

    def build(self) -> StateStore:
        """A new store."""


@dataclass(slots=True, eq=False)
class SourceNode:
    """Reads topics. It has either `topics` or a `pattern`."""

    name: str
    topics: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    key: AnySerde | None = None
    value: AnySerde | None = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: OffsetReset | None = None
    parents: tuple[str, ...] = ()
    children: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class ProcessorNode:
    """Runs an operator, with the stores it is connected to in the order they were connected."""

    name: str
    factory: OperatorFactory
    parents: tuple[str, ...]
    stores: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class SinkNode:
    """Writes to a topic, or to the topic that a function chooses for each record."""

    name: str
    topic: str | TopicExtractor
    parents: tuple[str, ...]
    key: AnySerde | None = None
    value: AnySerde | None = None
    partitioner: Callable[..., Any] | None = None
    children: list[str] = field(default_factory=list)


Node: TypeAlias = SourceNode | ProcessorNode | SinkNode


@dataclass(frozen=True, slots=True)
class GlobalStore:
    """A store that every task sees in full, and the two nodes that keep it up to date."""

    builder: AnyStoreBuilder
    source: str
    processor: str
    topic: str


@dataclass(frozen=True, slots=True)
class SubTopology:
    """A connected part of a topology; its tasks run apart from those of other parts."""

    id: int
    nodes: tuple[str, ...]
    is_global: bool
