"""The options of operators: small values with keywords, given where an operator reads, writes or keeps something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from millstream.durations import milliseconds
from millstream.errors import ArgumentError
from millstream.extractors import TimestampExtractor
from millstream.serdes import Serde
from millstream.state import StoreSupplier
from millstream.topology.names import check_name
from millstream.topology.nodes import OffsetReset

#: `partitioner(topic, key, value, partitions)` gives one partition, several (multicast), none of them (an empty
#: collection drops the record) or None for Kafka's default.
StreamPartitioner = Callable[[str, Any, Any, int], Any]


def _check_serde(serde: object, what: str) -> None:
    if serde is not None and not isinstance(serde, Serde):
        raise ArgumentError(
            f"{what} must be a serde", detail=f"got {serde!r}", hint="for instance Serdes.string or Serdes.json"
        )


class _Option:
    """Checks what all options have in common: a legal name, and serdes that are serdes."""

    def __post_init__(self) -> None:
        name = getattr(self, "name", None)
        if name is not None:
            check_name(name)
        for part in ("key", "value", "other_value"):
            _check_serde(getattr(self, part, None), f"{type(self).__name__}({part}=...)")


@dataclass(frozen=True)
class Consumed(_Option):
    """How a topic is read.

    Args:
        key: serde of the keys.
        value: serde of the values.
        timestamp_extractor: where event time comes from; by default the record's own timestamp.
        offset_reset: where to start without a committed offset: "earliest", "latest", "none" or a timedelta before now.
        name: of the source node.
    """

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: OffsetReset | None = None
    name: str | None = None


@dataclass(frozen=True)
class Produced(_Option):
    """How a topic is written."""

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    partitioner: StreamPartitioner | None = None
    name: str | None = None


@dataclass(frozen=True)
class Grouped(_Option):
    """How a grouped stream or table is repartitioned. The name is that of the topic and of the key-selecting node."""

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    name: str | None = None


@dataclass(frozen=True)
class Repartitioned(_Option):
    """How `repartition` writes its topic."""

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    name: str | None = None
    partitions: int | None = None
    partitioner: StreamPartitioner | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.partitions is not None and self.partitions < 1:
            raise ArgumentError("partitions must be at least 1", detail=f"it is {self.partitions}")


@dataclass(frozen=True)
class Joined(_Option):
    """How a stream is joined with a table.

    `grace` holds stream records back that long, so that a versioned table can catch up with them.
    """

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    other_value: Serde[Any] | None = None
    name: str | None = None
    grace: timedelta | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grace is not None:
            milliseconds(self.grace, "grace")


@dataclass(frozen=True)
class StreamJoined(_Option):
    """How two streams are joined: serdes, names and stores of the two windows."""

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    other_value: Serde[Any] | None = None
    name: str | None = None
    store_name: str | None = None
    this_store: StoreSupplier | None = None
    other_store: StoreSupplier | None = None
    logging: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.store_name is not None:
            check_name(self.store_name, "state store")
        if self.this_store and self.other_store and self.this_store.name == self.other_store.name:
            raise ArgumentError(
                "the two stores of a join need different names", detail=f"both are called '{self.this_store.name}'"
            )


@dataclass(frozen=True)
class TableJoined(_Option):
    """How two tables are joined on a foreign key: a name for its nodes and topics, partitioners for its topics."""

    partitioner: StreamPartitioner | None = None
    other_partitioner: StreamPartitioner | None = None
    name: str | None = None


@dataclass(frozen=True)
class Materialized(_Option):
    """How a table is kept.

    Args:
        name: of the store; a named store can be queried.
        key: serde of the keys.
        value: serde of the values.
        caching: collect updates and pass on the last of each key at commit.
        logging: make the store survive a crash.
        log_config: settings of the changelog topic.
        retention: how long windows are kept.
        store: the store itself, from `Stores`; its name counts.
    """

    name: str | None = None
    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    caching: bool = True
    logging: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict, hash=False)
    retention: timedelta | None = None
    store: StoreSupplier | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.retention is not None:
            milliseconds(self.retention, "retention")
        if self.store is not None and self.name is not None and self.store.name != self.name:
            raise ArgumentError(
                "Materialized has two names", detail=f"name='{self.name}', but the store is called '{self.store.name}'"
            )

    @property
    def store_name(self) -> str | None:
        """The name the user gave to the store, if any."""
        return self.store.name if self.store is not None else self.name
