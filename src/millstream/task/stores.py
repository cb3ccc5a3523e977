"""A task's stores: opening, flushing, closing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from millstream.config import StreamsConfig
from millstream.errors import StateStoreError
from millstream.processors.user_context import HostContext
from millstream.state.store import LogEntry, StateStore
from millstream.task.serdes import store_with_serdes
from millstream.topology.nodes import Node, ProcessorNode
from millstream.topology.topology import Topology


def used_stores(nodes: Iterable[Node]) -> list[str]:
    """The stores of these nodes, in order of first use: the order in which they are flushed."""
    return list(dict.fromkeys(store for node in nodes if isinstance(node, ProcessorNode) for store in node.stores))


def store_topic(topology: Topology, store: str, application_id: str) -> str:
    """The topic that a store can be rebuilt from: its changelog, or the topic that its table is read from.

    Stores without a changelog have the name too: their serdes may ask for it, as in Kafka Streams.
    """
    source = topology.source_topic_changelogs.get(store)
    if source is None:
        return f"{application_id}-{store}-changelog"
    return f"{application_id}-{source}" if source in topology.internal_topics else source


class TaskStores:
    """The open stores of a task, in the order they were registered."""

    def __init__(self, topology: Topology, names: Iterable[str], context: HostContext, config: StreamsConfig) -> None:
        self.by_name: dict[str, StateStore] = {
            name: store_with_serdes(
                topology.stores[name], config, store_topic(topology, name, config.application_id)
            ).build()
            for name in names
        }
        self._context = context

    def open(self) -> None:
        """Open all; what fails closes those that are open already."""
        opened: list[StateStore] = []
        try:
            for name, store in self.by_name.items():
                store.init(self._context)
                opened.append(store)
                self._context.stores[name] = store
        except BaseException:
            for store in opened:
                store.close()
            raise
        # Most stores have no cache: only those that may have something to do are asked at every commit.
        self._flushed = [store for store in self.by_name.values() if type(store).flush is not StateStore.flush]
        self._logged = [store for store in self.by_name.values() if store.logged]

    def flush(self) -> None:
        """Flush each once, in order: what a later one writes into an earlier one waits for the next time."""
        for store in self._flushed:
            store.flush()

    def settle(self) -> None:
        """After a flush, take what is left out of the caches."""
        while self.unflushed() is not None:
            self.flush()
        for store in self._flushed:
            store.forget_expired()

    def unflushed(self) -> str | None:
        """The name of a store whose cache holds something, if there is one."""
        return next((store.name for store in self._flushed if not store.is_flushed()), None)

    def apply_changes(self, changes: Mapping[str, Iterable[LogEntry]]) -> None:
        """Redo changes, by store."""
        for name, entries in changes.items():
            store = self.by_name.get(name)
            if store is None:
                raise StateStoreError(
                    f"there are changes of a state store '{name}', which task {self._context.task_id} does not have",
                    detail=f"it has {', '.join(self.by_name) or 'none'}",
                    hint="the topology has changed: start anew, or with another application_id",
                )
            store.apply_changes(entries)

    def snapshot(self) -> dict[str, Iterator[tuple[bytes, bytes]]]:
        """Everything that logged stores hold."""
        return {store.name: store.snapshot() for store in self._logged}

    def take_changes(self) -> dict[str, dict[bytes, bytes | None]]:
        """The logged changes since the last call, of stores that have any."""
        changes: dict[str, Any] = {}
        for store in self._logged:
            changed = store.take_changes()
            if changed:
                changes[store.name] = changed
        return changes

    def close_complete(self) -> dict[str, str]:
        """Close all, and leave the databases of those that have one: where, by store."""
        return {store.name: path for store in self.by_name.values() if (path := store.close_complete()) is not None}

    def close(self) -> None:
        """Close all, even if one fails; the first failure is raised."""
        failure: Exception | None = None
        for store in self.by_name.values():
            try:
                store.close()
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure
