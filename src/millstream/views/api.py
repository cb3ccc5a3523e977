"""`Views`: asking the stores of an application."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from millstream.config import StreamsConfig
from millstream.topology.topology import Topology
from millstream.views.answers import Answer, Instance, KeyMetadata, PartitionLag, StoreDescription, StoreMetadata
from millstream.views.queries import NO_REQUIREMENTS, Query, Requirements
from millstream.views.remote import Remote


class Views:
    """The views of one instance of an application: its copies of stores, and the way to those of others.

    Args:
        topology: the application's topology.
        config: the application's configuration.
        instance: this instance; by default one with a name that is kept in the state directory, and no address.
        remote: how other instances are asked; without one, only what is here is answered.
        max_rows: how many rows an answer may have.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        *,
        instance: Instance | None = None,
        remote: Remote | None = None,
        max_rows: int = 100_000,
    ) -> None:
        raise NotImplementedError

    def start(self) -> None:
        """Begin to read; returns at once. Until copies have read up, questions raise `NotReady`."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the others and close the copies. Safe to call again."""
        raise NotImplementedError

    @property
    def instance(self) -> Instance:
        """This instance."""
        raise NotImplementedError

    def instances(self) -> list[Instance]:
        """All instances that are alive, this one included."""
        raise NotImplementedError

    def stores(self) -> dict[str, StoreDescription]:
        """The stores that can be asked, by name."""
        raise NotImplementedError

    def key_serde(self, store: str) -> Any:
        """The serde of a store's keys."""
        raise NotImplementedError

    def value_serde(self, store: str) -> Any:
        """The serde of a store's values."""
        raise NotImplementedError

    def ask(self, store: str, query: Query, requirements: Requirements = NO_REQUIREMENTS) -> Answer:
        """The answer to a question, from wherever its partitions are; keys and values are objects.

        Raises:
            ViewError: there is none, or not now (`retriable`).
        """
        raise NotImplementedError

    def pages(
        self, store: str, query: Query, requirements: Requirements = NO_REQUIREMENTS, *, rows: int = 1000
    ) -> Iterator[Answer]:
        """A scan over keys, so many rows at a time, however many there are. Other questions have one page."""
        raise NotImplementedError

    def ask_here(self, store: str, query: Query, requirements: Requirements, partitions: Collection[int]) -> Answer:
        """The answer of this instance alone, for another one; keys and values are bytes.

        Raises:
            PartitionNotHere: there is no copy of a partition here that has read up.
        """
        raise NotImplementedError

    def metadata_for_key(self, store: str, key: Any) -> KeyMetadata:
        """Which instance has a key."""
        raise NotImplementedError

    def metadata_for_store(self, store: str) -> list[StoreMetadata]:
        """Which instances have what of a store."""
        raise NotImplementedError

    def local_partition_lags(self) -> dict[str, dict[int, PartitionLag]]:
        """How far the copies of this instance are behind, by store and partition; asks the broker."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Whether every partition of every store is answered by some instance that is alive."""
        raise NotImplementedError
