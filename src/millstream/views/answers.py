"""What a view answers: rows, and how far and from where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from millstream.records import Window
from millstream.state.suppliers import StoreKind
from millstream.views.queries import Position


class Row(NamedTuple):
    """An entry of a store. Key and value are objects, or bytes while an answer is on its way.

    Args:
        key: the key.
        value: the value.
        timestamp: the time the value is valid from, in timestamped and versioned stores.
        window: the window or session it belongs to.
        valid_to: the time another version is valid from; versioned stores.
    """

    key: Any
    value: Any
    timestamp: int | None = None
    window: Window | None = None
    valid_to: int | None = None


@dataclass(frozen=True, slots=True)
class Instance:
    """A process that has views.

    Args:
        id: its name, the same after a restart.
        host: where others reach it over HTTP; None: nowhere, it answers only itself.
        port: the port there.
    """

    id: str
    host: str | None = None
    port: int = 0


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """How far a copy of a store's partition is behind its changelog.

    Args:
        position: the offset of the next record to be applied.
        end: the end of the changelog when it was last looked at.
        stale_ms: how long ago the copy was known to be at the end; None: never yet.
    """

    position: int
    end: int
    stale_ms: int | None

    @property
    def records(self) -> int:
        """How many records are still to be applied, at most: offsets of compacted records count, too."""
        return max(0, self.end - self.position)


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """Which copy answered for a partition."""

    instance: str
    is_standby: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question.

    Args:
        rows: what was found.
        position: how far the copies that answered had applied their changelog.
        lags: how far each was behind, by partition.
        answered_by: which copy answered, by partition.
        more: rows were left out because of `Requirements.limit`.
        count: what a `CountQuery` asked for.
    """

    rows: Sequence[Row]
    position: Position = field(default_factory=Position)
    lags: Mapping[int, PartitionLag] = field(default_factory=dict)
    answered_by: Mapping[int, AnsweredBy] = field(default_factory=dict)
    more: bool = False
    count: int | None = None


@dataclass(frozen=True, slots=True)
class StoreDescription:
    """A store that can be asked.

    Args:
        name: its name.
        kind: its interface.
        topic: the topic that its copies are made of.
        partitions: how many partitions it has; None as long as the topic is not there. A global store has 1.
        is_global: every instance has all of it.
        window_size_ms: the size of its windows, if it is a window store.
    """

    name: str
    kind: StoreKind
    topic: str
    partitions: int | None
    is_global: bool
    window_size_ms: int | None


@dataclass(frozen=True, slots=True)
class KeyMetadata:
    """Where a key is: Kafka Streams' KeyQueryMetadata.

    Args:
        partition: its partition; None: a global store, of which every instance has all.
        active: the instance that answers for it now; None while there is none.
        standbys: the others that have a copy.
    """

    partition: int | None
    active: Instance | None
    standbys: tuple[Instance, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreMetadata:
    """What one instance has of a store: Kafka Streams' StreamsMetadata.

    Args:
        instance: the instance.
        partitions: those that it answers for.
        standby_partitions: those of which it has a copy in reserve.
    """

    instance: Instance
    partitions: frozenset[int]
    standby_partitions: frozenset[int]
